/** The logarithmic ruler that shows, during a drag, the present value, the value before, and the makespan over the value. */
import type { Units } from "../shared/format.ts";
import { clamp } from "../shared/scale.ts";
import { boxOf } from "../shared/zoom.ts";
import type { Point, Rect } from "./geometry.ts";
import { decades, PER_DECADE, type Quantity, writeRound } from "./quantity.ts";
import { beside, fit } from "./room.ts";
import { sketch } from "./sketch.ts";
import { s, set, textWidth } from "./svg.ts";
import type { Curve } from "./traits.ts";

const WIDTH = 380; // where there is room for it
const HEIGHT = 46;
const CURVE = 52; // more, with the curve below the marks
const NAME = 32; // half of the longest mark's text

export interface Ruler {
  readonly element: SVGSVGElement;
  /**
   * Draws it above `origin` (client coordinates), where the value was `from`, with the pointer `pixels` to the right. It does
   * not move; when the pointer leaves it, the scale moves below the value instead.
   */
  show(quantity: Quantity, from: number, origin: Point, pixels: number, text: string, units: Units): void;
  /** Draws it again as it was, with the curve as it is now. */
  refresh(): void;
  hide(): void;
}

/** `room` is where it may be placed, in coordinates of `root`. */
export function ruler(root: HTMLElement, room: () => Rect, curve: () => Curve | null = () => null): Ruler {
  const element = s("svg.ruler", { "aria-hidden": "true" });
  let last: Parameters<Ruler["show"]> | null = null;
  let begun: { origin: Point; bounds: DOMRect; space: Rect } | null = null; // of this drag, in which the panel stays where it is
  const hide = () => {
    last = null;
    element.style.display = "none";
  };
  hide();
  return {
    element,
    hide,
    refresh() {
      if (last) this.show(...last);
    },
    show(...args) {
      last = args;
      const [quantity, from, origin, pixels, text, units] = args;
      if (begun?.origin !== origin) begun = { origin, bounds: boxOf(root), space: room() };
      const { bounds, space } = begun;
      const [middle, level] = [origin.x - bounds.left, origin.y - bounds.top];
      const { end = quantity.high } = quantity;
      const start = from === Infinity ? end : from || (quantity.zero ?? 1);
      const width = Math.min(WIDTH, space.w);
      const left = fit(middle - width / 2, width, space.x, space.w);
      const half = textWidth(text, "bold 12px sans-serif") / 2 + 8;
      const at = clamp(middle + pixels - left, half, width - half);
      const x = (value: number) => at - pixels + Math.log10(value / start) * PER_DECADE;
      const reach = (right: number) => start * 10 ** ((right - at + pixels) / PER_DECADE);
      const beyond = quantity.end ? x(end) + 16 : width;
      const begin = x(start);
      const marks = decades(reach(8), Math.min(reach(width - 8), end)).flatMap(({ value, major }) => [
        s("line", { x1: x(value), x2: x(value), y1: major ? 26 : 32, y2: 38 }),
        ...(major && Math.abs(x(value) - at) > half + 24 && x(value) > NAME && x(value) < width - NAME
          ? [s("text", { x: x(value), y: 22 }, writeRound(quantity, value))]
          : []),
      ]);
      const known = curve();
      const height = HEIGHT + (known ? CURVE : 0);
      element.replaceChildren(
        s("rect.back", { x: 0.5, y: 8.5, width: width - 1, height: height - 10, rx: 6 }),
        ...marks,
        ...(beyond > 0 && beyond < width - 8 ? [s("text", { x: beyond, y: 36 }, "∞")] : []),
        ...(begin > 0 && begin < width ? [s("line.from", { x1: begin, x2: begin, y1: 26, y2: 44 })] : []),
        s("line.now", { x1: at, x2: at, y1: 20, y2: 44 }),
        s("rect.now", { x: at - half, y: 0, width: 2 * half, height: 20, rx: 10 }),
        s("text.now", { x: at, y: 14 }, text),
        ...(known ? sketch(known, x, at, width, units, (value) => writeRound(quantity, value)) : []),
      );
      set(element, { width, height });
      const top = beside(level - 16, level + 20, height, space.y, space.h);
      Object.assign(element.style, { left: `${left}px`, top: `${top}px`, display: "block" });
    },
  };
}
