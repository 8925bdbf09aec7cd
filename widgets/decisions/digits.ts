/** Numbers written alike, so that the digits in which they differ can be emphasised. */

/** A number in two parts: the digits it shares with the number it is compared with, and those from the first difference on. */
export interface Written {
  readonly same: string;
  readonly differs: string;
  readonly unit: string;
}

const UNITS: readonly (readonly [number, string])[] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];
const DIGITS = 3; // significant ones of the largest number, at least
const MOST = 15; // significant ones; a double has no more
const EQUAL = 1e-12; // relative; what rounding may leave between equal numbers
const WIDE = 1e5; // ratio of largest to smallest from which numbers are written with exponents

/**
 * Writes `values` in one unit with as many decimals as tell each from values[best], which is compared with its nearest.
 *
 * NaN, no candidate, is an empty text. `unit` "s" takes the prefix that suits the largest value.
 */
export function align(values: ArrayLike<number>, best: number, unit: string): Written[] {
  const finite = Array.from(values).filter(Number.isFinite);
  const largest = Math.max(...finite.map(Math.abs), 0);
  const [factor, name] = (unit === "s" && UNITS.find(([f]) => largest >= f)) || [1, unit];
  const scaled = Array.from(values, (value) => value / factor);
  const write = chooseWriting(scaled.filter(Number.isFinite), scaled[best]!);
  const texts = scaled.map((value) => (Number.isFinite(value) ? write(value) : ""));
  const length = Math.max(...texts.map((text) => text.length));
  const padded = texts.map((text) => (text ? text.padStart(length, "\u2007") : "")); // as wide as a digit
  const nearest = runnerUp(scaled, best);
  return padded.map((text, i) => {
    const other = padded[i === best ? nearest : best] ?? "";
    const at =
      text && other && !isEqual(scaled[i]!, scaled[i === best ? nearest : best]!)
        ? firstDifference(text, other)
        : text.length;
    return { same: text.slice(0, at), differs: text.slice(at), unit: text ? name : "" };
  });
}

/** The index of the value nearest to values[best] that differs from it; -1 for none. */
export function runnerUp(values: readonly number[], best: number): number {
  let nearest = -1;
  const away = (i: number) => Math.abs(values[i]! - values[best]!);
  values.forEach((value, i) => {
    if (Number.isFinite(value) && !isEqual(value, values[best]!) && (nearest < 0 || away(i) < away(nearest)))
      nearest = i;
  });
  return nearest;
}

export function isEqual(a: number, b: number): boolean {
  return a === b || Math.abs(a - b) <= EQUAL * Math.max(Math.abs(a), Math.abs(b));
}

function firstDifference(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return i;
}

/** A function that writes each of `values` unlike `reference`, unless they are equal. */
function chooseWriting(values: readonly number[], reference: number): (value: number) => string {
  const sizes = values.map(Math.abs).filter((size) => size > 0);
  const [smallest, largest] = [Math.min(...sizes), Math.max(...sizes, 0)];
  const exponents = largest > WIDE * smallest || largest >= 1e9 || (largest > 0 && largest < 1e-3);
  const power = largest > 0 ? Math.floor(Math.log10(largest)) : 0;
  for (let digits = DIGITS; ; digits++) {
    const decimals = Math.max(digits - 1 - power, 0);
    const write = (value: number) => (exponents ? value.toExponential(digits - 1) : value.toFixed(decimals));
    const apart = values.every((value) => isEqual(value, reference) || write(value) !== write(reference));
    if (apart || digits >= MOST) return exponents ? write : trimmed(values, decimals);
  }
}

/** Without the last decimals that are 0 in all. */
function trimmed(values: readonly number[], decimals: number): (value: number) => string {
  let least = decimals;
  while (
    least > 0 &&
    values.every((value) =>
      value
        .toFixed(decimals)
        .slice(least - 1 - decimals)
        .match(/^0+$/),
    )
  )
    least--;
  return (value) => value.toFixed(least);
}
