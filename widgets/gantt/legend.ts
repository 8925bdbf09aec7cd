/** The meaning of the colours and patterns that the schedule on show contains. */
import { h } from "../shared/dom.js";
import { CRITICAL, IDLE_REASONS, type Columns } from "./decode.js";
import { IDLE_LOOK, IDLE_TEXT, TRANSFER, type Paint } from "./paint.js";
import type { Labels } from "./scene.js";

/** Fills `box` with the legend of `columns`. */
export function showLegend(
  box: HTMLElement,
  columns: Columns,
  labels: Labels,
  paint: Paint,
  merged: boolean,
  lanes: boolean,
  short: boolean,
): void {
  const present = new Set(labels.kinds);
  const items = labels.kindNames.flatMap((name, i) => (present.has(i) ? [item(swatch(paint.barCss[i]!), name)] : []));
  if (columns.nTransfers) items.push(item(swatch(paint.barCss[TRANSFER]!), "transfer"));
  if (columns.critical.kind.length) items.push(item(h("i.swatch.underline"), "critical path"));
  const has = (kind: number) => columns.critical.kind.includes(kind);
  if (has(CRITICAL.wait)) items.push(item(h("i.swatch.waiting"), "critical path waits in line"));
  const reasons = new Set(columns.idle.reason);
  IDLE_REASONS.forEach((reason, i) => {
    if (!reasons.has(i) || reason === "end") return;
    const box = h("i", { class: `swatch ${IDLE_LOOK[reason].pattern}` });
    box.style.setProperty("--pl-mark", IDLE_LOOK[reason].colour);
    items.push(item(box, `idle: ${IDLE_TEXT[reason]}`));
  });
  if (lanes) items.push(item(h("i.swatch.usage"), "memory in use, and its capacity"));
  if (short) items.push(item(h("i.swatch.short"), "out of memory"));
  if (merged) items.push(item(h("i.swatch.merged"), "merged: height shows the busy share"));
  box.replaceChildren(...items);
}

function swatch(colour: string): HTMLElement {
  const box = h("i.swatch");
  box.style.background = colour;
  return box;
}

function item(box: HTMLElement, text: string): HTMLElement {
  return h("span", {}, box, text);
}
