/** The makespan over a value that was chosen on the cluster canvas: what is known of it, and how it is read. Pure. */
import { si, type Units } from "./format.ts";

const NEAR = 34; // pixels between two marks of an axis

/** Makespan [s] over a value [SI], ascending; where another pair of strategies is quicker; the present value and its unit. */
export interface Curve {
  readonly values: readonly number[];
  readonly makespans: readonly number[];
  readonly best: readonly (readonly [value: number, pair: string, makespan: number])[];
  readonly preview: boolean;
  readonly now: number;
  readonly unit: string;
}

/** Empty while nothing is known of it; `none` says why there is none; `of` is the key of its state, see shared/current.ts. */
export type CurveSoFar = Partial<Curve> & { readonly none?: string; readonly of?: string };

export const isKnown = (curve: CurveSoFar): curve is Curve => (curve.values?.length ?? 0) > 1;

/** The powers of ten between two values, so few that their texts do not meet. */
export function powers(low: number, high: number, x: (value: number) => number): number[] {
  const all = Array.from({ length: 40 }, (_, i) => 10 ** (Math.ceil(Math.log10(low)) + i)).filter((v) => v <= high);
  const each = Math.max(1, Math.ceil(NEAR / (x(10) - x(1) || NEAR)));
  return all.filter((_, i) => i % each === 0);
}

/** The makespan at a value, on the line between the two known ones beside it. */
export function at({ values, makespans }: Pick<Curve, "values" | "makespans">, now: number): number {
  const next = values.findIndex((value) => value >= now);
  if (next <= 0) return next ? makespans.at(-1)! : makespans[0]!;
  const [a, b] = [Math.log10(values[next - 1]!), Math.log10(values[next]!)];
  const share = (Math.log10(now) - a) / (b - a || 1);
  return makespans[next - 1]! + share * (makespans[next]! - makespans[next - 1]!);
}

/** Its ends, and the quicker pair nearest to the present value. */
export function told(curve: Curve, units: Units): string {
  const { values, makespans, best, now, unit, preview } = curve;
  const ends = `${units.time(makespans[0]!)} at ${si(values[0]!, unit).trim()}`;
  const range = `${ends}, ${units.time(makespans.at(-1)!)} at ${si(values.at(-1)!, unit).trim()}`;
  const distance = (value: number) => Math.abs(Math.log10(value / now));
  const [near] = [...best].sort((a, b) => distance(a[0]) - distance(b[0]));
  const better = near ? ` · ${near[1]} is quicker at ${si(near[0], unit).trim()}: ${units.time(near[2])}` : "";
  return `${preview ? "preview: " : ""}${range}${better}`;
}
