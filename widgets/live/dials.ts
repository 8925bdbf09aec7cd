/** What of a cluster a hand can change: speeds, bandwidths and latencies, those that belong together by one dial. Pure. */
import type { Costs, Shape } from "../kernels/problem.ts";
import { clamp, snap } from "../shared/scale.ts";
import type { Setting } from "./traits.ts";
import { at, type Columns, type Quantity, type Values } from "./values.ts";

export interface Dial {
  readonly key: string;
  readonly quantity: Quantity;
  readonly label: string;
  /** Entries of the column of that quantity. */
  readonly cells: readonly number[];
}

const PER_DECADE = 20; // steps of a dial
const DECADES = 2; // each way
export const REACH = DECADES * PER_DECADE;
const DIGITS = 3; // of a changed value
const ALONE = 8; // devices, or kinds of links, that have dials of their own

/** Dials of the values that are not without effect: no latency of 0, no speed where measured times hold at any. */
export function dialsOf(shape: Shape, costs: Costs, { names, types, hosts }: Setting): Dial[] {
  const k = shape.nDevices;
  const timed = timedOf(shape, costs);
  const devices = numbered(k).filter((d) => !timed.includes(d));
  const pairs = numbered(k * k).filter((p) => p % k !== Math.floor(p / k));
  const there = (d: number) => `${types[d]} on ${hosts[d]}`;
  const device = fewest(devices, [(d) => names[d]!, there, (d) => types[d]!]);
  const ends = (p: number) => [hosts[Math.floor(p / k)]!, hosts[p % k]!] as const;
  const coarse = (p: number) => (ends(p)[0] === ends(p)[1] ? "inside hosts" : "between hosts");
  const between = fewest(pairs, [(p) => link(...ends(p)), coarse]);
  const table: ["speed" | "bandwidth" | "latency", Map<string, number[]>][] = [
    ["speed", byLabel(devices, device)],
    ["bandwidth", byLabel(pairs, between)],
    ["latency", byLabel(pairs, between)],
  ];
  return table.flatMap(([quantity, groups]) =>
    [...groups].flatMap(([label, cells]) => {
      if (!cells.some((i) => costs[quantity][i]! > 0 && costs[quantity][i]! < Infinity)) return [];
      return [{ key: `${quantity}:${label}`, quantity, label, cells }];
    }),
  );
}

/** Devices whose speed changes no time, since measured times hold at any. */
export function timedOf({ nDevices, nTimes, timeColumn }: Shape, { timeSpeed }: Costs): number[] {
  return numbered(nDevices).filter((d) => nTimes > 0 && Number.isNaN(timeSpeed[timeColumn[d]!]!));
}

/** The values with one dial turned to so many steps from where it was saved. */
export function turned({ quantity, cells }: Dial, saved: Columns, values: Values, by: number): Map<string, number> {
  const now = new Map(values);
  for (const cell of cells) {
    const value = scaled(saved[quantity][cell]!, by);
    if (value === saved[quantity][cell]) now.delete(at(quantity, cell));
    else now.set(at(quantity, cell), value);
  }
  return now;
}

/** Where a dial stands with these values: steps, and the least and the greatest of what it turns. */
export function readingOf({ quantity, cells }: Dial, saved: Columns, values: Values): [number, number, number] {
  const finite = cells.filter((cell) => saved[quantity][cell]! > 0 && saved[quantity][cell]! < Infinity);
  const now = finite.map((cell) => values.get(at(quantity, cell)) ?? saved[quantity][cell]!);
  const by = Math.round(PER_DECADE * Math.log10(now[0]! / saved[quantity][finite[0]!]!));
  return [clamp(by, -REACH, REACH), Math.min(...now), Math.max(...now)];
}

/** A value so many steps higher, of few digits. */
export function scaled(value: number, by: number): number {
  return by === 0 || value === 0 || !Number.isFinite(value) ? value : snap(value * 10 ** (by / PER_DECADE), DIGITS);
}

/** The first way to name items that makes few groups of them, else the last. */
function fewest(items: readonly number[], ways: readonly ((i: number) => string)[]): (i: number) => string {
  return ways.find((way) => new Set(items.map(way)).size <= ALONE) ?? ways[ways.length - 1]!;
}

function link(a: string, b: string): string {
  return a === b ? `inside ${a}` : [a, b].sort().join(" – ");
}

function byLabel(items: readonly number[], label: (i: number) => string): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const i of items) groups.set(label(i), [...(groups.get(label(i)) ?? []), i]);
  return groups;
}

function numbered(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i);
}
