/** The synced traits of `placelab.app.widgets.frame.CommandPalette`; a Python test compares names and kinds. */
export interface PaletteTraits {
  /** What is typed; set here. */
  typed: string;
  /** What could be done, for the text in `answers`. */
  offers: Offer[];
  answers: string;
  /** A note on what an edit did; {} for none. */
  done: Done;
}

export interface Offer {
  phrase: string;
  says: string;
  kind: string;
  /** Selector of a button that the page presses itself, since only it can do that; "" or absent: Python is asked. */
  press?: string;
}

export interface Done {
  number?: number;
  text?: string;
  /** How the makespan changed; whole where the text is too long. */
  effect?: string;
  /** Whether the button does again what was undone. */
  redo?: boolean;
}
