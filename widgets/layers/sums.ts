/** Seconds and bytes of devices from those of blocks: what the kernel computes, in the same order, so equal to the last digit. Pure. */
import type { Facts, Row, Run } from "./traits.ts";

const LANES = 8; // sums side by side, as NumPy has them
const BLOCK = 128; // values that are not halved any more

/** A row per device, whose blocks begin at its border and end at the next. */
export function rowsOf(facts: Facts, borders: readonly number[]): Row[] {
  const { links, capacity, share, copies, twice } = facts;
  const seconds = facts.seconds.map(spread);
  const kept = facts.kept.map(([name, runs]) => [name, spread(runs)] as const);
  const saved = spread(facts.activations);
  const peaks = facts.peaks.map(spread);
  const rows = links.map((link, d) => {
    const [first, end] = [borders[d]!, borders[d + 1]!];
    const both = first === 0 && end === saved.length; // of a table that embedding and head share
    const parts: [string, number][] = kept.map(([name, column]) => [
      name,
      sum(column, first, end) - (both ? (twice[name] ?? 0) : 0),
    ]);
    parts.push(["activations", copies[d]! * sum(saved, first, end)]);
    parts.push(["buffers", peaks.reduce((all, peak) => all + Math.max(...peak.slice(first, end)), 0)]);
    const held = parts.reduce((all, [, size]) => all + size, 0);
    const room = capacity[d]!;
    return {
      seconds: sum(seconds[d]!, first, end) + link,
      parts,
      capacity: room,
      lacks: room === null ? 0 : Math.max(held - room * share, 0),
    };
  });
  const some = rows[0]?.parts.map((_, i) => rows.some(({ parts }) => parts[i]![1])) ?? [];
  return rows.map((row) => ({ ...row, parts: row.parts.filter((_, i) => some[i]) }));
}

/** The sum of the values from `first` up to `end`, added in the order in which NumPy adds a row. */
export function sum(values: Float64Array, first: number, end: number): number {
  const n = end - first;
  if (n > BLOCK) {
    const half = (n >> 1) - ((n >> 1) % LANES);
    return sum(values, first, first + half) + sum(values, first + half, end);
  }
  let all = 0;
  let i = first;
  if (n >= LANES) {
    const lanes = values.slice(first, first + LANES);
    for (i += LANES; i + LANES <= end; i += LANES) for (let k = 0; k < LANES; k++) lanes[k]! += values[i + k]!;
    const [a, b, c, d, e, f, g, h] = lanes as unknown as number[];
    all = a! + b! + (c! + d!) + (e! + f! + (g! + h!));
  }
  for (; i < end; i++) all += values[i]!;
  return all;
}

/** Values one by one, of pairs of a value and how often it comes. */
function spread(runs: readonly Run[]): Float64Array {
  const all = new Float64Array(runs.reduce((n, [, times]) => n + times, 0));
  let at = 0;
  for (const [value, times] of runs) {
    all.fill(value, at, at + times);
    at += times;
  }
  return all;
}
