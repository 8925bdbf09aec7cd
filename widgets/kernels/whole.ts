/** Costs in the decimal unit of time that makes them whole, in which partitioners plan: placelab.schedule.whole_costs, to the last bit. */
import { decimal_places, decimal_unit, longest_time, whole_again } from "./kernels.generated.ts";
import { type Costs, MEMORY, type Shape } from "./problem.ts";

const DIGITS = 11; // of the largest cost
const PARTS = 30; // speeds and bandwidths may be thirds, sevenths … up to this
const ROUNDING = 2e-15;
const NEAR = 4.6e-15;
const LOW = 323; // of placelab/kernels/costs.py
const POWERS = Float64Array.from({ length: LOW + 309 }, (_, i) => Number(`1e${i - LOW}`)); // read, not computed

/** A kind of number: the least decimal places with which all of it is whole, times `parts`; 0 parts where none are. */
interface Numbers {
  readonly places: number;
  readonly parts: number;
}

export interface Whole {
  readonly costs: Costs;
  /** How many units a second is; 0 where the costs are as they were given. */
  readonly second: number;
}

/** These costs in the coarsest unit in which they are whole; themselves where there is none, or it is the second. */
export function inWholeCosts(shape: Shape, costs: Costs): Costs {
  return wholeOf(shape, costs).costs;
}

export function wholeOf(shape: Shape, costs: Costs): Whole {
  const given = { costs, second: 0 };
  if (!shape.mayBeWhole) return given;
  const work = numbersOf([costs.compute]);
  const sent = numbersOf([costs.tensorBytes]);
  if (!(work.parts && sent.parts)) return given;
  const seconds = numbersOf([costs.latency, costs.time]);
  if (!seconds.parts) return given;
  const speed = numbersOf([costs.speed, costs.timeSpeed], PARTS);
  const rate = numbersOf([costs.bandwidth, costs.linkBandwidth], PARTS);
  const places = [work.places, sent.places, seconds.places, speed.places, rate.places] as const;
  const sized = shape.memory.model === MEMORY.none;
  const [unit, ops, sizes] = decimal_unit(...places, sized, longest(costs), DIGITS + 1, NEAR, POWERS) as [
    number,
    number,
    number,
  ];
  if (Number.isNaN(unit)) return given;
  const whole = {
    compute: timesTenTo(costs.compute, work, ops),
    tensorBytes: timesTenTo(costs.tensorBytes, sent, sizes),
    time: timesTenTo(costs.time, seconds, unit),
    timeSpeed: timesTenTo(costs.timeSpeed, speed, ops - unit),
    speed: timesTenTo(costs.speed, speed, ops - unit),
    bandwidth: timesTenTo(costs.bandwidth, rate, sizes - unit),
    latency: timesTenTo(costs.latency, seconds, unit),
    linkBandwidth: timesTenTo(costs.linkBandwidth, rate, sizes - unit),
  };
  return { costs: whole, second: tenTo(unit) };
}

const known = new WeakMap<Float64Array, Numbers>(); // of columns that no hand changes, most of what there is to look at

function numbersOf(columns: readonly Float64Array[], parts = 1): Numbers {
  const [first, ...others] = columns.filter((column) => column.length);
  if (!first) return numbersIn(new Float64Array(0), parts);
  if (others.length) return numbersIn(Float64Array.from(columns.flatMap((column) => [...column])), parts);
  if (!known.has(first)) known.set(first, numbersIn(first, parts));
  return known.get(first)!;
}

function numbersIn(values: Float64Array, parts: number): Numbers {
  const [places, found] = decimal_places(values, parts, DIGITS, ROUNDING, NEAR, POWERS) as [number, number];
  return { places, parts: found };
}

function timesTenTo(column: Float64Array, { places, parts }: Numbers, power: number): Float64Array {
  if (places === -Infinity) return column;
  if (!parts) return column.map((x) => (power >= 0 ? x * tenTo(power) : x / tenTo(-power)));
  const result = new Float64Array(column.length);
  const then = power - places;
  whole_again(column, parts, tenTo(Math.abs(places)), places < 0, tenTo(Math.abs(then)), then >= 0, result);
  return result;
}

/** An upper bound of each time. */
function longest({ compute, speed, tensorBytes, bandwidth, linkBandwidth, latency, time }: Costs): number {
  return longest_time(compute, 0, tensorBytes, latency, time, speed, bandwidth, linkBandwidth);
}

const tenTo = (power: number) => POWERS[Math.min(power + LOW, POWERS.length - 1)]!;

/** The nearest whole number, of two the even one. */
export function rint(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  return rest < 0.5 ? low : rest > 0.5 || low % 2 ? low + 1 : low;
}
