/** Measure and shorten texts in SVG. */
export { s, set, write } from "../shared/dom.ts";

let context: CanvasRenderingContext2D | null = null;

/** Width of a text in pixels. */
export function textWidth(text: string, font = "11px sans-serif"): number {
  context ??= document.createElement("canvas").getContext("2d")!;
  context.font = font;
  return context.measureText(text).width;
}

/**
 * `text`, shortened in the middle with "…" so that it is at most `width` pixels wide: both ends of a device's name are telling, of one
 * with a part, as "worker:2/stream", the last.
 */
export function fitted(text: string, width: number, font: string): string {
  if (textWidth(text, font) <= width) return text;
  for (let keep = text.length - 1; keep > 2; keep--) {
    const head = text.includes("/") ? 0 : Math.ceil(keep / 3);
    const short = `${text.slice(0, head)}…${text.slice(text.length - keep + head)}`;
    if (textWidth(short, font) <= width) return short;
  }
  return "…";
}
