/** The synced traits of `placelab.app.widgets.tab_views.DifferenceTable`; a Python test compares names and kinds with the Python class. */
export interface DifferenceTraits {
  rows: (Row | Thing)[];
  /** By group of things, what is measured of them, with its unit. */
  heads: Record<string, string[]>;
  /** The groups that can be chosen, and the one chosen; both ways. */
  groups: string[];
  group: string;
  /** A sentence above the rows, or why there are none; what else its tooltip says is on lines of their own. */
  summary: string;
  /** Whether the rows belong to a schedule before. */
  stale: boolean;
  /** Number of the op that all views show as selected, -1 for none; both ways. */
  selection: number;
  /** The partitioner of the kept schedule, where its decisions can be laid beside those on show; "": they cannot. */
  beside: string;
  /** Whether times are plain numbers. */
  unitless: boolean;
}

export interface Row {
  what: "scope" | "kind" | "op" | "number";
  name: string;
  moved: string;
  before: string;
  after: string;
  /** Seconds of the makespan, negative where they are lost; null for none. */
  saved: number | null;
  /** The op that a click selects, -1 for none. */
  op: number;
}

/** A device, or a link that carries something. */
export interface Thing {
  what: "device" | "link";
  name: string;
  /** Of each measure what was kept, what is now, and the difference. */
  cells: string[];
  op: -1;
}
