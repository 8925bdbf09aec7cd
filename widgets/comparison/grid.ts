/** The table: sorted rows, one cell in the order of Tab, keys, clicks, and a box that explains the cell in question. */
import { h, listen } from "../shared/dom.ts";
import type { Units } from "../shared/format.ts";
import { boxOf } from "../shared/zoom.ts";
import { bestFirst, bestOf, type Measure, measured, ratioOf } from "./cells.ts";
import { moved, type Place } from "./moves.ts";
import { type Look, RowView } from "./row.ts";
import { endOf, gradient } from "./shade.ts";
import type { Asked, Row } from "./traits.ts";

export interface Content {
  readonly schedulers: readonly string[];
  readonly rows: readonly Row[];
  readonly shown: readonly string[];
  readonly otherOptions: boolean;
  readonly halted: boolean;
  readonly measure: Measure;
  readonly dark: boolean;
  readonly units: Units;
}

export class Grid {
  readonly element: HTMLElement;
  readonly #head = h("tr");
  readonly #body = h("tbody");
  readonly #scale = h("i", { "aria-hidden": "true" });
  readonly #worst = h("span");
  readonly #colours = h("span.scale", {}, "1 ×", this.#scale, this.#worst);
  readonly #corner = h("th", {}, this.#colours);
  readonly #tip = h("div.tip", { hidden: true, "aria-hidden": "true" });
  readonly #scroll: HTMLElement;
  readonly #views = new Map<string, RowView>();
  #order: RowView[] = [];
  #at: Place = { row: 0, column: 0 };
  #content: Content | null = null;
  #over = false; // whether the pointer is on the rows: they keep their order then
  readonly #ask: (asked: Asked) => void;

  constructor(ask: (asked: Asked) => void) {
    this.#ask = ask;
    const label = "Partitioners and schedulers compared; Enter shows a pair";
    const table = h("table", { role: "grid", "aria-label": label }, h("thead", {}, this.#head), this.#body);
    this.#scroll = h("div.scroll", {}, table);
    this.element = h("div.grid", {}, this.#scroll, this.#tip);
    listen(this.#body, "click", (event) => this.#act(event.target, event.shiftKey));
    listen(this.#body, "keydown", (event) => this.#key(event));
    listen(this.#body, "focusin", (event) => this.#focused(event.target));
    listen(this.#body, "focusout", () => this.#explain(null));
    listen(this.#body, "pointerover", (event) => this.#explain(event.target));
    listen(this.#body, "pointerenter", () => (this.#over = true));
    listen(this.#body, "pointerleave", () => this.#left());
    listen(this.#scroll, "scroll", () => {
      this.#scroll.classList.toggle("aside", this.#scroll.scrollLeft > 0);
      this.#explain(null);
    });
  }

  show(content: Content): void {
    const another = this.#content && String(this.#content.shown) !== String(content.shown);
    this.#content = content;
    const { schedulers, rows, measure, dark, shown, otherOptions, halted, units } = content;
    const best = bestOf(rows, measure);
    const least = best?.value ?? NaN;
    const end = endOf(rows.flatMap(({ cells }) => cells.map((cell) => ratioOf(measured(cell, measure), least))));
    this.#worst.textContent = `${Number(end.toPrecision(3))} ×`;
    this.#colours.title =
      "Colours go from the best value to this many times as much; the few values beyond have the last colour";
    const look: Look = {
      schedulers,
      measure,
      dark,
      shown,
      otherOptions,
      halted,
      best,
      units,
      least,
      end,
      leastMakespan: bestOf(rows, "makespan")?.value ?? NaN,
    };
    this.#scale.style.background = gradient(dark);
    this.#scroll.style.setProperty("--columns", String(schedulers.length));
    this.#head.replaceChildren(this.#corner, ...schedulers.map((name) => h("th", { scope: "col", title: name }, name)));
    for (const row of rows) {
      if (!this.#views.has(row.name)) this.#views.set(row.name, new RowView());
      this.#views.get(row.name)!.show(row, look);
    }
    this.#arrange(rows, measure);
    if (another && !this.#over) this.#reveal();
  }

  /** Scrolls to the pair that is shown now; the page itself stays where it is. */
  #reveal(): void {
    const cell = this.#body.querySelector("td.shown");
    if (!cell) return;
    const [{ top, bottom }, around, head] = [cell, this.#scroll, this.#corner].map((e) => boxOf(e)) as [
      DOMRect,
      DOMRect,
      DOMRect,
    ];
    this.#scroll.scrollTop += Math.min(top - head.bottom, 0) + Math.max(bottom - around.bottom, 0);
  }

  /** Puts the rows in their order; the cell that has the focus keeps it. */
  #arrange(rows: readonly Row[], measure: Measure): void {
    const place = this.#order[this.#at.row];
    const focus = this.#body.contains(document.activeElement);
    const sorted = bestFirst(rows, measure).map(({ name }) => this.#views.get(name)!);
    const kept = this.#order.filter((view) => sorted.includes(view));
    this.#order = this.#over ? [...kept, ...sorted.filter((view) => !kept.includes(view))] : sorted;
    if (
      this.#order.some((view, i) => view.element !== this.#body.children[i]) ||
      this.#body.children.length > this.#order.length
    )
      this.#body.replaceChildren(...this.#order.map((view) => view.element));
    if (place && focus) this.#at = { ...this.#at, row: Math.max(this.#order.indexOf(place), 0) };
    this.#rove();
    if (focus && !this.#body.contains(document.activeElement)) this.#current?.focus({ preventScroll: true });
  }

  /** Makes the current cell the one that Tab leads to. */
  #rove(): void {
    for (const { stops } of this.#order) for (const stop of stops) stop.tabIndex = -1;
    if (this.#current) this.#current.tabIndex = 0;
  }

  get #current(): HTMLElement | undefined {
    const stops = this.#order[Math.min(this.#at.row, this.#order.length - 1)]?.stops ?? [];
    return stops[Math.min(this.#at.column, stops.length - 1)];
  }

  #left(): void {
    this.#over = false;
    this.#explain(null);
    if (this.#content) this.#arrange(this.#content.rows, this.#content.measure);
  }

  /** Where an element of the rows is. */
  #placeOf(target: EventTarget | null): Place | undefined {
    const row = this.#order.findIndex((view) => view.element.contains(target as Node));
    const column = this.#order[row]?.stops.findIndex((stop) => stop.contains(target as Node)) ?? -1;
    return column < 0 ? undefined : { row, column };
  }

  /** Shows the pair of a cell; `against`: asks for a problem on which the pair shown loses to it. */
  #act(target: EventTarget | null, against: boolean): void {
    const place = this.#placeOf(target);
    if (!place) return;
    const view = this.#order[place.row]!;
    const partitioner = view.row.name;
    if (view.stops[place.column] instanceof HTMLButtonElement) return this.#ask({ kind: view.request, partitioner });
    this.#ask({ kind: against ? "against" : "show", partitioner, scheduler: this.#content!.schedulers[place.column]! });
  }

  #key(event: KeyboardEvent): void {
    const to = moved(
      this.#at,
      event,
      this.#order.map(({ stops }) => stops.length),
    );
    if (to) {
      this.#at = to;
      this.#rove();
      this.#current?.focus();
    } else if ((event.key === "Enter" || event.key === " ") && !(event.target instanceof HTMLButtonElement)) {
      this.#act(event.target, event.shiftKey);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #focused(target: EventTarget | null): void {
    const place = this.#placeOf(target);
    if (!place) return;
    const wide = this.#order[place.row]!.stops.length === 1;
    if (!(wide && place.row === this.#at.row)) this.#at = place; // a wide cell keeps the column that the keys came from
    this.#rove();
    this.#explain(target);
  }

  /** Explains the cell `target` in a box beside it; null hides the box. */
  #explain(target: EventTarget | null): void {
    const place = target && this.#placeOf(target);
    const view = place ? this.#order[place.row] : undefined;
    const lines = place ? view!.explanation(place.column) : [];
    this.#tip.hidden = !lines.length;
    if (!place || !view || !lines.length) return;
    const pair = `${view.row.name} + ${this.#content!.schedulers[place.column]}`;
    this.#tip.replaceChildren(h("b", {}, pair), ...lines.map((line) => h("div", {}, line)));
    const [around, cell] = [this.element, view.stops[place.column]!].map((e) => boxOf(e)) as [DOMRect, DOMRect];
    const { offsetWidth: width, offsetHeight: height } = this.#tip;
    const left = Math.min(Math.max(cell.left - around.left, 0), Math.max(around.width - width, 0));
    const below = cell.bottom - around.top + 3;
    const top = below + height <= around.height ? below : Math.max(cell.top - around.top - height - 3, 0);
    this.#tip.style.transform = `translate(${left}px, ${top}px)`;
  }
}
