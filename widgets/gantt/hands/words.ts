/** The chart's texts: warning, legend, the line for screen readers, the explanation of the selected op. */
import { h, write } from "../../shared/dom.ts";
import { KEY_HELP } from "./keyboard.ts";

export interface Words {
  readonly warning: HTMLElement;
  readonly legend: HTMLElement;
  readonly status: HTMLElement;
  readonly detail: HTMLElement;
  /** The row of status and detail. Where a height is given, one of them is seen, and the button opens the legend. */
  readonly foot: HTMLElement;
  readonly more: HTMLButtonElement;
  /** The button that opens the drawer. */
  readonly opens: HTMLButtonElement;
  /** What keys and pointer do. */
  readonly keys: HTMLElement;
}

export function words(): Words {
  const status = h("div.status", { role: "status", "aria-live": "polite" });
  const detail = h("div.detail", { hidden: true });
  const more = h("button.more", { type: "button", "aria-expanded": "false" }, "legend");
  const opens = h(
    "button.opens",
    { type: "button", "aria-expanded": "false", title: "Facts, why here, why then (i)" },
    "details",
  );
  const help = KEY_HELP.split(" · ").map((line) => h("li", {}, line));
  return {
    warning: h("div.warning", { role: "status", hidden: true }),
    legend: h("div.legend", { role: "group", "aria-label": "Legend" }),
    ...{ status, detail, more, opens },
    foot: h("div.foot", {}, h("div.said", {}, status, detail), opens, more),
    keys: h("ul.keys", { hidden: true }, ...help),
  };
}

/** Sets the text of `element` and hides it when there is none. */
export function say(element: HTMLElement, text: string): void {
  write(element, text);
  element.hidden = text === "";
}
