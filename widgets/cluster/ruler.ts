/** The logarithmic ruler that shows, while a value is pulled, where it stands and where it came from. */
import type { Point } from "./geometry";
import { decades, PER_DECADE, writeRound, type Quantity } from "./quantity";
import { s, set, textWidth } from "./svg";

const HALF = 190; // pixels from its middle to its ends
const HEIGHT = 46;

export class Ruler {
  readonly element = s("svg", { class: "ruler", "aria-hidden": "true" });
  readonly #root: HTMLElement;

  constructor(root: HTMLElement) {
    this.#root = root;
    this.hide();
  }

  /** Draws it above `origin` (client coordinates), where the value was `from`, with the hand `pixels` to the right. */
  show(quantity: Quantity, from: number, origin: Point, pixels: number, text: string): void {
    const bounds = this.#root.getBoundingClientRect();
    const start = Number.isFinite(from) && from > 0 ? from : 1e-7;
    const scroll = Math.sign(pixels) * Math.max(0, Math.abs(pixels) - HALF + 30);
    const x = (value: number) => HALF + Math.log10(value / start) * PER_DECADE - scroll;
    const reach = (side: number) => start * 10 ** ((scroll + side * (HALF - 8)) / PER_DECADE);
    const at = HALF + pixels - scroll;
    const half = textWidth(text, "bold 12px sans-serif") / 2 + 8;
    const marks = decades(reach(-1), reach(1)).flatMap(({ value, major }) => [
      s("line", { x1: x(value), x2: x(value), y1: major ? 26 : 32, y2: 38 }),
      ...(major && Math.abs(x(value) - at) > half + 24 ? [s("text", { x: x(value), y: 22 }, writeRound(quantity, value))] : []),
    ]);
    this.element.replaceChildren(
      s("rect", { class: "back", x: 0.5, y: 8.5, width: 2 * HALF - 1, height: 36, rx: 6 }),
      ...marks,
      s("line", { class: "from", x1: x(start), x2: x(start), y1: 26, y2: 44 }),
      s("line", { class: "now", x1: at, x2: at, y1: 20, y2: 44 }),
      s("rect", { class: "now", x: at - half, y: 0, width: 2 * half, height: 20, rx: 10 }),
      s("text", { class: "now", x: at, y: 14 }, text),
    );
    const above = origin.y - bounds.top - HEIGHT - 16;
    set(this.element, { width: 2 * HALF, height: HEIGHT });
    Object.assign(this.element.style, {
      left: `${origin.x - bounds.left - HALF + scroll}px`,
      top: `${above > 0 ? above : origin.y - bounds.top + 20}px`,
      display: "block",
    });
  }

  hide(): void {
    this.element.style.display = "none";
  }
}
