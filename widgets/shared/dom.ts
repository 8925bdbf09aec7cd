/** Create elements in short form. Text only enters through `textContent`, so that a hostile op name stays text. */

type Attributes = Record<string, string | number | boolean | undefined>;
/** "div.x.y" names an element of class x and y. */
type Tag<S extends string> = S extends `${infer T}.${string}` ? T : S;
type Html<S extends string> = Tag<S> extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Tag<S>] : never;
type Svg<S extends string> = Tag<S> extends keyof SVGElementTagNameMap ? SVGElementTagNameMap[Tag<S>] : never;

/** An element of HTML: `h("button.x", {title: "y"}, "text", child)`. */
export function h<S extends string>(tag: S, attributes?: Attributes, ...children: (Node | string)[]): Html<S> {
  return made("1999/xhtml", tag, attributes, children) as Html<S>;
}

/** An element of SVG. */
export function s<S extends string>(tag: S, attributes?: Attributes, ...children: (Node | string)[]): Svg<S> {
  return made("2000/svg", tag, attributes, children) as Svg<S>;
}

function made(namespace: string, tag: string, attributes: Attributes = {}, children: (Node | string)[]): Element {
  const [name, ...classes] = tag.split(".");
  const element = document.createElementNS(`http://www.w3.org/${namespace}`, name!);
  if (classes.length) set(element, { class: classes.join(" ") });
  set(element, attributes);
  element.append(...children); // strings become text nodes
  return element;
}

/** Sets attributes; one that is undefined or false is taken away. One that is the same is left: a browser lays SVG out again. */
export function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    const text = value === true ? "" : String(value);
    if (value === undefined || value === false) element.removeAttribute(name);
    else if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** Sets the text of an element, unless it is the same. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** `addEventListener`, for elements of HTML and SVG alike. */
export function listen<E extends keyof HTMLElementEventMap>(
  target: EventTarget,
  type: E,
  handle: (event: HTMLElementEventMap[E]) => unknown,
  options?: AddEventListenerOptions,
): void {
  target.addEventListener(type, handle as (event: Event) => unknown, options);
}

/** The shared and the view's own style, as an element that the view puts into its root. */
export function style(...sheets: string[]): HTMLStyleElement {
  const element = document.createElement("style");
  element.nonce = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? ""; // a page with a strict policy accepts only styles with its nonce
  element.textContent = sheets.join("\n");
  return element;
}
