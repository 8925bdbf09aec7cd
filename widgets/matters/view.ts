/** What matters: a slider for how much faster, and a table of what that would save, with bars. */
import { h, listen, set, style } from "../shared/dom.ts";
import { percent as share, unitsOf } from "../shared/format.ts";
import TABLE_CSS from "../shared/table.css";
import { markTheme, THEME_CSS } from "../shared/theme.ts";
import css from "./matters.css";
import { type Column, keyOf, lengths, type Order, ordered, turned } from "./order.ts";
import type { MattersTraits, Row } from "./traits.ts";

const MOST = 200; // rows on the page
const PATIENCE = 80; // ms between two positions of the slider that are sent
const HEADS: readonly (readonly [Column, string])[] = [
  ["what", "What"],
  ["name", "Name"],
  ["saved", "Saved"],
];
const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -MOST, End: MOST };

export class MattersView {
  readonly element: HTMLElement;
  readonly #slider = h("input", {
    type: "range",
    min: 5,
    max: 100,
    step: 5,
    "aria-label": "How much faster, in percent",
  });
  readonly #faster = h("output");
  readonly #status = h("span.status", { role: "status" });
  readonly #bar = h("div.progress", {
    role: "progressbar",
    "aria-label": "Simulated",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
  });
  readonly #heads: readonly (readonly [Column, HTMLElement])[];
  readonly #body = h("tbody");
  readonly #more = h("div.more", { hidden: true });
  readonly #views = new Map<string, HTMLTableRowElement>();
  #order: Order = { by: "saved", falling: true };
  #shown: Row[] = [];
  #at = ""; // key of the row that Tab leads to
  #picked = ""; // key of the row that made the selection
  #traits: MattersTraits | null = null;
  #timer = 0;
  readonly #send: (percent: number) => void;
  readonly #select: (op: number) => void;

  constructor(send: (percent: number) => void, select: (op: number) => void) {
    this.#send = send;
    this.#select = select;
    this.#heads = HEADS.map(([column, text]) => [column, this.#head(column, text)]);
    const table = h(
      "table",
      { role: "grid", "aria-label": "What would save how much; Enter selects an op" },
      h(
        "thead",
        {},
        h("tr", {}, ...this.#heads.map(([, cell]) => cell), h("th", { scope: "col", title: "Of the makespan" }, "%")),
      ),
      this.#body,
    );
    const ask = h("label", {}, "If it were", this.#slider, this.#faster);
    this.element = h(
      "div.placelab.pl-table.pl-matters",
      { "data-lm-suppress-shortcuts": "true" },
      style(THEME_CSS, TABLE_CSS, css),
      h("div.head", {}, ask, this.#status),
      this.#bar,
      h("div.scroll", {}, table, this.#more),
    );
    listen(this.#slider, "input", () => this.#slide());
    listen(this.#slider, "change", () => this.#slide(0));
    listen(this.#body, "click", (event) => this.#pick(this.#rowOf(event.target)));
    listen(this.#body, "keydown", (event) => this.#key(event));
    listen(this.#body, "focusin", (event) => this.#rove(this.#rowOf(event.target), false));
  }

  show(traits: MattersTraits): void {
    this.#traits = traits;
    markTheme(this.element);
    if (!this.#timer) {
      this.#slider.value = String(traits.percent);
      this.#write(traits.percent);
    }
    const percent = Math.round(100 * traits.fraction);
    set(this.#bar, { "aria-valuenow": percent });
    this.#bar.style.setProperty("--share", `${percent}%`);
    this.#bar.classList.toggle("done", traits.fraction >= 1);
    const now = traits.makespan > 0 ? `now ${unitsOf(traits.unitless).time(traits.makespan)}` : "";
    this.#status.textContent = this.#status.title = traits.status || now;
    this.element.classList.toggle("stale", traits.stale);
    this.#arrange();
  }

  /** Draws again, as for another theme. */
  redraw(): void {
    if (this.#traits) this.show(this.#traits);
  }

  dispose(): void {
    clearTimeout(this.#timer);
  }

  /** A head that sorts by its column. */
  #head(column: Column, text: string): HTMLElement {
    const button = h("button", { type: "button" }, text);
    listen(button, "click", () => {
      this.#order = turned(this.#order, column);
      this.#arrange();
    });
    return h(`th.${column}`, { scope: "col" }, button);
  }

  /** Shows where the slider is, and sends it now or soon. */
  #slide(after = PATIENCE): void {
    const value = Number(this.#slider.value);
    this.#write(value);
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      if (value !== this.#traits?.percent) this.#send(value);
    }, after);
  }

  #write(value: number): void {
    this.#faster.textContent = `${value} % faster`;
    set(this.#slider, { "aria-valuetext": `${value} % faster` });
  }

  /** Puts the rows in their order; the row that has the focus keeps it. */
  #arrange(): void {
    const { rows, makespan, selection } = this.#traits!;
    const focus = this.#body.contains(document.activeElement);
    const all = ordered(rows, this.#order);
    const length = lengths(rows);
    this.#shown = all.slice(0, MOST);
    for (const [column, cell] of this.#heads) {
      const sort = this.#order.falling ? "descending" : "ascending";
      set(cell, { "aria-sort": column === this.#order.by ? sort : "none" });
    }
    const keys = new Set(this.#shown.map(keyOf));
    for (const key of this.#views.keys()) if (!keys.has(key)) this.#views.delete(key);
    const elements = this.#shown.map((row) => this.#draw(row, length(row), makespan, selection));
    if (
      elements.some((element, i) => element !== this.#body.children[i]) ||
      this.#body.children.length > elements.length
    )
      this.#body.replaceChildren(...elements);
    const rest = all.length - this.#shown.length;
    set(this.#more, { hidden: rest <= 0 });
    this.#more.textContent = `and ${rest} more`;
    if (!keys.has(this.#at)) this.#at = this.#shown[0] ? keyOf(this.#shown[0]) : "";
    this.#rove(
      this.#shown.find((row) => keyOf(row) === this.#at),
      focus && !this.#body.contains(document.activeElement),
    );
  }

  /** The row of the page for a row. */
  #draw(row: Row, length: number, makespan: number, selection: number): HTMLTableRowElement {
    const key = keyOf(row);
    const element = this.#views.get(key) ?? made();
    this.#views.set(key, element);
    const [what, name, bar, amount, part] = element.querySelectorAll<HTMLElement>(
      ".what, bdi, i, b, .share",
    ) as unknown as HTMLElement[];
    const longer = (row.saved ?? 0) < 0;
    what!.textContent = row.what;
    name!.textContent = name!.title = row.name || `(no ${row.what})`;
    bar!.style.width = `${100 * length}%`;
    amount!.textContent = row.saved === null ? "fails" : unitsOf(this.#traits!.unitless).time(row.saved);
    part!.textContent = row.saved === null ? "" : makespan > 0 ? signed(row.saved / makespan) : "–";
    const selected = row.op >= 0 && row.op === selection && (row.what === "op" || key === this.#picked);
    element.className = [row.stale && "stale", longer && "longer"].filter(Boolean).join(" ");
    element.title = longer ? "Faster, and yet the whole takes longer: an anomaly of this schedule" : "";
    set(element, { "aria-selected": String(selected) });
    return element;
  }

  #rowOf(target: EventTarget | null): Row | undefined {
    return this.#shown.find((row) => this.#views.get(keyOf(row))?.contains(target as Node));
  }

  /** Makes a row the one that Tab leads to, and focuses it if asked to. */
  #rove(row: Row | undefined, focus: boolean): void {
    if (!row) return;
    const before = this.#views.get(this.#at);
    if (before) before.tabIndex = -1;
    this.#at = keyOf(row);
    const element = this.#views.get(this.#at)!;
    element.tabIndex = 0;
    if (focus) element.focus();
  }

  #key(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    const at = this.#shown.findIndex((row) => keyOf(row) === this.#at);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step !== undefined) this.#rove(this.#shown[Math.min(Math.max(at + step, 0), this.#shown.length - 1)], true);
    else if (event.key === "Enter" || event.key === " ") this.#pick(this.#shown[at]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #pick(row: Row | undefined): void {
    if (!row || row.op < 0) return;
    this.#picked = keyOf(row);
    this.#select(row.op);
    this.#rove(row, false);
    this.#arrange();
  }
}

/** An empty row. */
function made(): HTMLTableRowElement {
  return h(
    "tr",
    { tabindex: -1 },
    h("td.what"),
    h("td.name.tail", {}, h("bdi", { dir: "ltr" })),
    h("td.saved", {}, h("span.bar", { "aria-hidden": "true" }, h("i")), h("b")),
    h("td.share"),
  );
}

/** A share of the makespan with its sign. */
function signed(fraction: number): string {
  return `${fraction < 0 ? "−" : ""}${share(Math.abs(fraction))}`;
}
