import type { Of } from "../shared/commands.ts";

/** The synced traits of `placelab.app.widgets.tab_views.ComparisonTable`; a Python test compares names and kinds with the Python class. */
export interface ComparisonTraits {
  /** Names of the columns. */
  schedulers: string[];
  /** One per partitioner. */
  rows: Row[];
  /** Partitioner and scheduler that the explorer shows. */
  shown: string[];
  /** Whether it is shown with options other than the defaults, with which pairs are compared. */
  other_options: boolean;
  /** A `Measure`; both ways. */
  measure: string;
  /** A few words; empty when there is nothing to say. */
  status: string;
  /** Share of the rows to be compared that are. */
  fraction: number;
  /** Of the button: "halt", "compare", "search", or empty for none. */
  action: string;
  /** Whether times and sizes are plain numbers. */
  unitless: boolean;
}

/** A partitioner; "search" has a button that asks for it, or takes it up again, "own" is a plan by hand in its place, whose row stays the first. */
export interface Row {
  name: string;
  state: "pending" | "running" | "done" | "search" | "own";
  /** One per scheduler; null where nothing is known. */
  cells: (Cell | null)[];
  /** Of each cell the seconds after which it was left, as others come first; 0 where it was not. */
  over?: number[];
  /** Whether it is compared unless somebody stops it; others search for long, and only on request. */
  quick?: boolean;
}

/** A pair; numbers are null where there is none. */
export interface Cell {
  /** Seconds. */
  makespan: number | null;
  /** Of the makespan to the best lower bound, as a fraction of that. */
  gap: number | null;
  /** Largest peak of a device, in bytes. */
  memory: number | null;
  /** Bytes of all transfers. */
  moved: number | null;
  /** Why the schedule does not count; empty when it does. */
  flaw: string;
  /** Why there is no schedule; empty when there is one. */
  error: string;
  /** Whether it belongs to a problem before. */
  stale: boolean;
}

export type Asked = Of<"show" | "against" | "search" | "halt" | "compare">;
