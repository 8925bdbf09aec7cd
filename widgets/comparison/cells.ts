/** What the cells say, how good they are, and in which order their rows come. */
import { percent, SI, type Units } from "../shared/format.ts";
import type { Cell, Row } from "./traits.ts";

export type Measure = "makespan" | "gap" | "memory" | "moved";

/** Label and explanation of each measure. */
export const MEASURES: Record<Measure, readonly [label: string, title: string]> = {
  makespan: ["Makespan", "When the last op has finished"],
  gap: ["Gap", "At most how far above the optimum, by the best lower bound that is proven"],
  memory: ["Peak", "Largest peak memory of a device"],
  moved: ["Moved", "Bytes of all transfers between devices"],
};
const OPTIMAL = 1e-9; // a makespan this close above its bound differs from it by rounding

/** The number that a measure ranks and colours by; NaN where there is none. Gaps rank like makespans. */
export function measured(cell: Cell | null, measure: Measure): number {
  return cell?.[measure === "gap" ? "makespan" : measure] ?? NaN;
}

/** The same, of schedules that are legal and within memory only. */
function goodValue(cell: Cell | null, measure: Measure): number {
  return cell?.flaw ? NaN : measured(cell, measure);
}

/** The number in a cell, with its unit. */
export function textOf(cell: Cell, measure: Measure, units: Units = SI): string {
  if (cell.error) return "–";
  if (measure === "makespan") return units.time(cell.makespan ?? NaN);
  if (measure === "gap") return cell.gap === null ? "–" : isOptimal(cell) ? "optimal" : atMost(cell.gap);
  return units.bytes(cell[measure] ?? NaN);
}

/** The text of a cell without a number: that it took so many seconds without an end, that it is still to come, or that nothing is. */
export function textOfNone(state: Row["state"], over = 0): string {
  return state === "own" ? "–" : over ? `> ${duration(over)}` : "…";
}

/** Seconds, as they are waited for. */
const duration = (seconds: number) => `${Number(seconds.toPrecision(2))} s`;

/** The seconds after which all of a row was left that others may come first; 0 where it was not, or has something to show. */
export function overAll(row: Row): number {
  const waits = row.state === "pending" || row.state === "running";
  return waits && isEmpty(row) && row.over?.length ? Math.min(...row.over) : 0;
}

/** What the button in place of a row's cells does, and why it is there; `halted`: nothing is compared until *Compare* is pressed. */
export function tipOf(row: Row, halted: boolean): string {
  const over = row.over?.length ? Math.min(...row.over) : 0;
  const late = over ? `after ${duration(over)}, so that others come first` : "";
  if (isIdle(row) && !row.quick) return "It searches for seconds or minutes: run it";
  if (isIdle(row) && over) return `It was left ${late}, and you stopped it: compare it again, with twice the time`;
  if (isIdle(row)) return "You stopped it: compare it again";
  const leave = "A click leaves it out, another one takes it up again";
  if (!over) return leave;
  if (row.state === "running") return `It was left ${late}, and now has twice the time. ${leave}`;
  const when = halted ? "once you press Compare, " : "";
  return `It was left ${late}: ${when}it begins anew behind them, with twice the time. ${leave}`;
}

/** Whether no schedule can be faster. */
export function isOptimal(cell: Cell): boolean {
  return cell.gap !== null && cell.gap < OPTIMAL && !cell.flaw;
}

/** A share of which only an upper bound is known: "≤ 30 %", "< 0.1 %". */
export function atMost(share: number): string {
  return share < 0.001 ? "< 0.1 %" : share < 9.995 ? `≤ ${percent(share)}` : `≤ ${(1 + share).toFixed(0)} ×`;
}

/** Where the least value of a measure is, and in which cells all pairs are that tie, the first one included. */
export interface Best {
  readonly row: Row;
  readonly column: number;
  readonly value: number;
  readonly all: readonly { readonly row: Row; readonly column: number }[];
}

/**
 * The least value of a measure, of cells that are not stale if there is one; null where nothing counts. Of pairs that tie it is
 * the one at `shown` (partitioner and column), else the first.
 */
export function bestOf(
  rows: readonly Row[],
  measure: Measure,
  shown: readonly [string, number] = ["", -1],
): Best | null {
  for (const stale of [false, true]) {
    let value = Infinity;
    let all: { row: Row; column: number }[] = [];
    for (const row of rows)
      row.cells.forEach((cell, column) => {
        const own = cell?.stale === stale ? goodValue(cell, measure) : NaN;
        if (own < value) [value, all] = [own, []];
        if (own === value) all.push({ row, column });
      });
    const first = all.find(({ row, column }) => row.name === shown[0] && column === shown[1]) ?? all[0];
    if (first) return { ...first, value, all };
  }
  return null;
}

/** Whether a cell is the best, or one of those that tie. */
export function isBest(best: Best | null, row: Row, column: number): boolean {
  return !!best?.all.some((one) => one.row === row && one.column === column);
}

const NAMED = 8; // of the pairs that tie

/** ", 4 pairs tie": how many pairs are as good, this one included; empty where it is alone. */
export function tieOf(best: Best): string {
  return best.all.length > 1 ? `, ${best.all.length} pairs tie` : "";
}

/** The pairs that tie, by name. */
export function tiedNames(best: Best, schedulers: readonly string[]): string {
  const names = best.all.slice(0, NAMED).map(({ row, column }) => `${row.name} + ${schedulers[column]}`);
  const more = best.all.length > NAMED ? ` and ${best.all.length - NAMED} more` : "";
  return `${names.join(", ")}${more}`;
}

/** How many times the least value a value is, at least 1; NaN where there is none. */
export function ratioOf(value: number, least: number): number {
  return value === least ? 1 : Math.max(value / least, 1);
}

/** The rows sorted by their least value, a plan by hand first; after them those with none that counts, and those to be searched, in their order. */
export function bestFirst(rows: readonly Row[], measure: Measure): Row[] {
  const rank = new Map(
    rows.map((row) => {
      const least = (values: number[]) => Math.min(...values.filter((value) => !Number.isNaN(value))); // Infinity for none
      const keys = [
        row.state === "own" ? -1 : isIdle(row) ? 1 : 0,
        least(row.cells.map((cell) => goodValue(cell, measure))),
      ];
      return [row, [...keys, least(row.cells.map((cell) => measured(cell, measure)))]] as const;
    }),
  );
  return [...rows].sort((a, b) => {
    const [x, y] = [rank.get(a)!, rank.get(b)!];
    const i = x.findIndex((key, i) => key !== y[i]);
    return i < 0 ? 0 : x[i]! - y[i]!;
  });
}

/** Whether a row waits for a request, its values, if any, being of a problem before. */
export function isIdle(row: Row): boolean {
  return row.state === "search";
}

/** Whether nothing of a row belongs to the present problem: a button stands for its cells, if it searches or takes long. */
export function isEmpty(row: Row): boolean {
  return !row.cells.some((cell) => cell && !cell.stale);
}

/** Everything about a pair, one line each, for the box beside the pointer and for screen readers. */
export function explain(
  cell: Cell | null,
  state: Row["state"],
  least: number,
  marks: readonly string[],
  units: Units = SI,
  over = 0,
): string[] {
  if (!cell && state === "own") return ["A plan by hand is replayed as planned"];
  if (!cell && over && state === "pending")
    return [`It takes over ${duration(over)}: others come first, then it begins anew, with twice the time`];
  if (!cell) return [state === "running" ? "Being compared now" : state === "done" ? "No result" : "Not compared yet"];
  const stale = cell.stale ? ["Of the problem before the change"] : [];
  if (cell.error) return [cell.error, ...stale];
  const makespan = cell.makespan ?? NaN;
  const ratio = makespan > least * 1.0005 ? `, ${Number((makespan / least).toPrecision(3))} × the best` : "";
  const gap = isOptimal(cell)
    ? "proven optimal"
    : cell.gap === null || cell.flaw
      ? ""
      : `${atMost(cell.gap)} above the optimum`;
  const also = [...marks, gap, cell.flaw].filter(Boolean).join(", ");
  return [
    units.time(makespan) + ratio,
    also.charAt(0).toUpperCase() + also.slice(1),
    `${units.bytes(cell.memory ?? NaN)} peak memory, ${units.bytes(cell.moved ?? NaN)} moved`,
    ...stale,
  ].filter(Boolean);
}
