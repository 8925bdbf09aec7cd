/** The curve under the ruler: makespan over the value that is being dragged. */
import type { Units } from "../shared/format.ts";
import { s } from "./svg.ts";
import type { Curve } from "./traits.ts";

const TOP = 50;
const BOTTOM = 78;
const LINE = 92; // of the text

/** Marks of a curve; `x` gives a value's place, `at` is that of the present one. */
export function sketch(
  curve: Curve,
  x: (value: number) => number,
  at: number,
  width: number,
  units: Units,
  write: (value: number) => string,
): SVGElement[] {
  const low = Math.min(...curve.makespans);
  const high = Math.max(...curve.makespans);
  const y = (makespan: number) => BOTTOM - ((makespan - low) / (high - low || 1)) * (BOTTOM - TOP);
  const points = curve.values
    .map((value, i) => [x(value), y(curve.makespans[i]!)] as const)
    .filter(([px]) => px > 4 && px < width - 4);
  const path = points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
  return [
    s("path.curve", { d: path }),
    s("line.now", { x1: at, x2: at, y1: TOP - 4, y2: BOTTOM + 2 }),
    s("text.told", { x: width / 2, y: LINE }, words(curve, x, at, low, high, units, write)),
  ];
}

/** The range of the curve, and the pair that is better at a value near the present one. */
export function words(
  curve: Curve,
  x: (value: number) => number,
  at: number,
  low: number,
  high: number,
  units: Units,
  write: (value: number) => string,
): string {
  const nearest = <T>(items: readonly T[], value: (item: T) => number) =>
    items.reduce<T | null>(
      (best, item) => (best === null || Math.abs(x(value(item)) - at) < Math.abs(x(value(best)) - at) ? item : best),
      null,
    );
  const better = nearest(curve.best, ([value]) => value);
  const range = `${curve.preview ? "preview: " : ""}${units.time(low)} to ${units.time(high)}`;
  const near = better && Math.abs(x(better[0]) - at) < 60;
  return near ? `${range} · at ${write(better[0])} ${better[1]} takes ${units.time(better[2])}` : range;
}
