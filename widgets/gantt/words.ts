/** The chart's texts: warning, legend, the line for screen readers, the explanation of the selected op. */
import { h } from "../shared/dom.ts";
import { count } from "../shared/format.ts";
import { opLine, shortLine, usageLine } from "./describe.ts";
import { KEY_HELP } from "./keyboard.ts";
import type { Memory } from "./memory.ts";
import { type Chart, deviceOf, type Labels } from "./scene.ts";

const FEW = 6; // devices that a sentence can name

export interface Words {
  readonly warning: HTMLElement;
  readonly legend: HTMLElement;
  readonly status: HTMLElement;
  readonly detail: HTMLElement;
  /** The row of status and detail. Where a height is given, one of them is seen, and the button opens the legend. */
  readonly foot: HTMLElement;
  readonly more: HTMLButtonElement;
  /** What keys and pointer do. */
  readonly keys: HTMLElement;
}

export function words(): Words {
  const status = h("div.status", { role: "status", "aria-live": "polite" });
  const detail = h("div.detail", { hidden: true });
  const more = h("button.more", { type: "button", "aria-expanded": "false" }, "legend");
  const help = KEY_HELP.split(" · ").map((line) => h("li", {}, line));
  return {
    warning: h("div.warning", { role: "status", hidden: true }),
    legend: h("div.legend", { role: "group", "aria-label": "Legend" }),
    ...{ status, detail, more },
    foot: h("div.foot", {}, h("div.said", {}, status, detail), more),
    keys: h("ul.keys", { hidden: true }, ...help),
  };
}

/** Sets the text of `element` and hides it when there is none. */
export function say(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = text === "";
}

/** The selected op and the makespan; without a selection, a summary of the schedule. */
export function summary(chart: Chart, labels: Labels, selection: number): string {
  const { nOps, nDevices, nTransfers, makespan } = chart.columns;
  if (selection >= 0 && selection < nOps)
    return `${opLine(chart, labels, selection)} · makespan ${labels.units.time(makespan)}`;
  return `${many(nOps, "op")} on ${many(nDevices, "device")} · ${many(nTransfers, "transfer")} · makespan ${labels.units.time(makespan)}`;
}

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
