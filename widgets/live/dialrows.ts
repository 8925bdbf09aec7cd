/** The dials of a phone, in place of the canvas: the first bandwidth, and the others behind a line. */
import { h, listen } from "../shared/dom.ts";
import { bandwidth, number, seconds, speed } from "../shared/format.ts";
import type { Canvas, Hands, Known } from "./canvas.ts";
import { type Dial, REACH, readingOf, turned } from "./dials.ts";
import type { Values } from "./values.ts";

const TITLES: Readonly<Record<string, string>> = { speed: "speed of", bandwidth: "bandwidth", latency: "latency" };
const UNITS: Readonly<Record<string, (x: number) => string>> = { speed, bandwidth, latency: seconds };

export function dialRows(known: Known, dials: readonly Dial[], hands: Hands): Canvas {
  let values: Values = new Map();
  const rows = dials.map((dial) =>
    row(dial, known, {
      turn(by) {
        values = turned(dial, known.saved, values, by);
        hands.change(new Map(values));
        for (const each of rows) each.put(values);
      },
      settled: hands.settled,
    }),
  );
  const group = (...elements: HTMLElement[]) => h("div.dials", {}, ...elements);
  const first = rows.find(({ dial }) => dial.quantity === "bandwidth") ?? rows[0];
  const others = rows.filter((each) => each !== first).map(({ element }) => element);
  const more = others.length ? [h("details", {}, h("summary", {}, "Speeds and other links"), group(...others))] : [];
  const shown = group(...(first ? [first.element] : []));
  return {
    element: h("div", { role: "group", "aria-label": "Cluster" }, shown, ...more),
    put(given) {
      values = given;
      for (const each of rows) each.put(values);
    },
    share() {},
    tellPeak() {},
  };
}

interface Turns {
  turn(by: number): void;
  settled(): void;
}

function row(dial: Dial, { saved, unitless }: Known, { turn, settled }: Turns) {
  const { quantity } = dial;
  const value = (x: number) => (unitless ? number(x) : UNITS[quantity]!(x));
  const name = `${TITLES[quantity]} ${dial.label}`;
  const slider = h("input", { type: "range", min: -REACH, max: REACH, step: 1, value: 0, "aria-label": name });
  slider.dataset.key = dial.key;
  const shown = h("output");
  const element = h("label", {}, h("span", { title: name }, name), shown, slider);
  listen(slider, "input", () => turn(Number(slider.value)));
  listen(slider, "change", settled);
  const put = (values: Values) => {
    const [by, low, high] = readingOf(dial, saved, values);
    slider.value = String(by);
    shown.textContent = low === high ? value(low) : `${value(low)} … ${value(high)}`;
    slider.setAttribute("aria-valuetext", shown.textContent);
    element.classList.toggle("turned", by !== 0);
  };
  put(new Map());
  return { dial, element, put };
}
