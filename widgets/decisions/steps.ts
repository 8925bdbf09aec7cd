/** Where the reader is: the current row, which rows are known, and what was predicted. */

/** The row that `key` leads to, or undefined if it is no key of the list. */
export function moved(key: string, row: number, count: number): number | undefined {
  const by: Record<string, number> = {
    ArrowRight: row + 1,
    ArrowDown: row + 1,
    ArrowLeft: row - 1,
    ArrowUp: row - 1,
    PageDown: row + 10,
    PageUp: row - 10,
    Home: 0,
    End: count - 1,
  };
  const to = by[key];
  return to === undefined ? undefined : within(to, count);
}

/** A row that exists; 0 where there is none. */
export function within(row: number, count: number): number {
  return Math.max(0, Math.min(row, count - 1));
}

/** The first of the rows `from` to `to` (left out) that a page does not have, -1 if it has all that there are. */
export function missing(
  page: { first: number; rows: { length: number } },
  from: number,
  to: number,
  count: number,
): number {
  const [first, last] = [page.first, page.first + page.rows.length];
  const wanted = [Math.max(from, 0), Math.min(to, count)] as const;
  if (wanted[0] >= wanted[1]) return -1;
  if (wanted[0] < first) return wanted[0];
  return wanted[1] > last ? Math.max(wanted[0], last) : -1;
}

/** Predictions: rows that were revealed, and how many of the guesses were right. */
export interface Quiz {
  readonly on: boolean;
  /** Rows up to this one have been revealed. */
  readonly revealed: number;
  readonly right: number;
  readonly guesses: number;
}

export const OFF: Quiz = { on: false, revealed: -1, right: 0, guesses: 0 };

/** Starts predicting at `row`: what came before is known. */
export function start(row: number): Quiz {
  return { ...OFF, on: true, revealed: row - 1 };
}

/** Whether the device of `row` must not be shown yet. */
export function hides(quiz: Quiz, row: number): boolean {
  return quiz.on && row > quiz.revealed;
}

/** The quiz after a guess about `row`, `right` or wrong. Rows before it are revealed, too. */
export function guess(quiz: Quiz, row: number, right: boolean): Quiz {
  return {
    ...quiz,
    revealed: Math.max(quiz.revealed, row),
    right: quiz.right + Number(right),
    guesses: quiz.guesses + 1,
  };
}
