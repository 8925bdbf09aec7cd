/**
 * SI quantities as people read them: up to three significant digits and the unit that keeps the number between 1 and 1000. All as
 * `placelab.base.units` has them in Python: both stand in one sentence, or in one column.
 */

const PREFIXES: readonly (readonly [number, string])[] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
  [1e-9, "n"],
];

/** `si(0.00123, "s")` is "1.23 ms", `si(0.01, "s")` "10 ms". Infinity is "∞", a missing number "–". */
export function si(value: number, unit: string, digits = 3): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return `0 ${unit}`;
  const rounded = Number(Math.abs(value).toPrecision(digits)); // 999.9995 must become 1 k, not 1000
  const [factor, prefix] = PREFIXES.find(([f]) => rounded >= f) ?? PREFIXES[PREFIXES.length - 1]!;
  return `${value < 0 ? "−" : ""}${Number((rounded / factor).toPrecision(digits))} ${prefix}${unit}`;
}

/** Seconds, without prefixes above one. */
export function seconds(s: number, digits = 3): string {
  return Math.abs(s) >= 999.5 && Number.isFinite(s) ? `${number(s, digits)} s` : si(s, "s", digits);
}
/** Bytes, decimal prefixes. */
export const bytes = (b: number): string => si(b, "B");
/** Bytes per second. */
export const bandwidth = (b: number): string => si(b, "B/s");
/** Floating point operations per second. */
export const speed = (f: number): string => si(f, "FLOP/s");

/** Whole percents, one decimal below ten: 12 %, from a fraction; of 22.5 the even 22. */
export function percent(fraction: number): string {
  const value = 100 * fraction;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  const whole = Math.round(value % 2 === 0.5 ? value - 0.5 : value);
  return Number.isFinite(fraction) ? `${value && value < 9.95 ? value.toFixed(1) : count(whole)} %` : "–";
}

/** 22,000: thousands grouped. */
export function count(n: number | string): string {
  return String(n).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
}

/** A formatter for an axis of seconds up to `to` with ticks every `step`: one unit for all, just enough decimals. */
export function secondsAxis(to: number, step: number): (t: number) => string {
  const [factor, prefix] = PREFIXES.find(([f]) => f <= 1 && to >= f) ?? PREFIXES[PREFIXES.length - 1]!;
  const decimals = Math.max(0, -Math.floor(Math.log10(step / factor) + 1e-9));
  return (t) => (t === 0 ? `0 ${prefix}s` : `${count((t / factor).toFixed(decimals))} ${prefix}s`);
}

/** A number without a unit: four digits, thousands grouped. */
export function number(value: number, digits = 4): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const rounded = Number(value.toPrecision(digits));
  if (Math.abs(rounded) >= 1e15 || (rounded && Math.abs(rounded) < 1e-6))
    return rounded.toExponential().replace("-", "−");
  return count(rounded).replace("-", "−");
}

/** How times and sizes of a problem are written; Python says which (`Cluster.units`). */
export interface Units {
  readonly plain: boolean;
  time(t: number, digits?: number): string;
  bytes(b: number): string;
  /** A formatter for an axis of times up to `to` with ticks every `step`. */
  axis(to: number, step: number): (t: number) => string;
}

export const SI: Units = { plain: false, time: seconds, bytes, axis: secondsAxis };

/** Of problems in plain numbers. */
export const PLAIN: Units = {
  plain: true,
  time: (t, digits = 4) => number(t, Math.max(digits, 4)),
  bytes: (b) => number(b),
  axis: (_, step) => (t) => count(t.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))),
};

export const unitsOf = (unitless: boolean): Units => (unitless ? PLAIN : SI);

/** A reader of numbers with units: `parseSi("12 GB/s", "B/s")` is 12e9, NaN when it is not such a number. A bare number counts in `unit`. */
export function parseSi(text: string, unit: string): number {
  const match = /^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(.*?)\s*$/i.exec(
    text.replace("−", "-").replace(",", "."),
  );
  if (!match) return NaN;
  const rest = match[2]!;
  const prefix = rest.toLowerCase().endsWith(unit.toLowerCase()) ? rest.slice(0, rest.length - unit.length) : rest;
  const known = PREFIXES.find(([, p]) => p === prefix.trim()) ?? (prefix.trim() === "u" ? [1e-6] : undefined);
  if (!known) return NaN;
  return known[0] < 1 ? Number(match[1]) / Math.round(1 / known[0]) : Number(match[1]) * known[0]; // 50 µs is 50 / 1e6, exactly rounded
}
