/** Order and length of the rows. */
import type { Row } from "./traits.ts";

export type Column = "what" | "name" | "saved";
export interface Order {
  readonly by: Column;
  readonly falling: boolean;
}

/** Rows in an order; equal ones keep theirs, those without a number come last. */
export function ordered(rows: readonly Row[], { by, falling }: Order): Row[] {
  const sign = falling ? -1 : 1;
  const known = (row: Row) => by !== "saved" || row.saved !== null;
  const compare = (a: Row, b: Row) =>
    by === "saved" ? a.saved! - b.saved! : a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0;
  return [...rows.filter(known).sort((a, b) => sign * compare(a, b)), ...rows.filter((row) => !known(row))];
}

/** The order after a click on a column's head: numbers begin with the largest, names with A; again turns it round. */
export function turned(order: Order, by: Column): Order {
  return order.by === by ? { by, falling: !order.falling } : { by, falling: by === "saved" };
}

/** Length of each bar, 0 to 1: the longest is that of the largest number, whatever its sign. */
export function lengths(rows: readonly Row[]): (row: Row) => number {
  const most = Math.max(0, ...rows.map(({ saved }) => Math.abs(saved ?? 0)));
  return ({ saved }) => (most > 0 ? Math.abs(saved ?? 0) / most : 0);
}

/** What tells a row from all others. */
export const keyOf = ({ what, name }: Row): string => `${what} ${name}`;
