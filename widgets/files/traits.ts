/** The synced traits of `placelab.app.widgets.frame.Files`; a Python test compares names and kinds with the Python class. */
export interface FilesTraits {
  /** Suffixes that the dialogue offers, with commas between them. */
  accept: string;
  /** Largest size of a file in bytes. */
  limit: number;
}

/** The answer to each piece: how many bytes of it have arrived, from where it goes on. */
export interface Arrived {
  id: string;
  have: number;
}
