/** The way of an edge from box to box, and how thick it is. Pure. */
import type { Box } from "./traits.ts";

/** A cubic curve: start, two control points, end. */
export type Curve = readonly [number, number, number, number, number, number, number, number];

/** From the right side of `a` to the left side of `b`; where `b` is not further right, around: from below or above. */
export function curveOf(a: Box, b: Box): Curve {
  const [ax, bx] = [a.x + a.w, b.x];
  const [ay, by] = [a.y + a.h / 2, b.y + b.h / 2];
  if (bx >= ax + 4) {
    const bend = Math.min(Math.max((bx - ax) / 2, 12), 90);
    return [ax, ay, ax + bend, ay, bx - bend, by, bx, by];
  }
  const down = b.y >= a.y + a.h ? 1 : b.y + b.h <= a.y ? -1 : 0;
  if (!down) {
    const dip = Math.max(a.h, b.h) / 2 + 14; // side by side: an arc over both
    const top = Math.min(a.y, b.y);
    return [a.x + a.w / 2, a.y, a.x + a.w / 2, top - dip, b.x + b.w / 2, top - dip, b.x + b.w / 2, b.y];
  }
  const from = down > 0 ? a.y + a.h : a.y;
  const to = down > 0 ? b.y : b.y + b.h;
  const bend = down * Math.min(Math.max(Math.abs(to - from) / 2, 12), 60);
  const [mx, nx] = [a.x + a.w / 2, b.x + b.w / 2];
  return [mx, from, mx, from + bend, nx, to - bend, nx, to];
}

const THIN = 0.8;
const THICK = 4.5;

/** Width of a line for these bytes, on a logarithmic scale from the least to the most. */
export function widths(sizes: readonly number[]): (bytes: number) => number {
  const some = sizes.filter((size) => size > 0);
  const low = Math.log(some.reduce((a, b) => Math.min(a, b), Infinity));
  const high = Math.log(some.reduce((a, b) => Math.max(a, b), 0));
  if (!some.length) return () => THIN;
  const span = Math.max(high - low, Math.log(10));
  return (bytes) =>
    bytes > 0 ? THIN + 0.4 + (THICK - THIN - 0.4) * Math.min(1 - (high - Math.log(bytes)) / span, 1) : THIN;
}
