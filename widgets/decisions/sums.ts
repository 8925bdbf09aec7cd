/** How the rank of one op adds up: its own part, and the successor that decides. */
import { h, listen } from "../shared/dom.ts";
import { seconds } from "../shared/format.ts";
import { align } from "./digits.ts";
import type { RankRow } from "./page.ts";

/** A number in its unit. */
export function amount(value: number, unit: string): string {
  return unit === "s" ? seconds(value, 4) : `${Number(value.toPrecision(4))}${unit ? ` ${unit}` : ""}`;
}

/** "rank(b) = 2 s own + 4 s transfer + 3 s rank(c) = 9 s", or of an exit "rank(c) = 3 s, its own alone: an exit". */
export function equation(row: RankRow, unit: string): string {
  const say = (value: number) => amount(value, unit);
  const [decides] = row.terms;
  if (!decides) return `rank(${row.name}) = ${say(row.rank)}, its own alone: an exit`;
  const way = decides.way > 0 ? ` + ${say(decides.way)} transfer` : "";
  return `rank(${row.name}) = ${say(row.own)} own${way} + ${say(decides.rank)} rank(${decides.name}) = ${say(row.rank)}`;
}

/** The terms of an op: a row for each successor, the deciding one marked; a click goes there. */
export function sums(row: RankRow, unit: string, go: (op: number) => void): HTMLElement {
  const through = row.terms.map(({ way, rank }) => way + rank);
  const written = align(through, 0, unit);
  const largest = Math.max(...through, 0) || 1;
  const list = h("ol.candidates", { "aria-label": "Successors" });
  row.terms.forEach((term, i) => {
    const { same, differs, unit: name } = written[i]!;
    const share = (value: number) => (100 * value) / largest;
    const button = h("button.device", { type: "button", title: `Go to ${term.name}` }, term.name);
    listen(button, "click", () => go(term.op));
    list.append(
      h(
        "li",
        { "data-chosen": i === 0 },
        h("span.mark", {}, i === 0 ? "✓" : ""),
        button,
        h(
          "span.bar",
          { title: `transfer ${amount(term.way, unit)}, then rank ${amount(term.rank, unit)}` },
          h("i.way", { style: `left:0;width:${share(term.way)}%` }),
          h("i", { style: `left:${share(term.way)}%;width:${share(term.rank)}%` }),
        ),
        h("span.score", {}, same, h("b", {}, differs), h("small", {}, ` ${name}`)),
      ),
    );
  });
  if (row.more) list.append(h("li.passed", {}, `${row.more} more successors of shorter paths`));
  return list;
}
