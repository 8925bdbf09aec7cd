import type { Hand } from "../wire/traits.ts";

/** What is drawn of a held op. */
export interface Held {
  readonly op: number;
  /** Where its bar was. */
  readonly was: { readonly device: number; readonly start: number; readonly finish: number };
  /** Left edge and middle of the bar under the pointer, in CSS pixels; null for one that keys move. */
  readonly at: { readonly x: number; readonly y: number } | null;
  /** What Python says of it; null before its first answer. */
  readonly hand: Hand | null;
}
