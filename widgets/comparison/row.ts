/** A row of the table: a partitioner's name and its cells, or one wide cell with a button. */
import { h, set, write } from "../shared/dom.ts";
import type { Units } from "../shared/format.ts";
import {
  type Best,
  bestOf,
  explain,
  isBest,
  isEmpty,
  isIdle,
  isOptimal,
  type Measure,
  measured,
  overAll,
  ratioOf,
  textOf,
  textOfNone,
  tieOf,
  tipOf,
} from "./cells.ts";
import { shade } from "./shade.ts";
import type { Cell, Row } from "./traits.ts";

const ROOM = 10; // letters that the narrowest cell has room for
const PATIENCE = 1000; // ms before a row that is being compared has a button, too

/** What all rows are drawn by. */
export interface Look {
  readonly schedulers: readonly string[];
  readonly measure: Measure;
  readonly dark: boolean;
  readonly units: Units;
  /** The least value of the measure, and the least makespan. */
  readonly least: number;
  readonly leastMakespan: number;
  /** How many times the least value the end of the colours' scale is. */
  readonly end: number;
  readonly best: Best | null;
  /** Partitioner and scheduler that the explorer shows. */
  readonly shown: readonly string[];
  /** Whether with options other than the defaults, of which the cells are. */
  readonly otherOptions: boolean;
  /** Whether nothing is compared until *Compare* is pressed. */
  readonly halted: boolean;
}

export class RowView {
  readonly element = h("tr");
  /** What the keyboard goes to, from left to right. */
  stops: HTMLElement[] = [];
  row!: Row;
  readonly #head = h("th", { scope: "row" });
  readonly #button = h("button", { type: "button", tabindex: -1 });
  readonly #wide = h("td.wide", { role: "gridcell" }, this.#button);
  #cells: HTMLElement[] = [];
  #lines: string[][] = [];
  #since = 0; // when it was first seen running

  show(row: Row, look: Look): void {
    this.#since = row.state === "running" ? this.#since || performance.now() : 0;
    this.row = row;
    this.#head.textContent = this.#head.title = row.name;
    if (this.#isWide) this.#showButton(look);
    else this.#showCells(look);
  }

  /** What a click on the row's button asks for. */
  get request(): "search" | "halt" {
    return isIdle(this.row) ? "search" : "halt";
  }

  /** Lines that explain a cell. */
  explanation(column: number): readonly string[] {
    return this.#lines[column] ?? [];
  }

  get #elapsed(): number {
    return this.#since ? performance.now() - this.#since : 0;
  }

  get #isWide(): boolean {
    const { state } = this.row;
    if (overAll(this.row)) return true;
    return isIdle(this.row) ? isEmpty(this.row) : state === "running" && this.#elapsed > PATIENCE && isEmpty(this.row);
  }

  #showButton(look: Look): void {
    const before = bestOf([this.row], "makespan");
    const seen = before ? ` · ${look.units.time(before.value)} before the change` : "";
    const idle = isIdle(this.row);
    const over = overAll(this.row);
    const elapsed = Math.floor(this.#elapsed / 1000);
    const passed = over > elapsed ? `over ${Number(over.toPrecision(2))} s` : `${elapsed} s`;
    const begin = this.row.quick ? "Compare" : "Search";
    this.#button.textContent = idle ? `${begin}${seen}` : `Stop · ${passed}`;
    const label = `${this.row.name}: ${idle ? `${begin.toLowerCase()}${seen}` : "stop"}`;
    set(this.#button, { "aria-label": label, title: tipOf(this.row, look.halted) });
    set(this.#wide, { colspan: look.schedulers.length });
    this.#lines = [];
    this.#put([this.#wide], [this.#button]);
  }

  #showCells(look: Look): void {
    if (this.#cells.length !== look.schedulers.length)
      this.#cells = look.schedulers.map(() => h("td", { role: "gridcell", tabindex: -1 }));
    this.#lines = this.#cells.map((td, column) => this.#showCell(td, column, look));
    this.#put(this.#cells, this.#cells);
  }

  #showCell(td: HTMLElement, column: number, look: Look): string[] {
    const { name, state, cells } = this.row;
    const over = this.row.over?.[column] ?? 0;
    const cell = cells[column] ?? null;
    const scheduler = look.schedulers[column]!;
    const best = isBest(look.best, this.row, column);
    const shown = look.shown[0] === name && look.shown[1] === scheduler;
    const now = look.otherOptions ? "with default options; others are shown now" : "shown now";
    const marks = [shown ? now : "", best ? `${BEST[look.measure]}${tieOf(look.best!)}` : ""].filter(Boolean);
    const lines = explain(cell, state, look.leastMakespan, marks, look.units, over);
    const ratio = ratioOf(measured(cell, look.measure), look.least); // NaN where no cell counts, too
    const colour = Number.isNaN(ratio) ? null : shade(ratio, look.end, look.dark);
    const kind = !cell ? "pending" : cell.error ? "error" : cell.flaw ? "flawed" : cell.stale ? "stale" : "";
    td.style.setProperty("--fill", colour?.fill ?? null);
    td.style.setProperty("--on-fill", colour?.ink ?? null);
    const text = cell ? written(cell, look.measure, best, look.units) : textOfNone(state, over);
    write(td, text);
    td.className = [kind, best && "best", shown && "shown", text.length > ROOM && "long"].filter(Boolean).join(" ");
    set(td, { "aria-label": `${name}, ${scheduler}: ${lines.join(". ")}`, "aria-selected": String(shown) });
    return lines;
  }

  /** Puts cells into the row, unless they are there. */
  #put(cells: HTMLElement[], stops: HTMLElement[]): void {
    this.stops = stops;
    const children = [this.#head, ...cells];
    const same =
      this.element.children.length === children.length && children.every((c, i) => c === this.element.children[i]);
    if (!same) this.element.replaceChildren(...children);
  }
}

const BEST: Record<Measure, string> = {
  makespan: "the best",
  gap: "the best",
  memory: "least peak memory",
  moved: "least bytes moved",
};

/** Text of a cell with its marks, thin spaces between: ★ the best, ✓ proven optimal, ⚠ does not count. */
function written(cell: Cell, measure: Measure, best: boolean, units: Units): string {
  const optimal = measure === "makespan" && isOptimal(cell);
  return [best ? "★" : "", textOf(cell, measure, units), optimal ? "✓" : "", cell.flaw ? "⚠" : ""]
    .filter(Boolean)
    .join("\u2009");
}
