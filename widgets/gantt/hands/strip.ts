/** The strip of numbers: the measures of the schedule, side by side. */
import { h } from "../../shared/dom.ts";
import type { NumberItem } from "../wire/traits.ts";

export interface Strip {
  readonly element: HTMLElement;
  show(numbers: readonly NumberItem[]): void;
}

export function strip(): Strip {
  const element = h("dl.numbers", { "aria-label": "Results" });
  let shown: { key: string; box: HTMLElement; label: HTMLElement; value: HTMLElement }[] = [];
  return {
    element,
    show(numbers) {
      element.hidden = numbers.length === 0;
      if (numbers.length !== shown.length || numbers.some(({ key }, i) => key !== shown[i]!.key)) {
        shown = numbers.map(({ key }) => figure(key));
        element.replaceChildren(...shown.map(({ box }) => box));
      }
      numbers.forEach((item, i) => {
        const { box, label, value } = shown[i]!;
        label.textContent = item.label;
        value.textContent = item.value;
        box.title = item.title ?? "";
        box.dataset.tone = item.tone ?? "";
      });
    },
  };
}

function figure(key: string) {
  const label = h("dt");
  const value = h("dd");
  return { key, label, value, box: h("div", { "data-key": key }, label, value) };
}
