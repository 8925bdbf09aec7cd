/** The synced traits of `placelab.widgets.files.Files`; a Python test compares names and kinds with the Python class. */
export interface FilesTraits {
  /** Suffixes that the dialogue offers, with commas between them. */
  accept: string;
  /** Bytes that a file may have. */
  limit: number;
}

/** What the browser sends with each piece of a file; one that is too large, or cannot be read, comes without pieces. */
export interface Piece {
  name: string;
  /** Bytes of the whole file. */
  size: number;
  /** Where the piece begins. */
  at: number;
  /** Why there is none. */
  error?: string;
}
