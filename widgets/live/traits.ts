import type { Candidate, Hand, Waiting } from "../gantt/wire/traits.ts";
import type { Of } from "../shared/commands.ts";

/** What a page that recomputes reads and writes: beside the chart's traits those of `live_traits` in placelab/app/widgets/live_page.py. */
export interface LiveTraits {
  /** Columns, see widgets/kernels/problem.ts. */
  problem: DataView;
  live: Setting;
  /** Of the ops. */
  names: DataView;
  /** The op that is selected in the chart, -1 for none. */
  selection: number;
  schedule: DataView;
  kept: DataView;
  memory: DataView;
  memory_shown: boolean;
  numbers: readonly object[];
  unitless: boolean;
  /** A sentence below the chart. */
  detail: string;
  can_hand: boolean;
  by_hand: boolean;
  hold: Of<"hold">;
  hand: Partial<Hand>;
  candidates: readonly Candidate[];
  /** Ops that wait to be placed one by one, how many more, and what is drawn. */
  tray: readonly Waiting[];
  tray_more: number;
  decided: DataView;
  predicts: boolean;
  /** What the chart says of ops, by colour. */
  kinds: DataView;
  kind_names: string[];
}

/** A problem to be scheduled by hand: placelab.testing.puzzles. */
export interface Puzzle {
  readonly name: string;
  readonly task: string;
  /** Makespan of HEFT's plan; null where it has none. */
  readonly heft: number | null;
  readonly optimum: number;
}

/** The saved state, and what a hand may choose. */
export interface Setting {
  readonly partitioners: readonly string[];
  readonly partitioner: string;
  readonly schedulers: readonly string[];
  readonly scheduler: string;
  /** Transfer models by name. */
  readonly models: readonly string[];
  readonly transfers: string;
  /** Memory models by name. */
  readonly memories: readonly string[];
  readonly memory: string;
  /** Why ops stay where they are; "" where they are placed anew. */
  readonly still: string;
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly hosts: readonly string[];
  /** Devices that may run each op, a bit for each; null where all may run everywhere, absent where that is not known. */
  readonly allowed?: readonly number[] | null;
  /** What the saved placement's strategy has proven that no schedule is shorter than [s]; 0 for nothing. */
  readonly proven: number;
  /** Ops that wait to be placed one by one, where the page was saved meanwhile. */
  readonly waiting?: readonly number[];
  /** What the page asks its reader to find, by hand. */
  readonly puzzle?: Puzzle;
  /** Links that several pairs of devices share. */
  readonly links: readonly { readonly name: string; readonly pairs: [number, number][] }[];
}
