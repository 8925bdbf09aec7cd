/** A value that can be changed where it is shown: drag it sideways, use the arrow keys, or type it. */
import type { Adjust } from "./adjust.ts";
import { s, set, textWidth } from "./svg.ts";
import type { Target } from "./targets.ts";

export interface Pill {
  readonly element: SVGGElement;
  readonly width: number;
  /** Shows the present value, with its left end at (x, y), its middle line. */
  update(x: number, y: number): void;
}

export const PILL = 20; // height
const STEP = PILL + 2; // from one to that below it

/** At most `most` wide. */
export function pill(adjust: Adjust, target: Target, most = Infinity): Pill {
  const back = s("rect", { y: -PILL / 2, height: PILL, rx: PILL / 2 });
  const text = s("text", { y: 4 });
  const element = s("g", { class: `pill ${target.quantity.name}` }, back, text);
  const tell = adjust.slider(element, target);
  let shown = "";
  let width = 0;
  const measure = () => {
    const now = adjust.text(target);
    if (now === shown) return;
    shown = now;
    width = Math.min(most, Math.max(44, Math.ceil(textWidth(now, "600 11px sans-serif")) + 16));
    text.textContent = now;
    set(back, { width });
    set(text, { x: width / 2 });
    tell();
  };
  measure();
  return {
    element,
    get width() {
      measure();
      return width;
    },
    update(x, y) {
      measure();
      set(element, { transform: `translate(${x.toFixed(1)},${y.toFixed(1)})` });
    },
  };
}

/** Pills side by side, or below each other. */
export interface Label {
  readonly element: SVGGElement;
  /** Places the row with its middle, left or right end at (x, y). */
  update(x: number, y: number, anchor?: "start" | "middle" | "end"): void;
}

export function label(adjust: Adjust, targets: Target[], kind = "", stacked = false): Label {
  const pills = targets.map((target) => pill(adjust, target));
  const element = s("g", { class: `label ${kind}` }, ...pills.map((p) => p.element));
  return {
    element,
    update(x, y, anchor = "middle") {
      if (stacked) {
        const top = y - (STEP * (pills.length - 1)) / 2;
        pills.forEach((p, i) => p.update(x - p.width / 2, top + STEP * i));
        return;
      }
      const total = pills.reduce((sum, p) => sum + p.width + 4, -4);
      let left = x - total * { start: 0, middle: 0.5, end: 1 }[anchor];
      for (const p of pills) {
        p.update(left, y);
        left += p.width + 4;
      }
    },
  };
}
