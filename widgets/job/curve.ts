/** Where an interval and what it costs lie on the picture. */
import { seconds as short } from "../shared/format.ts";
import type { Curve } from "./traits.ts";

const STEEP = 30; // the curve is cut at so many times its least overhead
const UNITS = [
  [86400, "d", 2],
  [3600, "h", 1],
  [60, "min", 2],
] as const; // seconds, unit, how many at least

/** What the interval costs, between the points of the curve on a straight line. */
export function overhead({ seconds, over }: Curve, interval: number): number {
  const i = seconds.findIndex((at) => at >= interval);
  if (i <= 0) return over.at(i)!; // before the first, after the last
  const share = (interval - seconds[i - 1]!) / (seconds[i]! - seconds[i - 1]!);
  return over[i - 1]! + share * (over[i]! - over[i - 1]!);
}

/** How high an overhead lies, from 0 for the least to 1: a logarithm, so that the curve is seen over all its intervals. */
export function height({ over }: Curve, overhead: number): number {
  const least = Math.max(Math.min(...over), 1e-12);
  const most = Math.min(Math.max(...over) / least, STEEP);
  return most > 1 ? Math.min(Math.max(Math.log(overhead / least) / Math.log(most), 0), 1) : 0;
}

/** Pixels from intervals, and back: the curve's intervals fill the width, as logarithms. */
export class Scale {
  readonly #left: number;
  readonly #wide: number;
  readonly #width: number;

  constructor({ seconds }: Curve, width: number) {
    this.#width = width;
    this.#left = Math.log(seconds[0]!);
    this.#wide = Math.max(Math.log(seconds.at(-1)!) - this.#left, 1e-9);
  }

  x(interval: number): number {
    return Math.min(Math.max((Math.log(interval) - this.#left) / this.#wide, 0), 1) * this.#width;
  }

  interval(x: number): number {
    return Math.exp(this.#left + (Math.min(Math.max(x, 0), this.#width) / this.#width) * this.#wide);
  }
}

/** Seconds, minutes, hours or days. */
export function lasting(time: number): string {
  const unit = UNITS.find(([size, , least]) => time >= least * size);
  return unit ? `${Number((time / unit[0]).toPrecision(3))} ${unit[1]}` : short(time);
}
