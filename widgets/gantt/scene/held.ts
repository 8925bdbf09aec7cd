import type { Hand } from "../wire/traits.ts";

/** Where a bar was. */
export interface Was {
  readonly device: number;
  readonly start: number;
  readonly finish: number;
}

/** What is drawn of a held op. */
export interface Held {
  readonly op: number;
  /** Ops that move together, the held one included. */
  readonly ops: readonly number[];
  /** Where its bar was, null for one from the tray, and those of the ops that move with it. */
  readonly was: Was | null;
  readonly others: readonly Was[];
  /** Left edge and middle of the bar under the pointer, in CSS pixels; null for one that keys move. */
  readonly at: { readonly x: number; readonly y: number } | null;
  /** What Python says of it; null before its first answer. */
  readonly hand: Hand | null;
}
