/** The synced traits of `placelab.app.widgets.frame.Files`; a Python test compares names and kinds with the Python class. */
export interface FilesTraits {
  /** Suffixes that the dialogue offers, with commas between them. */
  accept: string;
  /** Largest size of a file in bytes. */
  limit: number;
}

/** The message with each piece of a file; for a file that is too large or cannot be read, one message without a piece. */
export interface Piece {
  /** Of the upload: a piece may be sent twice, and two pages may upload at a time. */
  id: string;
  name: string;
  /** Bytes of the whole file. */
  size: number;
  /** Where the piece begins. */
  at: number;
  /** Why there is no piece. */
  error?: string;
}

/** The answer to each: how many bytes of it have arrived, from where it goes on. */
export interface Arrived {
  id: string;
  have: number;
}
