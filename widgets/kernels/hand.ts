/** Schedules by hand: placelab.analysis.hand_plans, to the last bit. What is legal, kernels decide. */
import { first_gap, in_sequence, mark_before_and_behind, order_all } from "./kernels.generated.ts";
import { MEMORY, type Placed, type Problem, pointers, type Shape } from "./problem.ts";
import { sum } from "./ranks.ts";
import type { Run } from "./simulate.ts";
import { ascending, numbers } from "./sorted.ts";

const ROUNDING = 1e-9; // relative; of times that are compared

/** A plan that has run: a device for each op and, in `planned`, one order of all that holds edges and devices' orders. */
export interface Plan extends Placed {
  readonly run: Run;
}

/** Where in a device's order ops may stand, one behind the other: at positions from `first` to `last`, among the ops that do not move. */
export interface Places {
  readonly lane: Int32Array;
  readonly first: number;
  readonly last: number;
  /** The position by earliest start. */
  readonly start: number;
  /** When the inputs of the first are there. */
  readonly ready: number;
}

/** A plan of what has run: its devices, and the order in which each started its ops. */
export function planOf({ shape }: Problem, { device, planned }: Placed, run: Run, scheduler: string): Placed {
  const { nDevices } = shape;
  const order = scheduler === "planned" ? planned : ascending(run.start, ascending(run.finish));
  return planWith(shape, device, lanesOf(device, order, nDevices));
}

/** The plan with these orders of devices; throws where they and the edges form a circle. */
export function planWith(shape: Shape, device: Int32Array, lanes: readonly Int32Array[]): Placed {
  return { device, planned: oneOrder(shape, lanes, numbers(shape.nOps)) };
}

/** Each device's ops in the order of `planned`. */
export function lanesOf(device: Int32Array, planned: Int32Array, k: number): Int32Array[] {
  const ptr = pointers(device, k);
  const all = new Int32Array(planned.length);
  in_sequence(device, planned, ptr.slice(0, k), all);
  return Array.from({ length: k }, (_, d) => all.subarray(ptr[d]!, ptr[d + 1]!));
}

/** Ops in the order of a plan. */
export function blockOf({ planned }: Placed, ops: Iterable<number>): number[] {
  const together = new Set(ops);
  return [...planned].filter((v) => together.has(v));
}

/** Whether all inputs of an op are placed. */
export function isReady({ predPtr, predEdge, producer }: Shape, placed: Uint8Array, op: number): boolean {
  return predEdge.subarray(predPtr[op]!, predPtr[op + 1]!).every((e) => placed[producer[e]!] === 1);
}

/**
 * The plan of which only a part is there: `device` is -1 of the ops that wait. They stand behind all others, each on the device of its
 * group or, where none of that is placed, on the first that may run it. Throws where an op is there before its inputs.
 */
export function begun(
  shape: Shape,
  device: Int32Array,
  lanes: readonly Int32Array[],
  mayRun: (op: number, device: number) => boolean,
): Placed {
  const { nOps, nDevices, group } = shape;
  const placed = Uint8Array.from(device, (d) => Number(d >= 0));
  const homes = new Map<number, number>();
  device.forEach((d, v) => {
    if (d < 0) return;
    if (!isReady(shape, placed, v))
      throw new Error("This link has a plan by hand in which ops are placed before their inputs.");
    if (group[v]! >= 0) homes.set(group[v]!, d);
  });
  const all = Array.from(lanes, (lane) => [...lane]);
  const there = device.slice();
  for (let v = 0; v < nOps; v++) {
    if (there[v]! >= 0) continue;
    const first = numbers(nDevices).find((d) => mayRun(v, d)) ?? 0;
    there[v] = homes.get(group[v]!) ?? first;
    if (group[v]! >= 0) homes.set(group[v]!, there[v]!);
    all[there[v]!]!.push(v);
  }
  const orders = all.map((lane) => Int32Array.from(lane));
  return planWith(shape, there, orders);
}

/** The plan with the ops that are not placed behind all that are, on the devices where they are. */
export function behind(shape: Shape, { device, planned }: Placed, placed: Uint8Array): Placed {
  const lanes = lanesOf(device, planned, shape.nDevices);
  const sorted = lanes.map((lane) =>
    Int32Array.of(...lane.filter((v) => placed[v]), ...lane.filter((v) => !placed[v])),
  );
  return planWith(shape, device, sorted);
}

/** What is drawn of the run of the ops that are placed: 1 for each of them, then for each transfer. */
export const drawnOf = ({ transfers }: Run, placed: Uint8Array): DataView =>
  new DataView(Uint8Array.from([...placed, ...transfers.tensor.map(() => 1)]).buffer);

/** Where on a device ops may stand; `block` in the order of the plan. */
export function placesOf(problem: Problem, plan: Plan, block: readonly number[], device: number): Places {
  const { shape } = problem;
  const { nOps: n, nDevices: k } = shape;
  const home = plan.device.slice();
  const [moves, before, behind] = [new Uint8Array(n), new Uint8Array(n), new Uint8Array(n)];
  for (const v of block) {
    home[v] = -1;
    moves[v] = 1;
  }
  for (const v of looseOf(shape, plan.device, block, device)) home[v] = -1;
  const { succPtr, consumer } = shape;
  mark_before_and_behind(plan.planned, home, moves, succPtr, consumer, new Uint8Array(k), before, behind);
  const lane = lanesOf(plan.device, plan.planned, k)[device]!.filter((v) => home[v]! >= 0);
  const first = lane.findLastIndex((v) => before[v] === 1) + 1;
  const found = lane.findIndex((v) => behind[v] === 1);
  const last = found < 0 ? lane.length : found;
  const ready = readyAt(problem, plan, block[0]!, device);
  return { lane, first, last, start: earliest(problem, plan, block, device, { lane, first, last, ready }), ready };
}

/** Why a device has no room for ops and what moves with them: the bytes that they keep for ever; 0 where it has. */
export function lacking({ shape }: Problem, { device }: Placed, block: readonly number[], where: number): number {
  const { group, memory } = shape;
  const groups = new Set(block.map((v) => group[v]!).filter((g) => g >= 0));
  const moves = (v: number) => block.includes(v) || groups.has(group[v]!);
  const moving = [...device.keys()].filter(moves);
  const held = sum(Float64Array.from(moving, (v) => memory.lasting[v]!));
  const leaves = moving.some((v) => device[v] !== where);
  return memory.model !== MEMORY.none && leaves && held > memory.capacity[where]! ? held : 0;
}

/** The plan with ops at a legal position of a device; members of their groups that come with them keep their place in time. */
export function moved(
  shape: Shape,
  plan: Placed,
  block: readonly number[],
  device: number,
  { lane }: Places,
  at: number,
): Placed {
  const loose = looseOf(shape, plan.device, block, device);
  const gone = new Set([...block, ...loose]);
  const lanes = lanesOf(plan.device, plan.planned, shape.nDevices).map((each) => each.filter((v) => !gone.has(v)));
  lanes[device] = Int32Array.of(...lane.subarray(0, at), ...block, ...lane.subarray(at));
  const there = plan.device.slice();
  for (const v of gone) there[v] = device;
  return settled(shape, plan, there, lanes, loose);
}

/** The plan in which two ops have exchanged devices and places; null where edges and orders would form a circle. */
export function swapped(shape: Shape, plan: Placed, a: number, b: number): Placed | null {
  const [one, other] = [plan.device[a]!, plan.device[b]!];
  const loose =
    one === other ? [] : [...looseOf(shape, plan.device, [a], other), ...looseOf(shape, plan.device, [b], one)];
  const there = plan.device.slice();
  for (const v of looseOf(shape, plan.device, [a], other)) there[v] = other;
  for (const v of looseOf(shape, plan.device, [b], one)) there[v] = one;
  [there[a], there[b]] = [other, one];
  const lanes = lanesOf(plan.device, plan.planned, shape.nDevices).map((lane) =>
    lane.map((v) => (v === a ? b : v === b ? a : v)).filter((v) => !loose.includes(v)),
  );
  try {
    return settled(shape, plan, there, lanes, loose);
  } catch {
    return null;
  }
}

/** The plan with these orders of devices; `loose` ops are in none of them, and keep their place in time. */
function settled(
  shape: Shape,
  { planned }: Placed,
  device: Int32Array,
  lanes: readonly Int32Array[],
  loose: readonly number[],
): Placed {
  if (!loose.length) return planWith(shape, device, lanes);
  const rank = new Int32Array(shape.nOps);
  planned.forEach((v, i) => (rank[v] = i));
  return planWith(shape, device, lanesOf(device, oneOrder(shape, lanes, rank), shape.nDevices));
}

/** Other members of the groups of ops, which come to the device with them. */
function looseOf({ group }: Shape, device: Int32Array, block: readonly number[], where: number): number[] {
  const groups = new Set(block.map((v) => group[v]!).filter((g) => g >= 0));
  if (!groups.size) return [];
  return [...numbers(group.length)].filter((v) => groups.has(group[v]!) && !block.includes(v) && device[v] !== where);
}

/** When the inputs of an op are on a device if nothing else moves. */
function readyAt({ shape, costs }: Problem, { device, run }: Plan, op: number, where: number): number {
  let ready = 0;
  for (let i = shape.predPtr[op]!; i < shape.predPtr[op + 1]!; i++) {
    const e = shape.predEdge[i]!;
    const source = device[shape.producer[e]!]!;
    const pair = source * shape.nDevices + where;
    const bytes = costs.tensorBytes[shape.edgeTensor[e]!]!;
    const way = source === where ? 0 : costs.latency[pair]! + bytes / costs.bandwidth[pair]!;
    ready = Math.max(ready, run.finish[shape.producer[e]!]! + way);
  }
  return ready;
}

/** The position by earliest start: of the first gap that is long enough, else behind what starts before `ready`. */
function earliest(
  problem: Problem,
  { run }: Plan,
  block: readonly number[],
  where: number,
  { lane, first, last, ready }: Omit<Places, "start">,
): number {
  const { cost, column, columns, divisor } = problem.times;
  const took = sum(Float64Array.from(block, (v) => cost[v * columns + column[where]!]! / divisor[where]!));
  const [begin, end] = [run.start, run.finish].map((times) => Float64Array.from(lane, (v) => times[v]!));
  return first_gap(begin, end, first, last, ready, took, ROUNDING);
}

/** All ops in one order that holds edges and devices' orders; of those that could come next the least `rank`. */
function oneOrder(shape: Shape, lanes: readonly Int32Array[], rank: Int32Array): Int32Array {
  const { nOps: n, succPtr, consumer } = shape;
  const follows = new Int32Array(n).fill(-1);
  const waits = new Int32Array(n);
  for (const w of consumer) waits[w]! += 1;
  for (const lane of lanes)
    lane.forEach((v, i) => {
      if (i > 0) waits[v]! += 1;
      if (i + 1 < lane.length) follows[v] = lane[i + 1]!;
    });
  const ranked = new Int32Array(n);
  rank.forEach((r, v) => (ranked[r] = v));
  const order = new Int32Array(n);
  if (order_all(follows, waits, succPtr, consumer, rank, ranked, new Int32Array(n), order) < n)
    throw new Error("The orders of the devices and the edges form a circle.");
  return order;
}
