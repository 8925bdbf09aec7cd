/** The synced traits of `placelab.widgets.code.CodeButton`; a Python test compares names and kinds with the Python class. */
export interface CodeTraits {
  /** The text of the cell, always current. */
  code: string;
  /** How often it was copied; counted here, so that Python can see to what the cell needs. */
  copies: number;
  /** What Python has to say about that. */
  note: string;
}
