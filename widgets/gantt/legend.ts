/** What the colours and patterns mean; only what the schedule on show contains. */
import { h } from "../shared/dom.js";
import { IDLE_REASONS, type Columns } from "./decode.js";
import { IDLE_LOOK, type Paint } from "./paint.js";

/** Fills `box` with the legend of `columns`. */
export function showLegend(box: HTMLElement, columns: Columns, paint: Paint, kinds: Uint8Array, names: readonly string[], merged: boolean): void {
  const present = new Set(kinds);
  const items = names.flatMap((name, i) => (present.has(i) ? [item(swatch(paint.barCss[i]!), name)] : []));
  if (columns.nTransfers) items.push(item(swatch(paint.barCss[paint.barCss.length - 1]!), "transfer"));
  if (columns.critical.kind.length) items.push(item(h("i", { class: "swatch underline" }), "critical path"));
  const reasons = new Set(columns.idle.reason);
  IDLE_REASONS.forEach((reason, i) => {
    if (!reasons.has(i) || reason === "end") return;
    const box = h("i", { class: `swatch ${IDLE_LOOK[reason].pattern}` });
    box.style.setProperty("--pl-mark", IDLE_LOOK[reason].colour);
    items.push(item(box, `idle: ${IDLE_LOOK[reason].text}`));
  });
  if (merged) items.push(item(h("i", { class: "swatch merged" }), "merged: height = busy share of the column"));
  box.replaceChildren(...items);
}

function swatch(colour: string): HTMLElement {
  const box = h("i", { class: "swatch" });
  box.style.background = colour;
  return box;
}

function item(box: HTMLElement, text: string): HTMLElement {
  return h("span", {}, box, text);
}
