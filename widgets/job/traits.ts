/** The synced traits of `placelab.app.widgets.tab_views.TrainingChart`; a Python test compares names and kinds with the Python class. */
export interface JobTraits {
  run: Run;
  curve: Curve;
  /** Seconds of work between two checkpoints; both ways. */
  interval: number;
  /** The interval of the least expected time [s]. */
  optimum: number;
  /** Least and largest interval that a hand may choose [s]. */
  limits: number[];
  /** Why there is no picture; empty when there is one. */
  message: string;
}

/** What happened in one run. */
export interface Run {
  said: string;
  kinds: Kind[];
  /** Shares of the run at which a failure struck. */
  failures: number[];
}

/** What time goes into: its share as a text, and of each column of the picture. */
export interface Kind {
  name: string;
  share: string;
  columns: number[];
}

/** Expected time beyond the useful one, over it, by interval [s]. */
export interface Curve {
  seconds: number[];
  over: number[];
}
