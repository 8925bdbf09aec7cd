/** The synced traits of `placelab.app.widgets.decisions.Decisions`; a Python test compares names and kinds with the Python class. */
export interface DecisionsTraits {
  /** Rows, see page.ts and placelab/app/widgets/decisions.py. */
  page: DataView;
  /** Number of what is on show; pages of another number are outdated. */
  generation: number;
  /** "decisions" or "ranks"; both ways. */
  mode: string;
  /** How many decisions there are, and how many ops with ranks; 0 without ranks. */
  counts: number[];
  /** A row of the present mode that the browser lacks; -1 for none. */
  wanted: number;
  /** Device names. */
  devices: string[];
  /** Names and units of scores and ranks, names of the strategies. */
  about: About;
  /** Current decision; both ways. */
  step: number;
  /** Selected op, -1 for none; both ways. */
  selection: number;
  /** Names of strategies to compare with. */
  choices: string[];
  /** The one chosen, "" for none; both ways. */
  against: string;
  /** Rows: the first difference in the order of decisions, and the first op on another device; -1 for none. */
  differs: number[];
  /** When the op of the current step could run on each device, for ghost bars; written here. */
  candidates: Candidate[];
  /** Whether the chart shows the whole plan, not what is decided so far; both ways. */
  whole: boolean;
  /** Whether a prediction is awaited, so that nobody may give the answer away; written here. */
  hides: boolean;
  /** A sentence: why there is nothing, or what to know. */
  note: string;
  /** Whether what is shown is being recomputed. */
  stale: boolean;
}

/** Plain words; a unit is "" where there is none. */
export interface About {
  strategy?: string;
  against?: string;
  score?: string;
  score_unit?: string;
  /** Whether scores are starts or finishes of the op itself, in seconds. */
  times?: Times;
  /** The same of the other strategy's scores. */
  against_score?: string;
  against_score_unit?: string;
  against_times?: Times;
  rank?: string;
  rank_unit?: string;
  sums?: string;
  sums_unit?: string;
}

export type Times = "" | "start" | "finish";

/** Times in seconds. */
export interface Candidate {
  device: number;
  start: number;
  finish: number;
  op: number;
  chosen: boolean;
}
