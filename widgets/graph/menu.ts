/** A list of choices beside a box, or below a button: devices to pin to, what is pinned. */
import { h, listen } from "../shared/dom.ts";

export interface Choice {
  readonly text: string;
  /** Colour of a swatch before the text. */
  readonly colour?: string;
  act(): void;
}

export interface Menu {
  readonly element: HTMLElement;
  readonly open: boolean;
  show(title: string, choices: Choice[], x: number, y: number): void;
  close(): void;
}

/** `closed` is called when the menu has been closed by a choice, a key or a click elsewhere. */
export function menu(closed: () => void, signal: AbortSignal): Menu {
  const element = h("div.menu", { role: "menu", hidden: true, tabindex: -1 });
  const items = () => [...element.querySelectorAll<HTMLElement>("[role=menuitem]")];
  const close = () => {
    if (element.hidden) return;
    element.hidden = true;
    closed();
  };
  listen(
    element,
    "keydown",
    (event) => {
      const all = items();
      const at = all.indexOf(document.activeElement as HTMLElement);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
      if (to !== undefined) all[(to + all.length) % all.length]?.focus();
      else if (event.key === "Escape" || event.key === "Tab") close();
      else return event.key === "Enter" || event.key === " " ? event.stopPropagation() : undefined;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  listen(document, "pointerdown", (event) => element.contains(event.target as Node) || close(), {
    signal,
    capture: true,
  });
  return {
    element,
    get open() {
      return !element.hidden;
    },
    show(title, choices, x, y) {
      const made = choices.map(({ text, colour, act }) => {
        const swatch = h("i.swatch");
        if (colour) swatch.style.background = colour;
        const item = h("button", { type: "button", role: "menuitem", tabindex: -1 }, ...(colour ? [swatch] : []), text);
        listen(item, "click", () => {
          close();
          act();
        });
        return item;
      });
      element.replaceChildren(h("b", {}, title), ...made);
      element.setAttribute("aria-label", title);
      element.hidden = false;
      const room = element.offsetParent ?? element.parentElement!;
      element.style.left = `${Math.max(0, Math.min(x, room.clientWidth - element.offsetWidth - 4))}px`;
      element.style.top = `${Math.max(0, Math.min(y, room.clientHeight - element.offsetHeight - 4))}px`;
      (items()[0] ?? element).focus();
    },
    close,
  };
}
