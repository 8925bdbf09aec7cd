/** The synced traits of `placelab.app.widgets.frame.CodeButton`; a Python test compares names and kinds with the Python class. */
export interface CodeTraits {
  /** The text of the cell, always current. */
  code: string;
  /** How often it was copied; counted here, so that Python can save what the cell needs. */
  copies: number;
  /** A sentence about what Python has saved. */
  note: string;
}
