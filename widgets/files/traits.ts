/** The synced traits of `placelab.app.widgets.frame.Files`; a Python test compares names and kinds with the Python class. */
export interface FilesTraits {
  /** Suffixes that the dialogue offers, with commas between them. */
  accept: string;
  /** Largest size of a file in bytes. */
  limit: number;
}

/** The message with each piece of a file; for a file that is too large or cannot be read, one message without a piece. */
export interface Piece {
  name: string;
  /** Bytes of the whole file. */
  size: number;
  /** Where the piece begins. */
  at: number;
  /** Why there is no piece. */
  error?: string;
}
