/** Describe a bar or a gap in words with units. */
import { count, percent, type Units } from "../../shared/format.ts";
import type { Description } from "../../shared/tooltip.ts";
import { type Columns, IDLE_REASONS } from "../wire/decode.ts";
import { type Memory, usedAt } from "../wire/memory.ts";
import type { Bars } from "./bars.ts";
import { IDLE_TEXT, isAwaited } from "./colours.ts";
import type { Hit } from "./hit.ts";
import type { Kept } from "./kept.ts";
import { carriedAt, type Links } from "./links.ts";
import { computingAt, type Rows } from "./rows.ts";
import { type Chart, deviceOf, type Labels, nameOf } from "./scene.ts";

const FEW = 6; // devices that a sentence can name

export function describe(
  chart: Chart,
  labels: Labels,
  hit: Exclude<Hit, { kind: "memory" | "link" | "host" }>,
): Description {
  const { columns, bars } = chart;
  if (hit.kind === "idle") return describeIdle(columns, labels, hit.row);
  const times = timesOf(bars, hit.bar, labels.units);
  if (hit.kind === "op") {
    const at = ["on", deviceOf(labels, columns.ops.device[hit.row]!)] as const;
    return { title: nameOf(labels, hit.row), rows: [at, ...times, ...criticalNote(columns, 0, hit.row)] };
  }
  const transfer = hit.kind === "send" ? columns.sends.transfer[hit.row]! : hit.row;
  const { source, destination, producer } = columns.transfers;
  const route = `${deviceOf(labels, source[transfer]!)} → ${deviceOf(labels, destination[transfer]!)}`;
  const what = hit.kind === "send" ? "Send op of" : "transfer, output of";
  const title = `${what} ${nameOf(labels, producer[transfer]!)}`;
  return {
    title,
    rows: [["link", route], ...times, ...(hit.kind === "send" ? [] : criticalNote(columns, 1, hit.row))],
  };
}

/** A folded host: how many of its devices run something at time `t`, and which. */
export function describeHost(chart: Chart, labels: Labels, host: Rows["hosts"][number], t: number): Description {
  const busy = computingAt(chart, host.devices, t);
  const names = busy.slice(0, FEW).map((d) => deviceOf(labels, d));
  const more = busy.length > FEW ? ` and ${busy.length - FEW} more` : "";
  return {
    title: host.name,
    rows: [
      ["now", `${busy.length} of ${count(host.devices.length)} devices busy`],
      ...(busy.length ? [["busy", names.join(", ") + more] as const] : []),
      ["", "click its name to unfold it"],
    ],
  };
}

/** A link: how much of the schedule it is busy, and what it, and the shared links that its transfers pass, carry at time `t`. */
export function describeLink(chart: Chart, all: Links, labels: Labels, link: number, t: number): Description {
  const { bars, columns } = chart;
  const [source, destination] = all.pairs[link]!;
  const carries = (links: readonly number[]) => {
    const under = links.flatMap((one) => carriedAt(all, bars, one, t));
    const carried = under.map((bar) => columns.transfers.producer[bar - bars.nOps - bars.nSends]!);
    const more = carried.length > 2 ? ` and ${carried.length - 2} more` : "";
    return carried.length
      ? `output of ${carried
          .slice(0, 2)
          .map((op) => nameOf(labels, op))
          .join(", ")}${more}`
      : "nothing";
  };
  const key = ([a, b]: readonly [number, number]) => `${a} ${b}`;
  const shared = (labels.shared ?? []).flatMap(({ name, pairs }) => {
    const used = new Set(pairs.map(key));
    const links = all.pairs.flatMap((pair, i) => (used.has(key(pair)) ? [i] : []));
    return links.includes(link) ? [[`on ${name}`, carries(links)] as const] : [];
  });
  return {
    title: `${deviceOf(labels, source)} → ${deviceOf(labels, destination)}`,
    rows: [
      ["now", carries([link])],
      ...shared,
      ["busy", percent(all.busy[link]! / columns.makespan)],
      ["transfers", count(all.ptr[link + 1]! - all.ptr[link]!)],
    ],
  };
}

/** Where and when an op ran in the kept schedule. */
export function keptNote(kept: Kept, labels: Labels, op: number): readonly [string, string] {
  const [start, finish] = instants(kept.start[op]!, kept.finish[op]!, labels.units);
  const where = kept.device[op]! < kept.nDevices ? deviceOf(labels, kept.device[op]!) : "a device that is gone";
  return ["kept", `${where}, ${start} to ${finish}`];
}

/** One line about an op for the live region and the selection. */
export function opLine(chart: Chart, labels: Labels, op: number): string {
  const { bars, columns } = chart;
  const [start, finish] = instants(bars.start[op]!, bars.finish[op]!, labels.units);
  return `${nameOf(labels, op)} on ${deviceOf(labels, columns.ops.device[op]!)}, ${start} to ${finish} (${labels.units.time(columns.ops.duration[op]!)})`;
}

/** "gpu:0: 7.31 GB of 16 GB", in use at time `t`, or at most without one. */
export function usageLine(memory: Memory, labels: Labels, d: number, t?: number): string {
  const [used, capacity] = [t === undefined ? memory.peak[d]! : usedAt(memory, d, t), memory.capacity[d]!];
  return `${deviceOf(labels, d)}: ${labels.units.bytes(used)}${capacity < Infinity ? ` of ${labels.units.bytes(capacity)}` : ""}`;
}

/** "1.2 GB short from 3.1 to 4 ms": a span out of memory. */
export function shortLine({ short }: Memory, labels: Labels, row: number): string {
  const [start, finish] = instants(short.start[row]!, short.start[row]! + short.duration[row]!, labels.units);
  const [number, unit] = start.split(" ");
  return `${labels.units.bytes(short.bytes[row]!)} short from ${unit && finish.endsWith(` ${unit}`) ? number : start} to ${finish}`;
}

/** The selected op and the makespan; without a selection, a summary of the schedule. */
export function summary(chart: Chart, labels: Labels, selection: number): string {
  const { nOps, nDevices, nTransfers, makespan } = chart.columns;
  if (chart.drawn) return `the plan so far: ${many(decidedOps(chart), "op")} of ${count(nOps)}`;
  if (selection >= 0 && selection < nOps)
    return `${opLine(chart, labels, selection)} · makespan ${labels.units.time(makespan)}`;
  return `${many(nOps, "op")} on ${many(nDevices, "device")} · ${many(nTransfers, "transfer")} · makespan ${labels.units.time(makespan)}`;
}

const decidedOps = ({ columns, drawn }: Chart) => drawn!.subarray(0, columns.nOps).reduce((sum, one) => sum + one, 0);

/** Peak memory against capacity: of each device, or of the one that comes closest when there are many. */
export function memorySummary(memory: Memory, labels: Labels): string {
  const share = memory.peak.map((peak, d) => peak / memory.capacity[d]! || peak);
  const all = Array.from(share, (_, d) => d);
  const named = all.length > FEW ? [share.indexOf(Math.max(...share))] : all;
  const { device, bytes } = memory.short;
  const worst = bytes.reduce((most, b, i) => (b > bytes[most]! ? i : most), 0);
  const short = device.length
    ? `${deviceOf(labels, device[worst]!)} out of memory, ${shortLine(memory, labels, worst)} · `
    : "";
  return `${short}peak memory ${named.map((d) => usageLine(memory, labels, d)).join(", ")}`;
}

/** Memory in use at time `t`, on the first few devices. */
export function usageNow(memory: Memory, labels: Labels, t: number): string {
  return Array.from(memory.peak.subarray(0, FEW), (_, d) => usageLine(memory, labels, d, t)).join(", ");
}

function many(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? "" : "s"}`;
}

/** What starts and finishes at an event, shortened to the first few. */
export function eventLine(chart: Chart, labels: Labels, happenings: { start: number[]; finish: number[] }): string {
  const words = (bars: number[], verb: string) => {
    const ops = bars.filter((bar) => bar < chart.bars.nOps).map((bar) => nameOf(labels, bar));
    const others = bars.length - Math.min(ops.length, 2);
    const named = ops.slice(0, 2).join(", ");
    if (!bars.length) return "";
    return `${verb} ${named}${others && named ? ` and ${others} more` : named ? "" : `${others} transfer${others > 1 ? "s" : ""}`}`;
  };
  return [words(happenings.finish, "finished:"), words(happenings.start, "started:")].filter(Boolean).join(" · ");
}

function describeIdle(columns: Columns, labels: Labels, row: number): Description {
  const { idle } = columns;
  const reason = IDLE_REASONS[idle.reason[row]!] ?? "end";
  const duration = idle.duration[row]!;
  const op = idle.op[row]!;
  const [from, to] = instants(idle.start[row]!, idle.start[row]! + duration, labels.units);
  const waited =
    !isAwaited(reason) || op >= columns.nOps
      ? []
      : [[reason === "transfer" ? "output of" : "op", nameOf(labels, op)] as const];
  return {
    title: `idle: ${IDLE_TEXT[reason]}`,
    rows: [
      ["on", deviceOf(labels, idle.device[row]!)],
      ...waited,
      ["from", from],
      ["to", to],
      ["for", labels.units.time(duration)],
    ],
  };
}

function timesOf(bars: Bars, bar: number, units: Units) {
  const [start, finish] = instants(bars.start[bar]!, bars.finish[bar]!, units);
  return [
    ["start", start],
    ["finish", finish],
    ["takes", units.time(bars.finish[bar]! - bars.start[bar]!)],
  ] as const;
}

/** Two times with enough digits to tell them apart, as far as single precision allows. */
function instants(start: number, finish: number, units: Units): [string, string] {
  const apart = finish > start ? Math.ceil(Math.log10(finish / (finish - start))) : 0;
  const digits = Math.min(Math.max(4, 2 + apart), 7);
  return [units.time(start, digits), units.time(finish, digits)];
}

function criticalNote(columns: Columns, kind: number, row: number) {
  const { critical } = columns;
  for (let i = 0; i < critical.kind.length; i++) {
    if (critical.kind[i] === kind && critical.row[i] === row) return [["critical path", "yes"]] as const;
  }
  return [];
}
