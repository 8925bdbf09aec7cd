/** The tray above the chart: ops that wait to be placed one by one, those first that can be. */

import type { Way } from "../../shared/commands.ts";
import { h, listen, set } from "../../shared/dom.ts";
import { count as grouped } from "../../shared/format.ts";
import type { Waiting } from "../wire/traits.ts";

export interface Tray {
  readonly element: HTMLElement;
  /** `more`: how many others wait that are not listed. */
  show(waiting: readonly Waiting[], more: number): void;
  /** Shows the tray if anything waits in it. */
  reveal(shown: boolean): void;
}

/** What is done with a chip. Places are those of the pointer's event. */
export interface TrayEvents {
  /** An op is looked at: where would it run? */
  look(op: number): void;
  take(op: number): void;
  carry(event: PointerEvent): void;
  drop(event: PointerEvent): void;
  putBack(): void;
  move(op: number, way: Way): void;
  give(what: "set" | "return"): void;
  say(text: string): void;
}

const CLICK = 4; // pixels a click may slip
const WAYS: Record<string, Way> = { ArrowUp: "up", ArrowDown: "down" };

export function tray(on: TrayEvents): Tray {
  const count = h("span.count");
  const chips = h("div.chips", {
    role: "listbox",
    "aria-label": "Ops that wait to be placed",
    "aria-orientation": "horizontal",
  });
  const element = h(
    "div.tray",
    { hidden: true, role: "group", "aria-label": "Tray" },
    h("span.name", {}, "Tray", count),
    chips,
  );
  let waiting: readonly Waiting[] = [];
  let wanted = false;
  let shown = "";
  const show = () => {
    element.hidden = !wanted || !waiting.length;
  };
  return {
    element,
    reveal(shown) {
      wanted = shown;
      show();
    },
    show(given, more) {
      const text = JSON.stringify([given, more]);
      if (text === shown) return; // a chip keeps focus and pointer
      shown = text;
      const inside = element.contains(document.activeElement);
      waiting = given;
      const all = given.length + more;
      const ready = given.filter((each) => each.ready).length;
      const least = more && ready === given.length ? "at least " : ""; // those that can be placed are listed first
      count.textContent = `${grouped(all)} op${all === 1 ? "" : "s"} · ${least}${ready} ready`;
      chips.replaceChildren(...given.map((each, i) => chip(each, i === 0, on)));
      show();
      if (inside) (chips.firstElementChild as HTMLElement | null)?.focus();
    },
  };
}

function chip({ op, name, ready, said }: Waiting, first: boolean, on: TrayEvents): HTMLElement {
  const label = name.split("/").at(-1)!;
  const element = h(
    "button.op",
    {
      ...{
        type: "button",
        role: "option",
        tabindex: first ? 0 : -1,
        "data-ready": String(ready),
        title: `${name}: ${said}`,
      },
      ...{ "aria-selected": "false", "aria-disabled": String(!ready), "aria-label": `${name}, ${said}` },
    },
    h("b", {}, label),
    h("span", {}, said),
  );
  const dropped = ready ? draggable(element, op, on) : () => false;
  const tell = () => (ready ? on.look(op) : on.say(`${name} ${said}`));
  listen(element, "focus", tell);
  listen(element, "click", () => dropped() || tell());
  listen(element, "blur", () => on.putBack());
  listen(element, "keydown", (event) => {
    const way = WAYS[event.key];
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const next = event.key === "ArrowRight" ? element.nextElementSibling : element.previousElementSibling;
      (next as HTMLElement | null)?.focus();
      if (next) set(element, { tabindex: -1 });
      if (next) set(next as HTMLElement, { tabindex: 0 });
    } else if (way && ready) on.move(op, way);
    else if (event.key === "Enter" && ready) on.give("set");
    else if (event.key === "Escape") on.give("return");
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return element;
}

/** Lets a chip be dragged; what is returned says whether the click is the end of a drag. */
function draggable(element: HTMLElement, op: number, on: TrayEvents): () => boolean {
  let from: readonly [number, number] | null = null;
  let moved = false;
  listen(element, "pointerdown", (event) => {
    if (event.button !== 0) return;
    from = [event.clientX, event.clientY];
    moved = false;
    element.setPointerCapture(event.pointerId);
  });
  listen(element, "pointermove", (event) => {
    if (!from) return;
    if (!moved && Math.hypot(event.clientX - from[0], event.clientY - from[1]) < CLICK) return;
    if (!moved) on.take(op);
    moved = true;
    on.carry(event);
  });
  listen(element, "pointerup", (event) => {
    if (moved) on.drop(event);
    from = null;
  });
  listen(element, "pointercancel", () => {
    if (moved) on.putBack();
    from = null;
  });
  return () => {
    const was = moved;
    moved = false;
    return was;
  };
}
