/** The comparison: a line with the best pair, the progress and the measures, and the table. */
import { h, listen, set, style } from "../shared/dom.ts";
import { unitsOf } from "../shared/format.ts";
import { markTheme, THEME_CSS } from "../shared/theme.ts";
import { atMost, type Best, bestFirst, bestOf, isOptimal, MEASURES, type Measure, tiedNames } from "./cells.ts";
import css from "./comparison.css";
import { Grid } from "./grid.ts";
import type { Asked, ComparisonTraits } from "./traits.ts";

const ACTIONS: Record<string, readonly [text: string, title: string]> = {
  halt: ["Cancel", "Stop comparing; the rest goes on"],
  compare: ["Compare", "Compare all pairs of partitioner and scheduler"],
  search: ["Search all", "Compare the partitioners that search for seconds or minutes, too"],
};
const RIVAL = [
  "Find a small problem on which the pair shown loses to the best pair",
  "Shift and a click on any other pair: a problem on which it loses to that pair",
];
const TICK = 1000; // ms

export class ComparisonView {
  readonly element: HTMLElement;
  readonly #best = h("button.show-best", { type: "button" });
  readonly #status = h("span.status", { role: "status" });
  readonly #action = h("button", { type: "button" });
  readonly #rival = h("button", { type: "button", "aria-label": RIVAL[0], title: RIVAL.join(". ") }, "⚔");
  readonly #bar = h("div.progress", {
    role: "progressbar",
    "aria-label": "Partitioners compared",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
  });
  readonly #inputs: HTMLInputElement[] = [];
  readonly #grid: Grid;
  #traits: ComparisonTraits | null = null;
  #clock = 0;

  constructor(ask: (asked: Asked) => void, pick: (measure: Measure) => void) {
    this.#grid = new Grid(ask);
    const group = `measure-${Math.random().toString(36).slice(2)}`; // radio buttons of two explorers are apart
    const choices = Object.entries(MEASURES).map(([value, [label, title]]) => {
      const input = h("input", {
        type: "radio",
        name: group,
        value,
        "aria-label": `Compare by ${label.toLowerCase()}`,
      });
      listen(input, "change", () => pick(value as Measure));
      this.#inputs.push(input);
      return h("label", { title }, input, h("span", {}, label));
    });
    const head = h(
      "div.head",
      {},
      this.#best,
      this.#status,
      this.#action,
      this.#rival,
      h("div.measures", { role: "radiogroup", "aria-label": "Measure" }, ...choices),
    );
    this.element = h(
      "div.placelab.pl-comparison",
      { "data-lm-suppress-shortcuts": "true" },
      style(THEME_CSS, css),
      head,
      this.#bar,
      this.#grid.element,
    );
    const askOfBest = (kind: "show" | "against") => {
      const best = this.#bestPair();
      if (best) ask({ kind, partitioner: best.row.name, scheduler: this.#traits!.schedulers[best.column]! });
    };
    listen(this.#best, "click", () => askOfBest("show"));
    listen(this.#rival, "click", () => askOfBest("against"));
    listen(this.#action, "click", () => ask({ kind: this.#traits!.action as "search" | "halt" | "compare" }));
  }

  show(traits: ComparisonTraits): void {
    this.#traits = traits;
    const { rows, schedulers, shown, status, fraction, action } = traits;
    const units = unitsOf(traits.unitless);
    const measure = (traits.measure in MEASURES ? traits.measure : "makespan") as Measure;
    const best = this.#bestPair();
    const cell = best && best.row.cells[best.column]!;
    const gap =
      !cell || cell.gap === null
        ? ""
        : isOptimal(cell)
          ? ", proven optimal"
          : `, ${atMost(cell.gap)} above the optimum`;
    const tie = best && best.all.length > 1;
    const pair = best ? `${best.row.name} + ${schedulers[best.column]}` : "–";
    this.#best.replaceChildren(
      h("span.pair", {}, `★ ${pair}`),
      h("span.value", {}, best ? ` ${units.time(best.value)}` : "", ...(tie ? tieOf(best.all.length) : [])),
    );
    this.#best.title = !best
      ? "No pair places and runs the model"
      : tie
        ? `Show it; ${best.all.length} pairs tie${gap}: ${tiedNames(best, schedulers)}`
        : `Show the best pair, ${pair}${gap}`;
    this.#best.disabled = !best;
    this.#best.classList.toggle("stale", !!cell?.stale);
    this.#status.textContent = this.#status.title = status;
    const [text, title] = ACTIONS[action] ?? ["", ""];
    set(this.#action, { hidden: !text, title });
    this.#action.textContent = text;
    const percent = Math.round(100 * fraction);
    set(this.#bar, { "aria-valuenow": percent });
    this.#bar.style.setProperty("--share", `${percent}%`);
    this.#bar.classList.toggle("done", action !== "halt");
    for (const input of this.#inputs) input.checked = input.value === measure;
    const dark = markTheme(this.element);
    const halted = action === "compare";
    this.#grid.show({ schedulers, rows, shown, otherOptions: traits.other_options, halted, measure, units, dark });
    this.#tick(rows.some(({ state }) => state === "running"));
  }

  /** The best pair: of those that tie the one that is shown, else the first row's. */
  #bestPair(): Best | null {
    if (!this.#traits) return null;
    const { rows, schedulers, shown } = this.#traits;
    return bestOf(bestFirst(rows, "makespan"), "makespan", [shown[0] ?? "", schedulers.indexOf(shown[1] ?? "")]);
  }

  /** Draws again, as for another theme. */
  redraw(): void {
    if (this.#traits) this.show(this.#traits);
  }

  dispose(): void {
    clearTimeout(this.#clock);
  }

  /** While a row runs, its seconds count. */
  #tick(running: boolean): void {
    clearTimeout(this.#clock);
    if (running) this.#clock = window.setTimeout(() => this.redraw(), TICK + 20);
  }
}

/** How many pairs are as good; a small window leaves "pairs" out. */
function tieOf(pairs: number): (string | Element)[] {
  return [`, ${pairs} `, h("span.roomy", {}, "pairs "), "tie"];
}
