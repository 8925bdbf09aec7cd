/** Keeps the chart's texts up to date: legend, status for screen readers, table. */

import { memorySummary, summary, usageLine } from "../scene/describe.ts";
import type { Memory } from "../wire/memory.ts";
import type { Board } from "./board.ts";
import { type Gather, showLegend } from "./legend.ts";
import { table } from "./table.ts";
import { say, type Words } from "./words.ts";

const QUIET = 350; // milliseconds without a new schedule before the texts are updated: a drag sends twenty a second

export class Report {
  readonly table;
  #timer = 0;
  #summary = ""; // the latest that has been said, or left unsaid
  #noted = false; // something else has been said since news came
  readonly #board: Board;
  readonly #words: Words;

  readonly #gather: Gather;

  /** `choose` selects an op, `gather` several that are to move together. */
  constructor(board: Board, words: Words, choose: (op: number) => void, gather: Gather) {
    this.#board = board;
    this.#words = words;
    this.#gather = gather;
    this.table = table(choose);
  }

  /** Updates everything once schedules stop arriving; what was said meanwhile stays, and so it does when nothing is new. */
  soon(): void {
    clearTimeout(this.#timer);
    this.#noted = false;
    this.#words.status.classList.toggle(
      "of-before",
      this.#words.status.textContent === this.#summary && !!this.#summary,
    );
    this.#timer = window.setTimeout(() => {
      this.#words.status.classList.remove("of-before");
      const text = this.#summarise();
      if (text !== this.#summary && !this.#noted) this.now();
      this.#summary = text;
      this.list();
      showLegend(this.#words.legend, this.#board, this.#gather);
    }, QUIET);
  }

  /** Says what is selected, or what there is. */
  now(): void {
    if (!this.#board.chart) return;
    this.#summary = this.#summarise();
    this.#words.status.classList.remove("of-before");
    say(this.#words.status, this.#summary);
    this.#words.foot.dataset.first = "detail";
    this.list();
  }

  #summarise(): string {
    const { chart, labels, picked, laned, memory } = this.#board;
    if (!chart) return "";
    return summary(chart, labels, picked) + (laned && memory ? ` · ${this.#memoryLine(memory)}` : "");
  }

  /** Says something in the status line, rather than the explanation of the selected op where there is room for one. */
  note(text: string): void {
    this.#words.status.classList.remove("of-before");
    say(this.#words.status, text);
    this.#words.foot.dataset.first = "status";
    this.#noted = true;
  }

  detail(text: string): void {
    say(this.#words.detail, text);
    this.#words.detail.title = text;
    this.#words.foot.dataset.first = "detail";
  }

  /** Opens or closes the table; returns whether it is open. */
  toggleTable(): boolean {
    this.table.element.hidden = !this.table.element.hidden;
    this.list();
    return !this.table.element.hidden;
  }

  list(): void {
    const { chart, labels, picked, memory } = this.#board;
    if (chart && !this.table.element.hidden) this.table.show(chart, labels, picked, memory);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Memory in words: where the selected op runs when it starts, else what each device uses at most. */
  #memoryLine(memory: Memory): string {
    const { chart, labels, picked } = this.#board;
    if (picked < 0) return memorySummary(memory, labels);
    return `memory of ${usageLine(memory, labels, chart!.columns.ops.device[picked]!, chart!.bars.start[picked]!)}`;
  }
}
