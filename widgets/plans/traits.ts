import type { Of } from "../shared/commands.ts";
import type { Held } from "../shared/memory.ts";

/** The synced traits of `placelab.app.widgets.tab_views.PlanBoard`; a Python test compares names and kinds with the Python class. */
export interface PlansTraits {
  /** "degrees", "winners" or "plane". */
  page: string;
  stages: Stage[];
  /** The plan's numbers. */
  said: string;
  /** Why the plan cannot run; empty where it can. */
  refused: string;
  /** Choices with which it fits, in words. */
  remedies: string[];
  rows: Row[];
  plane: Plane;
  /** What the search does, or has found. */
  status: string;
}

/** What a stage's devices hold. */
export interface Stage extends Held {
  name: string;
}

/** A plan that was found. */
export interface Row {
  degrees: string;
  schedule: string;
  more: string;
  /** Null where it was not run. */
  seconds: number | null;
  mfu: number | null;
  bubble: number | null;
  /** Bytes of its fullest rank; null where they are not known. */
  memory: number | null;
  why: string;
  shown: boolean;
  /** Whether it is compared with. */
  kept: boolean;
}

/** The best plan of each pair of degrees. */
export interface Plane {
  x: string[];
  y: string[];
  cells: Cell[][];
}

export interface Cell {
  seconds: number | null;
  text: string;
  why: string;
  /** Number of its row; -1 for none. */
  row: number;
  shown: boolean;
}

export type Asked = Of<"plan" | "keep" | "remedy">;
