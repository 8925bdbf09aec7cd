/** SVG elements, written shortly. Text only ever enters through `textContent`. */
const NS = "http://www.w3.org/2000/svg";

type Attributes = Record<string, string | number | undefined>;

export function s<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: (Node | string)[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS(NS, tag);
  set(element, attributes);
  element.append(...children);
  return element;
}

export function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, String(value));
  }
}

let context: CanvasRenderingContext2D | null = null;

/** Width of a text in pixels. */
export function textWidth(text: string, font = "11px sans-serif"): number {
  context ??= document.createElement("canvas").getContext("2d")!;
  context.font = font;
  return context.measureText(text).width;
}

/** `text`, shortened in the middle with "…" so that it is at most `width` pixels wide: both ends of a device's name tell. */
export function fitted(text: string, width: number, font: string): string {
  if (textWidth(text, font) <= width) return text;
  for (let keep = text.length - 1; keep > 2; keep--) {
    const head = Math.ceil(keep / 3);
    const short = `${text.slice(0, head)}…${text.slice(text.length - keep + head)}`;
    if (textWidth(short, font) <= width) return short;
  }
  return "…";
}
