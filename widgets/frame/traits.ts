/** The synced traits of `placelab.app.widgets.frame.Frame`; a Python test compares names and kinds with the Python class. */
export interface FrameTraits {
  /** Share of the height below the top rows that the middle row takes, 0.15 to 0.7. */
  split: number;
  /** Id of the widget that the frame surrounds. */
  whole: string;
  /** Class and number of the newest saved picture; [] before the first. */
  picture: string[];
  /** The cell in which a strategy has failed: its text and the line, counted from 1; empty for none. */
  failing: Partial<Failing>;
}

export interface Failing {
  readonly source: string;
  readonly line: number;
}

/** A message from Python: the file whose content is the message's first buffer is downloaded. */
export interface Download {
  download: string;
  type: string;
}
