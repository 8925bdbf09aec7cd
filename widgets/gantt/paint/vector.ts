/**
 * A canvas that writes SVG: what the chart draws on it becomes shapes and text, its pixels rectangles of one colour.
 * It has the methods that the chart uses.
 */
import { h } from "../../shared/dom.ts";

const PROPERTIES = [
  "fillStyle",
  "strokeStyle",
  "lineWidth",
  "font",
  "textAlign",
  "textBaseline",
  "globalAlpha",
] as const;
const ANCHOR: Record<string, string> = { center: "middle", right: "end", end: "end" };
const BASELINE: Record<string, string> = { middle: "central", top: "text-before-edge", bottom: "text-after-edge" };

export class SvgContext {
  fillStyle = "#000000";
  strokeStyle = "#000000";
  lineWidth = 1;
  font = "10px sans-serif";
  textAlign = "start";
  textBaseline = "alphabetic";
  globalAlpha = 1;
  readonly markup: string[] = [];
  #path = "";
  #dash: number[] = [];
  #groups = 0; // clipped ones that are open
  #clips = 0;
  readonly #saved: { values: Record<string, unknown>; dash: number[]; groups: number }[] = [];
  readonly #ruler = h("canvas").getContext("2d")!;

  save(): void {
    const values = Object.fromEntries(PROPERTIES.map((name) => [name, this[name]]));
    this.#saved.push({ values, dash: this.#dash, groups: this.#groups });
  }

  restore(): void {
    const before = this.#saved.pop();
    if (!before) return;
    Object.assign(this, before.values);
    this.#dash = before.dash;
    for (; this.#groups > before.groups; this.#groups--) this.markup.push("</g>");
  }

  beginPath(): void {
    this.#path = "";
  }
  moveTo(x: number, y: number): void {
    this.#path += `M${short(x)} ${short(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.#path += `L${short(x)} ${short(y)}`;
  }
  bezierCurveTo(...points: number[]): void {
    this.#path += `C${points.map(short).join(" ")}`;
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.#path += box(x, y, width, height);
  }
  /** Whole circles only. */
  arc(x: number, y: number, radius: number): void {
    const half = `a${short(radius)} ${short(radius)} 0 0 1 `;
    this.#path += `M${short(x - radius)} ${short(y)}${half}${short(2 * radius)} 0${half}${short(-2 * radius)} 0z`;
  }
  clip(): void {
    const id = `clip${++this.#clips}`;
    this.markup.push(`<clipPath id="${id}"><path d="${this.#path}"/></clipPath><g clip-path="url(#${id})">`);
    this.#groups++;
  }
  setLineDash(dash: number[]): void {
    this.#dash = dash;
  }

  fill(): void {
    this.#draw(this.#path, true);
  }
  stroke(): void {
    this.#draw(this.#path, false);
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    this.#draw(box(x, y, width, height), true);
  }
  strokeRect(x: number, y: number, width: number, height: number): void {
    this.#draw(box(x, y, width, height), false);
  }
  clearRect(): void {}

  measureText(text: string): TextMetrics {
    this.#ruler.font = this.font;
    return this.#ruler.measureText(text);
  }
  fillText(text: string, x: number, y: number, most = Infinity): void {
    const squeezed =
      this.measureText(text).width > most ? ` textLength="${short(most)}" lengthAdjust="spacingAndGlyphs"` : "";
    const anchor = ANCHOR[this.textAlign] ?? "start";
    const baseline = BASELINE[this.textBaseline] ?? "auto";
    const style = `font:${escaped(this.font)};dominant-baseline:${baseline}`;
    this.markup.push(
      `<text x="${short(x)}" y="${short(y)}" fill="${this.fillStyle}" text-anchor="${anchor}"${squeezed} style="${style}">${escaped(text)}</text>`,
    );
  }

  /** Pixels as rectangles; the colour of the first pixel is the ground of all. */
  putImageData({ data, width, height }: ImageData): void {
    const pixels = new Uint32Array(data.buffer, data.byteOffset, width * height);
    const paths = rectangles(pixels, width, height);
    for (const [colour, path] of paths)
      this.markup.push(`<path shape-rendering="crispEdges" fill="${hex(colour)}" d="${path}"/>`);
  }

  #draw(path: string, filled: boolean): void {
    const dash = this.#dash.length ? ` stroke-dasharray="${this.#dash.map(short).join(" ")}"` : "";
    const paint = filled
      ? `fill="${this.fillStyle}"`
      : `fill="none" stroke="${this.strokeStyle}" stroke-width="${short(this.lineWidth)}"${dash}`;
    const alpha = this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
    this.markup.push(`<path ${paint}${alpha} d="${path}"/>`);
  }
}

/** Rectangles that cover pixels of one colour, as a path per colour. The ground is one rectangle below the others. */
export function rectangles(pixels: Uint32Array, width: number, height: number): Map<number, string> {
  const ground = pixels[0] ?? 0;
  const parts = new Map<number, string[]>([[ground, [box(0, 0, width, height)]]]);
  const seen = new Uint8Array(pixels.length);
  for (let x = 0; x < width; x++) {
    for (let y = 0; y < height; ) {
      const at = y * width + x;
      const colour = pixels[at]!;
      const same = (i: number) => !seen[i] && pixels[i] === colour;
      let tall = 1;
      while (y + tall < height && same(at + tall * width)) tall++;
      if (seen[at] || colour === ground) {
        y += seen[at] ? 1 : tall;
        continue;
      }
      let wide = 1;
      const column = (i: number) => {
        for (let j = 0; j < tall; j++) if (!same(i + j * width)) return false;
        return true;
      };
      while (x + wide < width && column(at + wide)) wide++;
      for (let j = 0; j < tall; j++) seen.fill(1, at + j * width, at + j * width + wide);
      if (!parts.has(colour)) parts.set(colour, []);
      parts.get(colour)!.push(box(x, y, wide, tall));
      y += tall;
    }
  }
  return new Map([...parts].map(([colour, boxes]) => [colour, boxes.join("")]));
}

/** Text and attributes of SVG. Characters that XML cannot hold become U+FFFD. */
export function escaped(text: string): string {
  const marks: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (mark) => marks[mark]!);
}

const short = (value: number) => String(Math.round(100 * value) / 100);
const box = (x: number, y: number, width: number, height: number) =>
  `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
export const hex = (pixel: number) =>
  `#${[pixel, pixel >> 8, pixel >> 16].map((channel) => (channel & 255).toString(16).padStart(2, "0")).join("")}`;
