/**
 * Memory by stage, the plans found as a table, or the best of them as a plane. Rows and cells are chosen by click, Enter and arrow keys;
 * K keeps one to compare with.
 */
import { h, listen, style } from "../shared/dom.ts";
import { bytes, percent, seconds } from "../shared/format.ts";
import { memoryBar, memoryLegend, used } from "../shared/memory.ts";
import { markTheme, THEME_CSS } from "../shared/theme.ts";
import css from "./plans.css";
import { shade, stepped } from "./shade.ts";
import type { Asked, Cell, Plane, PlansTraits, Row, Stage } from "./traits.ts";

type Ask = (asked: Asked) => void;

const HEADS = ["dp × tp × pp", "schedule", "more", "step", "MFU", "idle", "peak"];

export class PlansView {
  readonly element: HTMLElement;
  readonly #said = h("div.said", { role: "status" });
  readonly #bars = h("div.bars");
  readonly #legend = h("div.legend");
  readonly #degrees = h("div.page.degrees", {}, this.#said, this.#bars, this.#legend);
  readonly #status = h("div.status", { role: "status" });
  readonly #body = h("tbody");
  readonly #table = h(
    "table",
    { role: "grid", "aria-label": "Plans found", title: "Enter shows a plan, K keeps it to compare with" },
    h("thead", {}, h("tr", {}, ...HEADS.map((head) => h("th", {}, head)))),
    this.#body,
  );
  readonly #winners = h("div.page.winners", {}, this.#table);
  readonly #cells = h("div.cells", {
    role: "group",
    "data-keys": "",
    "aria-label": "Best plan of each pair of degrees",
  });
  readonly #plane = h("div.page.plane", {}, this.#cells);
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
    this.element = h(
      "div.placelab.pl-plans",
      { "data-lm-suppress-shortcuts": "true" },
      style(THEME_CSS, css),
      this.#degrees,
      this.#winners,
      this.#plane,
      this.#status,
    );
    this.mark();
  }

  mark(): void {
    markTheme(this.element);
  }

  show(traits: PlansTraits): void {
    this.element.dataset.page = traits.page;
    this.#winners.hidden = !traits.rows.length;
    this.#plane.hidden = !traits.plane.cells.length;
    this.#status.textContent = this.#status.title = traits.status;
    this.#drawBars(traits);
    this.#drawRows(traits.rows);
    this.#drawPlane(traits.plane);
  }

  #drawBars({ stages, said, refused, remedies }: PlansTraits): void {
    const ways = remedies.flatMap((words, i) => {
      const link = h("button.way", { type: "button", title: "Show this plan" }, words);
      listen(link, "click", () => this.#ask({ kind: "remedy", remedy: i }));
      return [i ? " or " : ". It fits with ", link];
    });
    this.#said.replaceChildren(refused || said, ...ways);
    this.#said.classList.toggle("bad", refused !== "");
    const sums = stages.map((stage) => stage.parts.reduce((all, [, size]) => all + size, 0));
    const most = Math.max(...sums, ...stages.map((stage) => stage.capacity ?? 0), 1);
    const bars = stages.map((stage, i) => {
      const bar = memoryBar(stage, most);
      if (stage.capacity !== null) {
        const line = h("i.capacity", { title: `capacity ${bytes(stage.capacity)}` });
        line.style.left = `${(100 * stage.capacity) / most}%`;
        bar.append(line);
      }
      return h(
        "div.stage",
        { "data-stage": i },
        h("span.name", {}, stage.name),
        bar,
        h(stage.lacks ? "span.value.bad" : "span.value", { title: used(stage) }, bytes(sums[i]!)),
      );
    });
    this.#bars.replaceChildren(...bars);
    const lacking = bars[stages.findIndex((stage) => stage.lacks)];
    this.#bars.scrollTop = lacking ? lacking.offsetTop - bars[0]!.offsetTop : 0; // where not all are seen, those that matter
    this.#legend.replaceChildren(...memoryLegend(stages[0]?.parts ?? []), ...room(stages));
  }

  #drawRows(rows: readonly Row[]): void {
    const focused = this.#focused(this.#body);
    this.#body.replaceChildren(
      ...rows.map((row, i) => {
        const known = [
          row.more,
          row.seconds === null ? "" : seconds(row.seconds),
          row.mfu === null ? "" : percent(row.mfu),
          row.bubble === null ? "" : percent(row.bubble),
        ].map((cell) => h("td", { role: "gridcell" }, cell));
        const cells = [
          h("td", { role: "gridcell" }, row.kept ? `◈ ${row.degrees}` : row.degrees),
          h("td", { role: "gridcell" }, row.schedule),
          ...(row.why ? [h("td.why", { role: "gridcell", colspan: known.length }, `✗ ${row.why}`)] : known),
          h("td", { role: "gridcell" }, row.memory === null ? "" : bytes(row.memory)),
        ];
        return h(
          row.why ? "tr.refused" : "tr",
          {
            tabindex: i === Math.max(focused, 0) ? 0 : -1,
            "aria-selected": String(row.shown),
            title: row.why || row.more,
            "data-row": i,
          },
          ...cells,
        );
      }),
    );
    this.#listen(this.#body, rows.length, 1, (i) => i);
    if (focused >= 0) (this.#body.children[focused] as HTMLElement | undefined)?.focus();
  }

  #drawPlane({ x, y, cells }: Plane): void {
    const focused = this.#focused(this.#cells);
    const all = cells.flat().flatMap((cell) => (cell.seconds === null ? [] : [cell.seconds]));
    const least = Math.min(...all);
    const run = x.map((_, column) => cells.some((row) => row[column]!.seconds !== null));
    const widths = run.map((any) => (any ? "minmax(var(--least), 1fr)" : "minmax(39px, 0.3fr)")); // crosses need less
    this.#cells.style.gridTemplateColumns = ["auto", ...widths].join(" ");
    const heads = x.map((name) => h("span", {}, name));
    const flat = cells.flat();
    const parts = y.flatMap((name, row) => [
      h("span", {}, name),
      ...cells[row]!.map((cell, column) => this.#cell(cell, row * x.length + column, all, least, Math.max(focused, 0))),
    ]);
    this.#cells.replaceChildren(h("span"), ...heads, ...parts);
    this.#listen(this.#cells, y.length, x.length, (i) => flat[i]!.row);
    if (focused >= 0) this.#buttons(this.#cells)[focused]?.focus();
  }

  #cell(cell: Cell, i: number, all: readonly number[], least: number, focus: number): HTMLElement {
    const found = h(
      "button",
      {
        type: "button",
        tabindex: i === focus ? 0 : -1,
        "aria-pressed": String(cell.shown),
        title: cell.why,
        disabled: cell.row < 0,
        "data-row": i,
      },
      ...(cell.seconds === null
        ? [cell.text]
        : [
            cell.seconds === least ? h("span.star", {}, "★ ") : "",
            h("b", {}, seconds(cell.seconds)),
            h("span.and", {}, " · "),
            h("span", {}, cell.text),
          ]),
    );
    if (cell.seconds !== null) found.style.setProperty("--share", `${20 + 65 * shade(cell.seconds, all)}%`);
    return found;
  }

  /** Lets a click, Enter and arrow keys choose one of the elements with a number. */
  #listen(within: HTMLElement, rows: number, columns: number, rowOf: (i: number) => number): void {
    const all = this.#buttons(within);
    all.forEach((element, i) => {
      listen(element, "click", () => this.#ask({ kind: "plan", row: rowOf(i) }));
      listen(element, "keydown", (event) => {
        const to = stepped(i, event.key, rows, columns);
        if (event.key === "Enter" && element.tagName !== "BUTTON") this.#ask({ kind: "plan", row: rowOf(i) });
        else if (event.key.toLowerCase() === "k" && !event.ctrlKey && !event.metaKey)
          this.#ask({ kind: "keep", row: rowOf(i) });
        else if (to === i) return;
        else {
          element.tabIndex = -1;
          all[to]!.tabIndex = 0;
          all[to]!.focus();
        }
        event.preventDefault();
        event.stopPropagation();
      });
    });
  }

  #buttons(within: HTMLElement): HTMLElement[] {
    return [...within.querySelectorAll<HTMLElement>("[data-row]")];
  }

  /** Number of the element that has the focus; -1 for none. */
  #focused(within: HTMLElement): number {
    const root = within.getRootNode() as Document | ShadowRoot;
    return this.#buttons(within).indexOf(root.activeElement as HTMLElement);
  }
}

/** What the line across the bars stands for. */
function room(stages: readonly Stage[]): HTMLElement[] {
  const given = stages.flatMap(({ capacity }) => (capacity === null ? [] : [capacity]));
  if (!given.length) return [];
  const [least, most] = [bytes(Math.min(...given)), bytes(Math.max(...given))];
  return [h("span.room", {}, h("i"), least === most ? `capacity ${most}` : `capacity ${least} to ${most}`)];
}
