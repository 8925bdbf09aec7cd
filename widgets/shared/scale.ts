/** Linear and logarithmic scales between a quantity and pixels. */

/** The visible span of time, in seconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Pixel of time `t` in a strip `width` pixels wide that shows `span`. */
export function toPixel(span: Span, width: number, t: number): number {
  return ((t - span.from) / (span.to - span.from)) * width;
}

/** Time at pixel `x`; inverse of `toPixel`. */
export function toTime(span: Span, width: number, x: number): number {
  return span.from + (x / width) * (span.to - span.from);
}

/** The span `factor` times as long (below 1: zoom in) that keeps the time `anchor` where it is. */
export function zoomAround(span: Span, anchor: number, factor: number): Span {
  return { from: anchor + (span.from - anchor) * factor, to: anchor + (span.to - anchor) * factor };
}

/** `span` moved, and shortened where needed, to lie in [0, end], no shorter than `least`. */
export function clampSpan(span: Span, end: number, least: number): Span {
  const length = Math.min(Math.max(span.to - span.from, least), end);
  const from = Math.min(Math.max(span.from, 0), end - length);
  return { from, to: from + length };
}

/** Round times for an axis: multiples of 1, 2 or 5 · 10^k, at most `most` of them inside the span. */
export function ticks(span: Span, most: number): { step: number; values: number[] } {
  const rough = (span.to - span.from) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((m) => m * power >= rough * (1 - 1e-9)) ?? 10) * power;
  const values: number[] = [];
  for (let i = Math.ceil(span.from / step - 1e-9) + 0; i * step <= span.to * (1 + 1e-12); i++) values.push(i * step);
  return { step, values };
}

/** `value` rounded to `digits` significant digits: what a dragged quantity snaps to. */
export function snap(value: number, digits = 2): number {
  return Number(value.toPrecision(digits));
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
