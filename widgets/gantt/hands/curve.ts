/** The curve in the drawer: makespan over a value that was chosen on the cluster canvas, with axes and the present point. */
import { h, s } from "../../shared/dom.ts";
import { si, type Units } from "../../shared/format.ts";
import { at, type Curve, type CurveSoFar, isKnown, powers, told } from "../../shared/sensitivity.ts";

const [WIDTH, HEIGHT] = [320, 70]; // so low that the words below are seen in a drawer of 172
const [LEFT, RIGHT, TOP, BOTTOM] = [58, 312, 8, 52];

/** The curve as far as it is known, of a value with this name. */
export function curveOf(curve: CurveSoFar, name: string, units: Units): HTMLElement {
  const head = h("h4", {}, `makespan over the ${name.split(" ")[0]}`);
  if (!isKnown(curve)) return h("div.over", {}, head, h("p.note", {}, curve.none ?? "computing the curve …"));
  return h("div.over", {}, head, drawn(curve, units), h("p.note", {}, told(curve, units)));
}

/** Pixels of values on a scale of powers of ten, and of makespans. */
export function scales({ values, makespans }: Pick<Curve, "values" | "makespans">) {
  const [first, last] = [Math.log10(values[0]!), Math.log10(values.at(-1)!)];
  const [low, high] = [Math.min(...makespans), Math.max(...makespans)];
  return {
    low,
    high,
    x: (value: number) => LEFT + ((Math.log10(value) - first) / (last - first || 1)) * (RIGHT - LEFT),
    y: (makespan: number) => BOTTOM - ((makespan - low) / (high - low || 1)) * (BOTTOM - TOP),
  };
}

function drawn(curve: Curve, units: Units): SVGElement {
  const { values, makespans, best, now, unit } = curve;
  const { x, y, low, high } = scales(curve);
  const write = (value: number) => si(value, unit, 1).trim();
  const points = values.map((value, i) => `${x(value).toFixed(1)},${y(makespans[i]!).toFixed(1)}`).join(" ");
  const marks = powers(values[0]!, values.at(-1)!, x).flatMap((value) => [
    s("line.tick", { x1: x(value), x2: x(value), y1: BOTTOM, y2: BOTTOM + 3 }),
    s("text.below", { x: x(value), y: BOTTOM + 14 }, write(value)),
  ]);
  const levels = (low === high ? [low] : [low, high]).flatMap((makespan) => [
    s("line.level", { x1: LEFT, x2: RIGHT, y1: y(makespan), y2: y(makespan) }),
    s("text.beside", { x: LEFT - 5, y: y(makespan) + 4 }, units.time(makespan)),
  ]);
  const others = best.map(([value, pair, makespan]) =>
    s(
      "rect.other",
      { x: x(value) - 3, y: Math.max(y(makespan), TOP) - 3, width: 6, height: 6 },
      s("title", {}, `${write(value)}: ${pair} takes ${units.time(makespan)}`),
    ),
  );
  const here = at(curve, now);
  return s(
    "svg.overtime",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": told(curve, units) },
    ...levels,
    s("line.axis", { x1: LEFT, x2: RIGHT, y1: BOTTOM, y2: BOTTOM }),
    s("line.axis", { x1: LEFT, x2: LEFT, y1: TOP, y2: BOTTOM }),
    ...marks,
    s("polyline.makespan", { points }),
    ...others,
    s("line.here", { x1: x(now), x2: x(now), y1: TOP, y2: BOTTOM }),
    s("circle.here", { cx: x(now), cy: y(here), r: 4 }, s("title", {}, `${si(now, unit)}: ${units.time(here)}`)),
  );
}
