/**
 * A picture as pixels in memory. Filling pixels costs the same for 100 and for 100,000 bars in view; calls of a canvas do not.
 */
import type { Pattern } from "../scene/colours.ts";

export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
  /** Rows above are never painted: the axis stands there. */
  readonly top: number;
  /** Columns before are never painted: the device names stand there. */
  readonly left: number;
}

export function raster(width: number, height: number, left: number, top: number): Raster {
  return { width, height, left, top, pixels: new Uint32Array(width * height) };
}

/** Fills [x0, x1) × [y0, y1), clipped. */
export function fill(r: Raster, x0: number, y0: number, x1: number, y1: number, colour: number): void {
  const a = Math.max(x0, r.left);
  const b = Math.min(x1, r.width);
  if (a >= b) return;
  for (let y = Math.max(y0, r.top), end = Math.min(y1, r.height); y < end; y++) {
    const base = y * r.width;
    if (b - a < 12) for (let x = a; x < b; x++) r.pixels[base + x] = colour;
    else r.pixels.fill(colour, base + a, base + b);
  }
}

/** Like `fill`, leaving out the pixels that `pattern` leaves out; patterns are fixed to the picture. */
export function hatch(
  r: Raster,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  colour: number,
  pattern: Pattern,
  step: number,
): void {
  if (pattern === "solid") return fill(r, x0, y0, x1, y1, colour);
  const a = Math.max(x0, r.left);
  const b = Math.min(x1, r.width);
  for (let y = Math.max(y0, r.top), end = Math.min(y1, r.height); y < end; y++) {
    for (let x = a; x < b; x++) if (inPattern(pattern, x, y, step)) r.pixels[y * r.width + x] = colour;
  }
}

function inPattern(pattern: Pattern, x: number, y: number, step: number): boolean {
  if (pattern === "diagonal") return (x + y) % step < step / 5;
  if (pattern === "upright") return x % step < step / 5;
  if (pattern === "dots") return x % step < step / 4 && y % step < step / 4;
  return (x + y) % step < 1 || (x - y + 65536 * step) % step < 1;
}
