/** A windowed list: of any number of rows only those in sight are elements. */
import { h, listen, set } from "../shared/dom.ts";
import { tail } from "../shared/tail.ts";

export const ROW = 20; // CSS pixels
const AROUND = 4; // rows drawn above and below those in sight

export interface List {
  readonly element: HTMLElement;
  /** The first row in sight or just around, and the one after the last. */
  readonly range: () => [number, number];
  show(rows: Rows): void;
  /** Scrolls until `row` is in sight. */
  reveal(row: number): void;
  dispose(): void;
}

export interface Rows {
  readonly count: number;
  readonly current: number;
  readonly label: string;
  /** The cells of a row; undefined while they are not known. */
  readonly cells: (row: number) => readonly string[] | undefined;
  /** Rows to be marked, and the word for it. */
  readonly marks: ReadonlyMap<number, string>;
}

export function list(on: { choose(row: number): void; scrolled(): void }): List {
  const body = h("div.rows");
  const element = h("div.list", { role: "listbox", tabindex: "0" }, body);
  const id = `pl-decision-${Math.random().toString(36).slice(2)}`;
  let shown: Rows = { count: 0, current: -1, label: "", cells: () => undefined, marks: new Map() };

  const range = (): [number, number] => {
    const first = Math.floor(element.scrollTop / ROW) - AROUND;
    const last = Math.ceil((element.scrollTop + element.clientHeight) / ROW) + AROUND;
    return [Math.max(first, 0), Math.min(last, shown.count)];
  };
  const draw = () => {
    const [from, to] = range();
    body.style.height = `${ROW * shown.count}px`;
    body.replaceChildren(...Array.from({ length: Math.max(to - from, 0) }, (_, i) => row(from + i)));
    set(element, {
      "aria-label": shown.label,
      "aria-activedescendant": shown.current >= from && shown.current < to ? `${id}-${shown.current}` : undefined,
    });
  };
  const row = (i: number) => {
    const cells = shown.cells(i) ?? ["…"];
    const mark = shown.marks.get(i);
    return h(
      "div.row",
      {
        role: "option",
        id: `${id}-${i}`,
        "data-row": i,
        "data-mark": mark,
        title: [cells.slice(1).join("  "), mark].filter(Boolean).join(" – "),
        "aria-selected": String(i === shown.current),
        "aria-posinset": i + 1,
        "aria-setsize": shown.count,
        style: `top:${ROW * i}px`,
      },
      h("span", {}, String(i + 1)),
      ...cells.map((cell, column) => (column ? h("span", {}, cell) : tail("span", cell))),
    );
  };
  listen(element, "scroll", () => {
    draw();
    on.scrolled();
  });
  listen(element, "click", (event) => {
    const hit = (event.target as Element).closest<HTMLElement>("[data-row]");
    if (hit) on.choose(Number(hit.dataset.row));
  });
  const sized = new ResizeObserver(() => {
    draw();
    on.scrolled();
  });
  sized.observe(element);
  return {
    element,
    range,
    show(rows) {
      shown = rows;
      draw();
    },
    reveal(current) {
      const top = ROW * current;
      const { scrollTop, clientHeight } = element;
      if (top < scrollTop) element.scrollTop = top;
      else if (top + ROW > scrollTop + clientHeight) element.scrollTop = top + ROW - clientHeight;
    },
    dispose: () => sized.disconnect(),
  };
}
