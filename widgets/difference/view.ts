/** What differs between two schedules: a sentence, the choice of a group, and a table whose bars go right for time saved, left for time lost. */
import { h, listen, set, style } from "../shared/dom.ts";
import { type Units, unitsOf } from "../shared/format.ts";
import TABLE_CSS from "../shared/table.css";
import { tail } from "../shared/tail.ts";
import { markTheme, THEME_CSS } from "../shared/theme.ts";
import css from "./difference.css";
import type { DifferenceTraits, Row, Thing } from "./traits.ts";

const WORDS: Record<string, string> = {
  scope: "Scopes",
  kind: "Kinds",
  op: "Ops",
  device: "Devices",
  link: "Links",
  number: "Numbers",
};
const TIMED = "time on the critical path"; // what rows of ops, and of groups of them, compare
const MANY = 1000;
const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8, Home: -MANY, End: MANY };

export class DifferenceView {
  readonly element: HTMLElement;
  readonly #part = h("button.part", { type: "button", hidden: true });
  readonly #summary = h("span.summary", { role: "status" });
  readonly #choice = h("span.choice", { role: "group", "aria-label": "What to compare" });
  readonly #columns = h("colgroup");
  readonly #head = h("thead");
  readonly #body = h("tbody");
  readonly #table: HTMLElement;
  #shown: (Row | Thing)[] = [];
  #at = 0; // number of the row that Tab leads to
  #picked = ""; // name of the row that made the selection
  #traits: DifferenceTraits | null = null;
  readonly #choose: (group: string) => void;
  readonly #select: (op: number, scope: string) => void;

  /** `select` gets the op that changed most in a row, and the row's scope, if it is one; `part` asks for the first decision that differs. */
  constructor(choose: (group: string) => void, select: (op: number, scope: string) => void, part: () => void) {
    this.#choose = choose;
    this.#select = select;
    this.#table = h(
      "table",
      { role: "grid", "aria-label": "What differs from the kept schedule; Enter selects an op" },
      this.#columns,
      this.#head,
      this.#body,
    );
    this.element = h(
      "div.placelab.pl-table.pl-difference",
      { "data-lm-suppress-shortcuts": "true" },
      style(THEME_CSS, TABLE_CSS, css),
      h("div.head", {}, this.#choice, this.#part, this.#summary),
      h("div.scroll", {}, this.#table),
    );
    listen(this.#part, "click", part);
    listen(this.#body, "click", (event) => this.#pick(this.#numberOf(event.target)));
    listen(this.#body, "keydown", (event) => this.#key(event));
  }

  show(traits: DifferenceTraits): void {
    const before = this.#traits;
    this.#traits = traits;
    markTheme(this.element);
    this.#summary.textContent = traits.summary.split("\n")[0]!;
    this.#summary.title = traits.summary;
    this.#part.hidden = !traits.beside;
    this.#part.textContent = "where they part";
    this.#part.title = `The first decision that differs from those of ${traits.beside}, which made the kept schedule: opens Decisions with both`;
    this.element.classList.toggle("stale", traits.stale);
    this.#table.hidden = !traits.rows.length;
    this.element.classList.toggle("empty", !traits.rows.length);
    if (before?.groups !== traits.groups)
      this.#choice.replaceChildren(...traits.groups.map((group) => this.#button(group)));
    for (const button of this.#choice.children)
      set(button, { "aria-pressed": String((button as HTMLElement).dataset.group === traits.group) });
    if (before?.rows !== traits.rows || before.group !== traits.group) this.#fill();
    this.#mark();
  }

  /** Draws once more, in the page's present colours. */
  redraw(): void {
    if (this.#traits) this.show(this.#traits);
  }

  #button(group: string): HTMLElement {
    const button = h("button", { type: "button", "data-group": group }, WORDS[group] ?? group);
    listen(button, "click", () => this.#choose(group));
    return button;
  }

  #fill(): void {
    const { rows, group, unitless, heads } = this.#traits!;
    const focus = this.#body.contains(document.activeElement);
    this.#shown = rows.filter(({ what }) => what === group);
    const most = Math.max(0, ...this.#shown.map((row) => Math.abs(("saved" in row && row.saved) || 0)));
    this.#body.replaceChildren(
      ...this.#shown.map((row) => ("cells" in row ? used(row) : drawn(row, most, unitsOf(unitless)))),
    );
    const measures = heads[group];
    this.#columns.replaceChildren(
      h("col"),
      ...(measures?.flatMap(() => [h("col"), h("col"), h("col")]) ?? Array.from({ length: 4 }, () => h("col"))),
    );
    this.#head.replaceChildren(...headOf(group, measures));
    this.#table.className = measures ? `things ${group}` : group === "number" ? "figures" : ""; // their columns differ
    this.#at = 0;
    this.#rove(0, focus);
  }

  /** Shows which row is selected. */
  #mark(): void {
    const { selection } = this.#traits!;
    this.#shown.forEach((row, i) => {
      const selected = row.op >= 0 && row.op === selection && (row.what === "op" || row.name === this.#picked);
      set(this.#body.children[i]!, { "aria-selected": String(selected) });
    });
  }

  #numberOf(target: EventTarget | null): number {
    return Array.prototype.indexOf.call(this.#body.children, (target as Element).closest("tr"));
  }

  /** Makes a row the one that Tab leads to, and focuses it if asked to. */
  #rove(row: number, focus: boolean): void {
    (this.#body.children[this.#at] as HTMLElement | undefined)?.setAttribute("tabindex", "-1");
    this.#at = Math.max(0, Math.min(row, this.#shown.length - 1));
    const element = this.#body.children[this.#at] as HTMLElement | undefined;
    element?.setAttribute("tabindex", "0");
    if (focus) element?.focus();
  }

  #key(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step !== undefined) this.#rove(this.#at + step, true);
    else if (event.key === "Enter" || event.key === " ") this.#pick(this.#at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #pick(number: number): void {
    const row = this.#shown[number];
    if (!row) return;
    this.#rove(number, false);
    if (row.op < 0) return;
    this.#picked = row.name;
    this.#select(row.op, row.what === "scope" ? row.name : "");
    this.#mark();
  }
}

/** The rows of the head: what is compared stands over kept, now, and the change. */
function headOf(group: string, measures: readonly string[] | undefined): HTMLElement[] {
  const cell = (text: string) => h("th", { scope: "col" }, text);
  const sides = () => ["Kept", "Now"].map((text) => h("th.number", { scope: "col" }, text));
  const tall = (text: string) => h("th", { scope: "col", rowspan: 2 }, text);
  const wide = (text: string) => h("th.over", { scope: "colgroup", colspan: 3 }, text);
  if (measures)
    return [
      h("tr", {}, tall("Name"), ...measures.map(wide)),
      h("tr", {}, ...measures.flatMap(() => [...sides(), h("th.number.end", { scope: "col" }, "Change")])),
    ];
  const compared = [...sides(), cell("Saved or lost")];
  if (group === "number") return [h("tr", {}, cell("Name"), cell(""), ...compared)];
  return [h("tr", {}, tall("Name"), tall(group === "op" ? "Device" : "Moved"), wide(TIMED)), h("tr", {}, ...compared)];
}

/** A row of a device or a link. */
function used({ name, cells }: Thing): HTMLElement {
  return h(
    "tr.fixed",
    { tabindex: -1 },
    tail("td.name", name, name),
    ...cells.map((text, i) => h(i % 3 === 2 ? "td.number.end" : "td.number", { title: text }, text)),
  );
}

/** A row of the page; its bar is as long as its share of the longest. */
function drawn({ what, name, moved, before, after, saved, op }: Row, most: number, units: Units): HTMLElement {
  const bar = h("i", { class: saved !== null && saved < 0 ? "lost" : "saved" });
  bar.style.width = `${most > 0 ? (50 * Math.abs(saved ?? 0)) / most : 0}%`;
  const text = saved === null ? "" : saved === 0 ? "0" : `${saved > 0 ? "−" : "+"}${units.time(Math.abs(saved))}`;
  const shown = name || `(no ${what})`;
  return h(
    "tr",
    { tabindex: -1, class: op < 0 ? "fixed" : "" },
    tail("td.name", shown, shown),
    h("td.moved", { title: moved }, moved),
    h("td.number", { title: before }, before),
    h("td.number", { title: after }, after),
    h(
      "td.change",
      {},
      h(
        "span",
        {},
        saved === null ? "" : h("span.bar", { "aria-hidden": "true" }, bar),
        h("b", { class: saved !== null && saved < 0 ? "lost" : "" }, text),
      ),
    ),
  );
}
