/** The meaning of the colours and patterns that the schedule on show contains. */
import { h, listen } from "../../shared/dom.ts";
import { IDLE_LOOK, IDLE_TEXT, isAwaited, MEANING, TRANSFER } from "../scene/colours.ts";
import { CRITICAL, IDLE_REASONS } from "../wire/decode.ts";
import type { Board } from "./board.ts";

/** Selects ops, by number, that are to move together, as what they are. */
export type Gather = (name: string, ops: readonly number[]) => void;

/** Fills `box` with the legend of what `board` shows; where bars are moved by hand, a click on a colour gathers its ops. */
export function showLegend(box: HTMLElement, board: Board, gather: Gather): void {
  if (!board.chart) return;
  const { chart, look, colours, memory } = board;
  const { columns } = chart;
  const present = new Set(colours.index);
  const items = colours.names.flatMap((name, i) => (name && present.has(i) ? [ofColour(i, name, board, gather)] : []));
  if (columns.nTransfers) items.push(item(swatch(look.barCss[TRANSFER]!), MEANING.transfer));
  if (columns.critical.kind.length) items.push(item(h("i.swatch.underline"), MEANING.critical));
  const has = (kind: number) => columns.critical.kind.includes(kind);
  if (has(CRITICAL.wait)) items.push(item(h("i.swatch.waiting"), MEANING.waits));
  const reasons = new Set(columns.idle.reason);
  IDLE_REASONS.forEach((reason, i) => {
    if (!reasons.has(i) || !isAwaited(reason)) return;
    const box = h("i", { class: `swatch ${IDLE_LOOK[reason].pattern}` });
    box.style.setProperty("--pl-mark", IDLE_LOOK[reason].colour);
    items.push(item(box, `idle: ${IDLE_TEXT[reason]}`));
  });
  if (board.kept) items.push(item(h("i.swatch.kept"), MEANING.kept));
  if (board.laned) items.push(item(h("i.swatch.usage"), MEANING.memory));
  if (memory?.short.start.length) items.push(item(h("i.swatch.short"), MEANING.short));
  if (board.merged) items.push(item(h("i.swatch.merged"), MEANING.merged));
  if (board.picked >= 0 && columns.nTransfers)
    items.push(item(h("i.swatch.incoming"), "inputs of the selected op; its outputs undashed"));
  box.replaceChildren(...items);
}

/** The colour of some ops, and what that means. */
function ofColour(index: number, name: string, { look, colours, placing }: Board, gather: Gather): HTMLElement {
  const box = swatch(look.barCss[index]!);
  if (!placing) return item(box, name);
  const button = h("button", { type: "button", title: `Let the ops of ${name} move together` }, box, name);
  listen(button, "click", () => {
    gather(
      name,
      Array.from(colours.index.keys()).filter((op) => colours.index[op] === index),
    );
  });
  return button;
}

function swatch(colour: string): HTMLElement {
  const box = h("i.swatch");
  box.style.background = colour;
  return box;
}

function item(box: HTMLElement, text: string): HTMLElement {
  return h("span", {}, box, text);
}
