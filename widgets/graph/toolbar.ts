/** The line above the picture: what colours mean, search, pins, zoom. */
import { h, listen, set } from "../shared/dom.ts";
import { count } from "../shared/format.ts";
import { type Icon, icon } from "../shared/icons.ts";
import { COLOUR_NAMES, COLOURS, type Legend } from "./colours.ts";
import { type Action, KEY_HELP } from "./keyboard.ts";

export interface Toolbar {
  readonly element: HTMLElement;
  readonly search: HTMLInputElement;
  showColour(colour: string, legend: Legend[]): void;
  /** `at`: which of the `found` was jumped to, from 1; 0 for none. */
  showFound(found: number, at: number): void;
  showPins(ops: number): void;
}

export interface ToolbarEvents {
  colour(name: string): void;
  find(text: string): void;
  /** To the next (1) or previous (-1) op found. */
  jump(step: 1 | -1): void;
  leave(): void;
  pins(button: HTMLElement): void;
  act(action: Action): void;
}

export function toolbar(on: ToolbarEvents): Toolbar {
  const colour = h("select", { title: "Colour of the boxes", "aria-label": "Colour" });
  colour.append(...COLOURS.map((name) => h("option", { value: name }, COLOUR_NAMES[name] ?? name)));
  listen(colour, "change", () => on.colour(colour.value));
  const legend = h("div.legend");
  let explained = "";
  const search = h("input.search", {
    type: "search",
    placeholder: "find…",
    "aria-label": "Find ops by name or kind",
    spellcheck: "false",
  });
  const found = h("span.found", { role: "status" });
  listen(search, "input", () => on.find(search.value));
  listen(search, "keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") on.jump(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") on.leave();
    else return;
    event.preventDefault();
  });
  const pins = h("button.pins", { type: "button", hidden: true, "aria-haspopup": "menu" });
  listen(pins, "click", () => on.pins(pins));
  const act = (name: Icon, label: string, action: Action) => {
    const button = h(
      "button.icon",
      { type: "button", title: label, "aria-label": label.replace(/ \(.*\)$/, "") },
      icon(name),
    );
    listen(button, "click", () => on.act(action));
    return button;
  };
  const help = h("span.help", { title: KEY_HELP, role: "img", "aria-label": `Keys: ${KEY_HELP}` }, "?");
  const element = h(
    "div.toolbar",
    { role: "group", "aria-label": "Model graph" },
    colour,
    legend,
    pins,
    search,
    found,
    act("minus", "Zoom out (−)", "zoom-out"),
    act("plus", "Zoom in (+)", "zoom-in"),
    act("fit", "Show all (0)", "fit"),
    help,
  );
  return {
    element,
    search,
    showColour(name, items) {
      colour.value = name;
      const written = JSON.stringify(items);
      if (written === explained) return; // a new legend would take its title from under the pointer
      explained = written;
      const made = items.map(({ colour, text }) => {
        const swatch = h("i.swatch");
        swatch.style.background = colour;
        return h("span", {}, swatch, text);
      });
      legend.replaceChildren(...made);
      legend.classList.toggle(
        "ramp",
        items.some(({ text }) => !text),
      );
      legend.title = items
        .map(({ text }) => text)
        .filter(Boolean)
        .join(", ");
    },
    showFound(n, at) {
      const none = search.value.trim() ? "none" : "";
      found.textContent = n ? (at ? `${count(at)} of ${count(n)}` : count(n)) : none;
    },
    showPins(ops) {
      pins.hidden = !ops;
      pins.textContent = `${count(ops)} pinned`;
      set(pins, { title: "What is pinned to which device", "aria-label": `${count(ops)} ops pinned` });
    },
  };
}
