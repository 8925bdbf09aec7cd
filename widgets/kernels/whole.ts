/** Costs in the decimal unit of time that makes them whole, in which partitioners plan: placelab.problem.whole_costs, to the last bit. */
import { common_divisor, whole_again } from "./kernels.generated.ts";
import { type Costs, MEMORY, type Shape } from "./problem.ts";

const DIGITS = 11; // of the largest cost
const PARTS = 30; // speeds and bandwidths may be thirds, sevenths … up to this
const ROUNDING = 2e-15;
const WIDEST = 290; // decimal places

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
  const carried = rate.places > -Infinity ? sent.places - rate.places : -Infinity;
  const unit = Math.max(work.places - speed.places, carried, seconds.places);
  const ops = Math.max(work.places, unit + speed.places);
  const sizes =
    shape.memory.model === MEMORY.none && carried > -Infinity ? Math.max(sent.places, unit + rate.places) : 0;
  if (!(unit || ops || sizes) || Math.abs(unit) > WIDEST || Math.log10(longest(costs)) + unit > DIGITS + 1)
    return given;
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

function numbersOf(columns: readonly Float64Array[], parts = 1): Numbers {
  const finite = columns.map((column) => column.filter(Number.isFinite));
  let largest = 0;
  for (const column of finite) for (const x of column) if (x > largest) largest = x;
  if (largest === 0) return { places: -Infinity, parts: 1 };
  const leading = -decade(largest);
  for (let q = 1; q <= parts && Math.abs(leading) < WIDEST; q++) {
    const places = placesOf(finite, q, leading + DIGITS);
    if (places < Infinity) return { places, parts: q };
  }
  return { places: leading, parts: 0 };
}

/** The power of ten at or below x, above it by rounding at most. */
function decade(x: number): number {
  const power = Number(x.toExponential().split("e")[1]);
  return x * (1 + ROUNDING * Math.LN10) >= tenTo(power + 1) ? power + 1 : power;
}

/** The least decimal places with which the numbers times `q` are whole; infinite where the finest do not do. */
function placesOf(columns: readonly Float64Array[], q: number, finest: number): number {
  let zeros = Infinity;
  for (const column of columns) {
    let common: number = common_divisor(column, q, tenTo(Math.abs(finest)), finest < 0, ROUNDING);
    if (common < 0) return Infinity;
    if (common === 0) continue; // of zeros alone
    let own = 0;
    for (; common % 10 === 0; common /= 10) own += 1;
    zeros = Math.min(zeros, own);
  }
  return finest - zeros;
}

function timesTenTo(column: Float64Array, { places, parts }: Numbers, power: number): Float64Array {
  if (places === -Infinity) return column;
  if (!parts) return column.map((x) => shifted(x, power));
  const result = new Float64Array(column.length);
  const then = power - places;
  whole_again(column, parts, tenTo(Math.abs(places)), places < 0, tenTo(Math.abs(then)), then >= 0, result);
  return result;
}

/** An upper bound of each time. */
function longest({ compute, speed, tensorBytes, bandwidth, linkBandwidth, latency, time }: Costs): number {
  const slowest = Math.min(least(bandwidth), least(linkBandwidth));
  return Math.max(most(compute) / least(speed), most(tensorBytes) / slowest, most(latency), most(time)) || 1;
}

const most = (column: Float64Array) => column.reduce((top, x) => (Number.isFinite(x) && x > top ? x : top), 0);
const least = (column: Float64Array) => column.reduce((low, x) => Math.min(x, low), Infinity);
const shifted = (x: number, places: number) => (places >= 0 ? x * tenTo(places) : x / tenTo(-places));
/** Read, not computed: `**` need not give the nearest number. */
const tenTo = (power: number) => Number(`1e${power}`);

/** The nearest whole number, of two the even one. */
export function rint(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  return rest < 0.5 ? low : rest > 0.5 || low % 2 ? low + 1 : low;
}
