/** The small curve of the makespan over a value: what is where. Pure. */
import { si } from "../shared/format.ts";
import { clamp } from "../shared/scale.ts";
import { at, type Curve, powers } from "../shared/sensitivity.ts";

export interface Size {
  readonly wide: number;
  readonly high: number;
}

const [LEAST, MOST] = [26, 60]; // pixels high: in the row of buttons, and where the drawing leaves ground
const GAP = 5; // between the curve and the makespans at its ends
const DECADE = 34; // enough for a mark at each power of ten
const FLAT = 0.01; // of the longest makespan: a smaller rise is not drawn as if it were a large one
const BELOW = 12; // for the texts below the axis
const LETTER = 6.35; // pixels, of the widest font
const APART = 3; // the least gap between two texts

const widthOf = (text: string) => Math.ceil(LETTER * text.length + 1);

/** How high it is where the drawing begins `ground` pixels below its upper end. */
export const heightOver = (ground: number): number => clamp(Math.floor(ground) - 2, LEAST, MOST);

export function marksOf(curve: Curve, { wide, high }: Size, time: (seconds: number) => string) {
  const { values, makespans, now, unit } = curve;
  const [from, to] = [time(makespans[0]!), time(makespans.at(-1)!)];
  const [left, right, axis] = [widthOf(from) + GAP, wide - widthOf(to) - GAP, high - BELOW - 1];
  const [first, last] = [Math.log10(values[0]!), Math.log10(values.at(-1)!)];
  const [low, top] = [Math.min(...makespans), Math.max(...makespans)];
  const x = (value: number) => left + ((Math.log10(value) - first) / (last - first || 1)) * (right - left);
  const span = Math.max(top - low, FLAT * top);
  const base = (low + top - span) / 2;
  const y = (makespan: number) => axis - 3 - ((makespan - base) / (span || 1)) * (axis - 7);
  const level = (makespan: number) => clamp(y(makespan) + 4, 10, axis - 2);
  const powersOfTen = powers(values[0]!, values.at(-1)!, (value) => DECADE * Math.log10(value));
  return {
    left,
    right,
    axis,
    points: values.map((value, i) => `${x(value).toFixed(1)},${y(makespans[i]!).toFixed(1)}`).join(" "),
    ticks: labelled(powersOfTen, x, unit, wide),
    ends: [
      { text: from, x: left - GAP, y: level(makespans[0]!), anchor: "end" as const },
      { text: to, x: right + GAP, y: level(makespans.at(-1)!), anchor: "start" as const },
    ],
    here: { x: x(now), y: y(at(curve, now)) },
  };
}

/** Marks of the axis with the texts that have room: the last one's first, then as many as fit, without their unit where that is too long. */
function labelled(values: number[], x: (value: number) => number, unit: string, wide: number) {
  const taken: (readonly [from: number, to: number])[] = [];
  const placed = new Map<number, string>();
  for (const value of [...values.slice(-1), ...values.slice(0, -1)])
    for (const text of [si(value, unit, 1).trim(), si(value, "", 1).trim()]) {
      const half = widthOf(text) / 2;
      const [from, to] = [x(value) - half, x(value) + half];
      if (placed.has(value) || from < 0 || to > wide) continue;
      if (taken.some(([a, b]) => from < b + APART && a < to + APART)) continue;
      taken.push([from, to]);
      placed.set(value, text);
    }
  return values.map((value) => ({ x: Math.round(x(value)), text: placed.get(value) ?? "" }));
}
