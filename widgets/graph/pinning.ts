/** Drags a box onto a device: the card of the cluster's view in the same explorer. */
import { h } from "../shared/dom.ts";

const EXPLORER = ".placelab-explorer";

/** The card of a device at a point of the page, if it belongs to the explorer that `within` is in. */
export function cardAt(within: Element, x: number, y: number): Element | null {
  const explorer = within.closest(EXPLORER);
  for (const element of document.elementsFromPoint(x, y)) {
    const card = element.closest(".cluster [data-device]");
    if (card && card.closest(EXPLORER) === explorer) return card;
  }
  return null;
}

export interface Carry {
  move(x: number, y: number): void;
  /** Ends the drag; returns the device that the box was dropped on, -1 for none. */
  drop(): number;
}

/** Shows `text` beside the pointer, and the card below it as a target. */
export function carry(within: HTMLElement, text: string): Carry {
  const ghost = h("div.placelab.pl-graph-ghost", {}, text);
  ghost.dataset.theme = within.dataset.theme;
  document.body.append(ghost); // an output may be a coordinate system of its own
  let card: Element | null = null;
  const mark = (next: Element | null) => {
    if (next === card) return;
    card?.removeAttribute("data-drop");
    next?.setAttribute("data-drop", "true");
    card = next;
    ghost.dataset.over = String(next !== null);
  };
  return {
    move(x, y) {
      ghost.style.transform = `translate(${x + 12}px, ${y + 8}px)`;
      mark(cardAt(within, x, y));
    },
    drop() {
      const device = Number(card?.getAttribute("data-device") ?? -1);
      mark(null);
      ghost.remove();
      return device;
    },
  };
}
