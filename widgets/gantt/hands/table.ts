/** The schedule as a table, an alternative to the chart. Pages of rows, by start time. */
import { h, listen } from "../../shared/dom.ts";
import { count } from "../../shared/format.ts";
import { type Chart, deviceOf, type Labels, nameOf } from "../scene/scene.ts";
import type { Memory } from "../wire/memory.ts";

export const PAGE = 100;

export interface Table {
  readonly element: HTMLElement;
  /** Shows the page that holds the op `selection`, or stays on its page. */
  show(chart: Chart, labels: Labels, selection: number, memory: Memory | null): void;
}

export function table(select: (op: number) => void): Table {
  const body = h("tbody");
  const where = h("span", { role: "status" });
  const back = h("button", { type: "button" }, "Earlier");
  const forth = h("button", { type: "button" }, "Later");
  const head = h("thead", {}, titles("op", "device", "start", "finish", "takes", "critical"));
  const pages = h("div.pages", {}, back, where, forth);
  const usage = h("table");
  const element = h("div.table", { hidden: true }, pages, usage, h("table", {}, head, body));
  let page = 0;
  let again = () => {};
  const turn = (by: number) => () => {
    page += by;
    again();
  };
  listen(back, "click", turn(-1));
  listen(forth, "click", turn(1));
  return {
    element,
    show(chart, labels, selection, memory) {
      usage.replaceChildren(...(memory && memory.peak[0]! >= 0 ? peaks(memory, labels) : []));
      const ops = chart.bars.order.filter((bar) => bar < chart.bars.nOps);
      if (selection >= 0) page = Math.floor(ops.indexOf(selection) / PAGE);
      const critical = new Set(chart.columns.critical.row.filter((_, i) => chart.columns.critical.kind[i] === 0));
      again = () => {
        page = Math.min(Math.max(page, 0), Math.max(0, Math.ceil(ops.length / PAGE) - 1));
        const shown = ops.subarray(page * PAGE, (page + 1) * PAGE);
        back.disabled = page === 0;
        forth.disabled = (page + 1) * PAGE >= ops.length;
        where.textContent = ops.length
          ? `ops ${count(page * PAGE + 1)} to ${count(page * PAGE + shown.length)} of ${count(ops.length)}, by start`
          : "no ops";
        body.replaceChildren(
          ...Array.from(shown, (op) => row(chart, labels, op, op === selection, critical.has(op), select)),
        );
      };
      again();
    },
  };
}

function titles(...texts: string[]): HTMLElement {
  return h("tr", {}, ...texts.map((text) => h("th", { scope: "col" }, text)));
}

function cells(texts: string[]): HTMLElement[] {
  return texts.map((text) => h("td", {}, text));
}

/** Peak memory of each device against its capacity. */
function peaks({ peak, capacity, short }: Memory, labels: Labels): HTMLElement[] {
  const rows = Array.from(peak, (most, d) => {
    const lacking = short.bytes.filter((_, i) => short.device[i] === d);
    const lacks = lacking.length ? `${labels.units.bytes(Math.max(...lacking))} short, ${count(lacking.length)} ×` : "";
    return h(
      "tr",
      {},
      ...cells([deviceOf(labels, d), labels.units.bytes(most), labels.units.bytes(capacity[d]!), lacks]),
    );
  });
  return [titles("device", "peak memory", "capacity", "out of memory"), ...rows];
}

function row(
  chart: Chart,
  labels: Labels,
  op: number,
  selected: boolean,
  critical: boolean,
  select: (op: number) => void,
): HTMLElement {
  const { bars, columns } = chart;
  const name = h("button", { type: "button" }, nameOf(labels, op));
  listen(name, "click", () => select(op));
  const texts = [
    deviceOf(labels, columns.ops.device[op]!),
    labels.units.time(bars.start[op]!, 4),
    labels.units.time(bars.finish[op]!, 4),
    labels.units.time(columns.ops.duration[op]!),
    critical ? "yes" : "",
  ];
  return h("tr", { "aria-selected": selected }, h("td", {}, name), ...cells(texts));
}
