/** The buttons above the drawing. */
import { h, listen } from "../shared/dom.ts";
import { s } from "./svg.ts";

const ICONS = {
  add: "M8 3v10M3 8h10",
  host: "M2.5 3.5h11v9h-11zM8 5.8v4.4M5.8 8h4.4",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  remove: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.7 9h5.6l.7-9",
  undo: "M6 3 3 6l3 3M3 6h6.5a3.5 3.5 0 0 1 0 7H6",
  redo: "M10 3l3 3-3 3M13 6H6.5a3.5 3.5 0 0 0 0 7H10",
  graph: "M2 3h4v4H2zM10 9h4v4h-4zM6 5h3.5a2.5 2.5 0 0 1 2.5 2.5V9",
  grid: "M2.5 2.5h11v11h-11zM2.5 6.2h11M2.5 9.8h11M6.2 2.5v11M9.8 2.5v11",
} as const;

export type Action = keyof typeof ICONS;

const BUTTONS: readonly (readonly [Action, string, string])[] = [
  ["add", "Device", "Add a device to the selected one's host, or to the last"],
  ["host", "Host", "Add a device on a host of its own"],
  ["copy", "Copy", "Copy the selected device with its links (Ctrl+D)"],
  ["remove", "Remove", "Remove the selected device (Delete)"],
  ["undo", "", "Undo (Ctrl+Z)"],
  ["redo", "", "Redo (Ctrl+Shift+Z)"],
  ["graph", "Links", "Draw hosts and their links"],
  ["grid", "Matrix", "Draw devices and the matrix of their links"],
];

export interface Toolbar {
  readonly element: HTMLElement;
  update(enabled: Partial<Record<Action, boolean>>, drawing: "graph" | "grid"): void;
}

export function toolbar(act: (action: Action) => void): Toolbar {
  const buttons = BUTTONS.map(([action, text, title]) => {
    const button = h(
      "button",
      { type: "button", title, "aria-label": title, "data-action": action },
      icon(action),
      text,
    );
    listen(button, "click", () => act(action));
    return [action, button] as const;
  });
  const group = (from: number, to: number) =>
    h("span.group", {}, ...buttons.slice(from, to).map(([, button]) => button));
  const element = h("div.toolbar", { role: "toolbar", "aria-label": "cluster" }, group(0, 4), group(4, 6), group(6, 8));
  return {
    element,
    update(enabled, drawing) {
      for (const [action, button] of buttons) {
        button.disabled = enabled[action] === false;
        if (action === "graph" || action === "grid") button.setAttribute("aria-pressed", String(action === drawing));
      }
    },
  };
}

function icon(action: Action): SVGSVGElement {
  return s(
    "svg",
    { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" },
    s("path", { d: ICONS[action] }),
  );
}
