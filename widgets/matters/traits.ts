/** The synced traits of `placelab.app.widgets.tab_views.WhatMattersTable`; a Python test compares names and kinds with the Python class. */
export interface MattersTraits {
  rows: Row[];
  /** Makespan of the schedule as it is, in seconds. */
  makespan: number;
  /** How much faster each part is imagined, in percent; both ways. */
  percent: number;
  /** Share of the rows that are computed. */
  fraction: number;
  /** A few words; empty when there is nothing to say. */
  status: string;
  /** Whether all rows belong to a schedule before. */
  stale: boolean;
  /** Number of the op that all views show as selected, -1 for none; both ways. */
  selection: number;
  /** Whether times are plain numbers. */
  unitless: boolean;
}

/** A part that could be faster. */
export interface Row {
  what: "kind" | "device" | "devices" | "op" | "link" | "links";
  name: string;
  /** The op that a click selects, -1 for none. */
  op: number;
  /** Seconds of the makespan; null where the faster run fails. */
  saved: number | null;
  /** Whether it belongs to a schedule before. */
  stale: boolean;
}
