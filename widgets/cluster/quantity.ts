/** The four quantities that a user can change: how they are written, read, and bounded. Pure. */
import type { Change } from "../shared/commands.ts";
import { bandwidth, bytes, number, parseSi, seconds, si, speed, type Units } from "../shared/format.ts";
import { clamp, snap } from "../shared/scale.ts";
import type { Range } from "./state.ts";

export interface Quantity {
  readonly name: "speed" | "memory" | "bandwidth" | "latency";
  readonly unit: string;
  readonly example: string;
  readonly low: number;
  readonly high: number;
  readonly zero?: number; // where a drag of 0 begins
  readonly end?: number; // a drag beyond it means unlimited; absent if the quantity cannot be unlimited
  write(value: number): string;
}

export const SPEED: Quantity = {
  name: "speed",
  unit: "FLOP/s",
  example: "12 TFLOP/s",
  low: 1e-3,
  high: 1e21,
  write: speed,
};
export const MEMORY: Quantity = {
  name: "memory",
  unit: "B",
  example: "16 GB",
  low: 1,
  high: 1e18,
  end: 1e12,
  write: bytes,
};
export const BANDWIDTH: Quantity = {
  name: "bandwidth",
  unit: "B/s",
  example: "12 GB/s or 100 Gbit/s",
  low: 1e-3,
  high: 1e18,
  end: 1e15,
  write: bandwidth,
};
export const LATENCY: Quantity = {
  name: "latency",
  unit: "s",
  example: "50 µs",
  low: 0,
  high: 1e6,
  zero: 1e-7,
  write: seconds,
};

/** Of a shared link, which has an end. */
export const CAPACITY: Quantity = (({ end: _, ...rest }) => rest)(BANDWIDTH);

/** The quantity as it is written and read in a problem with these units. */
export function inUnits(quantity: Quantity, { plain }: Units): Quantity {
  if (!plain) return quantity;
  if (!PLAIN.has(quantity))
    PLAIN.set(quantity, { ...quantity, unit: "", example: "12", zero: 0.01, write: (value) => number(value) });
  return PLAIN.get(quantity)!;
}

const PLAIN = new Map<Quantity, Quantity>();

export const PER_DECADE = 120; // pixels of a drag that multiply by ten

/** "12 GB/s", or "6 – 12 GB/s" where values differ. */
export function writeRange(quantity: Quantity, { low, high }: Range): string {
  if (low === high) return quantity.write(low);
  const [from, to] = [quantity.write(low), quantity.write(high)];
  const [number, unit] = split(from);
  return unit === split(to)[1] ? `${number}–${to}` : `${from} – ${to}`;
}

/**
 * The number someone typed, in SI units, or the sentence that refuses it. "∞" and "unlimited" where that is a value; memory in GiB, too.
 *
 * A bare number counts in the unit of `shown`, the value that stood there: 20 in place of "10 TFLOP/s" is 20 TFLOP/s.
 * One with an exponent counts in the plain unit, as in Python; beside "∞" or a zero, which have no scale, it must say its unit.
 */
export function read(quantity: Quantity, typed: string, shown = ""): number | string {
  const { name, unit, low, high, write } = quantity;
  const value = parsed(quantity, withUnit(typed.trim(), shown, unit));
  if (Number.isNaN(value)) return `Not a ${name}: write a number${unit && " and its unit"}, as ${quantity.example}.`;
  if (value < low)
    return low === 0
      ? `The ${name} must not be less than 0.`
      : `The ${name} must be ${value > 0 ? `at least ${write(low)}` : "more than 0"}.`;
  return value <= high || (value === Infinity && quantity.end) ? value : `The ${name} must be at most ${write(high)}.`;
}

function withUnit(text: string, shown: string, unit: string): string {
  if (!unit || !/^[-−+]?(\d+[.,]?\d*|[.,]\d+)$/.test(text)) return text;
  const [number, before] = split(shown);
  if (!/[1-9]/.test(text) || /^[-−]/.test(text)) return `${text} ${unit}`; // needs no unit
  return /[1-9]/.test(number) ? text + before : shown ? `${text} ?` : text;
}

function parsed(quantity: Quantity, typed: string): number {
  let text = typed;
  const small = text === text.toLowerCase();
  if (quantity.end && small && ["∞", "inf", "infinite", "unlimited"].includes(text)) return Infinity;
  if (small && quantity.name !== "latency")
    text = text.replace(/(\d\s*)([mgtp])/, (_, number: string, prefix: string) => number + prefix.toUpperCase());
  const binary = quantity.name === "memory" && quantity.unit ? /^(.*?)([kmgt])ib$/i.exec(text) : null;
  if (binary) return parseSi(binary[1]!, "") * 1024 ** (1 + "kmgt".indexOf(binary[2]!.toLowerCase()));
  const bits = quantity.name === "bandwidth" && quantity.unit ? /^(.*?)(?:bit\/s|bps)$/i.exec(text) : null;
  return bits ? parseSi(bits[1]!, "") / 8 : parseSi(text, quantity.unit);
}

/**
 * The edit that multiplies the values in `range` by `total`: one value where all are equal, else a factor. A quantity beyond
 * its end is unlimited, null; a drag down from there starts at the end.
 */
export function scaled(quantity: Quantity, { low, high }: Range, total: number, digits: number): Change {
  if (low !== high) return { factor: Number(total.toPrecision(4)) };
  const { end = NaN } = quantity;
  const start = low === Infinity ? end : low;
  if (total * start > Math.max(end, start) || (low === Infinity && total === 1)) return { value: null };
  if (low === 0) return { value: total > 1 ? snap((quantity.zero ?? 1) * total, digits) : 0 };
  return { value: clamp(total === 1 ? low : snap(start * total, digits), quantity.low, quantity.high) };
}

/** A value as a screen reader says it. */
export const spoken = (text: string): string => text.replace("∞", "unlimited");

/** Marks of a logarithmic ruler: 1, 2, 5 times powers of ten between two values. */
export function decades(low: number, high: number): { value: number; major: boolean }[] {
  const marks: { value: number; major: boolean }[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const digit of [1, 2, 5]) {
      const value = Number(`${digit}e${power}`);
      if (value >= low && value <= high) marks.push({ value, major: digit === 1 });
    }
  }
  return marks;
}

/** A round number without superfluous digits, for a ruler: "100 MB/s". */
export const writeRound = (quantity: Quantity, value: number): string =>
  quantity.unit ? si(value, quantity.unit, 1) : quantity.write(value);

function split(text: string): [string, string] {
  const at = text.indexOf(" ");
  if (at < 0) return [text, ""];
  return [text.slice(0, at), text.slice(at)];
}
