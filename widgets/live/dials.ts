/** What of a cluster a hand can change: speeds, bandwidths and latencies, those that belong together by one dial. Pure. */
import type { Costs, Shape } from "../kernels/problem.ts";
import { snap } from "../shared/scale.ts";
import type { Setting } from "./traits.ts";

export type Quantity = "speed" | "bandwidth" | "latency";

export interface Dial {
  readonly key: string;
  readonly quantity: Quantity;
  readonly label: string;
  /** Entries of the column of that quantity. */
  readonly cells: readonly number[];
  /** The least of their saved values, and the greatest. */
  readonly low: number;
  readonly high: number;
}

const PER_DECADE = 20; // steps of a dial
const DECADES = 2; // each way
export const REACH = DECADES * PER_DECADE;
const DIGITS = 3; // of a changed value
const ALONE = 8; // devices, or kinds of links, that have dials of their own

/** Dials of the values that are not without effect: no latency of 0, no speed where measured times hold at any. */
export function dialsOf(shape: Shape, costs: Costs, { names, types, hosts }: Setting): Dial[] {
  const k = shape.nDevices;
  const timed = (d: number) => shape.nTimes > 0 && Number.isNaN(costs.timeSpeed[shape.timeColumn[d]!]!);
  const devices = numbered(k).filter((d) => !timed(d));
  const pairs = numbered(k * k).filter((p) => p % k !== Math.floor(p / k));
  const there = (d: number) => `${types[d]} on ${hosts[d]}`;
  const device = fewest(devices, [(d) => names[d]!, there, (d) => types[d]!]);
  const ends = (p: number) => [hosts[Math.floor(p / k)]!, hosts[p % k]!] as const;
  const coarse = (p: number) => (ends(p)[0] === ends(p)[1] ? "inside hosts" : "between hosts");
  const between = fewest(pairs, [(p) => link(...ends(p)), coarse]);
  const table: [Quantity, Map<string, number[]>][] = [
    ["speed", byLabel(devices, device)],
    ["bandwidth", byLabel(pairs, between)],
    ["latency", byLabel(pairs, between)],
  ];
  return table.flatMap(([quantity, groups]) =>
    [...groups].flatMap(([label, cells]) => {
      const values = cells.map((i) => costs[quantity][i]!).filter((x) => x > 0 && x < Infinity);
      if (!values.length) return [];
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return [{ key: `${quantity}:${label}`, quantity, label, cells, low, high }];
    }),
  );
}

/** The costs with dials turned by so many steps; where one stands at 0, its values are the saved ones, to the bit. */
export function turned(costs: Costs, dials: readonly Dial[], steps: ReadonlyMap<string, number>): Costs {
  const changed = { speed: costs.speed, bandwidth: costs.bandwidth, latency: costs.latency };
  for (const { key, quantity, cells } of dials) {
    const by = steps.get(key) ?? 0;
    if (by === 0) continue;
    const column = changed[quantity].slice();
    for (const i of cells) column[i] = scaled(column[i]!, by);
    changed[quantity] = column;
  }
  return { ...costs, ...changed };
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
