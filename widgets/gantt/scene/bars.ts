/**
 * Everything that takes time, numbered in one row of bars: ops, then Send ops, then transfers.
 */
import type { Columns } from "../wire/decode.ts";

export interface Times {
  /** Seconds. */
  readonly start: Float32Array;
  readonly finish: Float32Array;
}

export interface Bars extends Times {
  readonly nOps: number;
  readonly nSends: number;
  readonly nTransfers: number;
  /** Bars by start, ties by number. */
  readonly order: Uint32Array;
}

export type BarKind = "op" | "send" | "transfer";

export function bars(columns: Columns): Bars {
  const { nOps, nSends, nTransfers, ops, sends, transfers } = columns;
  const start = new Float32Array(nOps + nSends + nTransfers);
  const finish = new Float32Array(start.length);
  start.set(ops.start, 0);
  start.set(sends.start, nOps);
  start.set(transfers.start, nOps + nSends);
  finish.set(ops.duration, 0);
  finish.set(sends.duration, nOps);
  finish.set(transfers.duration, nOps + nSends);
  for (let i = 0; i < start.length; i++) finish[i]! += start[i]!;
  return { nOps, nSends, nTransfers, start, finish, order: orderByStart(start) };
}

/** What a bar stands for: its kind, and its row in that kind's columns. */
export function barOf(all: Bars, bar: number): { kind: BarKind; row: number } {
  if (bar < all.nOps) return { kind: "op", row: bar };
  if (bar < all.nOps + all.nSends) return { kind: "send", row: bar - all.nOps };
  return { kind: "transfer", row: bar - all.nOps - all.nSends };
}

/**
 * Stable order of non-negative times, O(n): radix sort on their bits, which for such floats sort like the numbers.
 * (A comparator sort of 50,000 bars would cost a frame.)
 */
export function orderByStart(start: Float32Array): Uint32Array {
  const key = new Uint32Array(start.buffer, start.byteOffset, start.length);
  let order = new Uint32Array(key.length);
  for (let i = 0; i < key.length; i++) order[i] = i;
  let spare = new Uint32Array(key.length);
  for (const shift of [0, 11, 22]) {
    const at = new Uint32Array(2049);
    for (let i = 0; i < key.length; i++) at[((key[i]! >>> shift) & 2047) + 1]!++;
    for (let d = 0; d < 2048; d++) at[d + 1]! += at[d]!;
    for (let i = 0; i < key.length; i++) {
      const bar = order[i]!;
      spare[at[(key[bar]! >>> shift) & 2047]!++] = bar;
    }
    [order, spare] = [spare, order];
  }
  return order;
}
