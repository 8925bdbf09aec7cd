/** The box beside the pointer that names what is under it. */
import { h } from "./dom.ts";

export interface Description {
  readonly title: string;
  /** Label and value. */
  readonly rows: readonly (readonly [string, string])[];
}

export interface Tooltip {
  readonly element: HTMLElement;
  /** Shows `text` beside (x, y), in CSS pixels of the positioned ancestor `within`; null hides. */
  show(text: Description | null, x: number, y: number, within: HTMLElement): void;
}

export function tooltip(): Tooltip {
  const element = h("div.tooltip", { hidden: true });
  let shown: Description | null = null;
  return {
    element,
    show(text, x, y, within) {
      element.hidden = text === null;
      if (!text) return;
      if (text.title !== shown?.title || text.rows.join() !== shown.rows.join()) {
        const rows = text.rows.flatMap(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]);
        element.replaceChildren(h("b", {}, text.title), h("dl", {}, ...rows));
        shown = text;
      }
      const { offsetWidth: width, offsetHeight: height } = element;
      const left = x + 14 + width > within.clientWidth ? Math.max(0, x - width - 10) : x + 14;
      const top = y + 16 + height > within.clientHeight ? Math.max(0, y - height - 10) : y + 16;
      element.style.transform = `translate(${left}px, ${top}px)`;
    },
  };
}
