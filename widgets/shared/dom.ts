/** Elements, written shortly. Text only ever enters through `textContent`, so that a hostile op name stays text. */

/** `h("button", {class: "x", title: "y"}, "text", child)`; an undefined or false attribute is left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number | boolean | undefined> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children); // strings become text nodes
  return element;
}

/** The shared and the view's own style, as an element that the view puts into its root. */
export function style(...sheets: string[]): HTMLStyleElement {
  const element = document.createElement("style");
  element.nonce = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? ""; // a strict page lets in only styles that know it
  element.textContent = sheets.join("\n");
  return element;
}
