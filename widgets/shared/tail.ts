import { h } from "./dom.ts";

/**
 * An element of class `tail` that shows the end of a text where there is no room for all of it: names of ops differ at their ends.
 * Its style is in the style sheets of those who have one.
 */
export function tail(tag: "b" | "span" | "td.name", text: string, title?: string): HTMLElement {
  return h(`${tag}.tail`, { title }, h("bdi", { dir: "ltr" }, text)) as HTMLElement;
}
