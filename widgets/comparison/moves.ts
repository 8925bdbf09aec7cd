/** Where keys lead in the grid. */

export interface Place {
  readonly row: number;
  readonly column: number;
}

const PAGE = 5; // rows

/**
 * The place that a key leads to; undefined for keys that do not move.
 *
 * `widths` has the number of cells of each row: a row with a button in place of its cells has one. The column is kept
 * through such a row, so `Place.column` may be beyond it.
 */
export function moved(
  from: Place,
  {
    key,
    ctrlKey,
    metaKey,
    altKey,
    shiftKey,
  }: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">,
  widths: readonly number[],
): Place | undefined {
  if (altKey || shiftKey || !widths.length) return undefined;
  const whole = ctrlKey || metaKey; // to the corner of the grid
  const last = widths.length - 1;
  const row = Math.min(from.row, last);
  const column = Math.min(from.column, widths[row]! - 1);
  const to = (row: number, column: number): Place => {
    const r = Math.min(Math.max(row, 0), last);
    return { row: r, column: Math.max(column, 0) };
  };
  if (whole && key !== "Home" && key !== "End") return undefined;
  switch (key) {
    case "ArrowUp":
      return to(row - 1, from.column);
    case "ArrowDown":
      return to(row + 1, from.column);
    case "PageUp":
      return to(row - PAGE, from.column);
    case "PageDown":
      return to(row + PAGE, from.column);
    case "ArrowLeft":
      return to(row, column - 1);
    case "ArrowRight":
      return to(row, Math.min(column + 1, widths[row]! - 1));
    case "Home":
      return to(whole ? 0 : row, 0);
    case "End":
      return to(whole ? last : row, widths[whole ? last : row]! - 1);
  }
  return undefined;
}
