/** Ranks of ops, and orders by them: placelab.planning.ranks, to the last bit. */
import {
  downward,
  join_across_borders,
  mean_times,
  mean_transfer,
  path_computation_time,
  precedence_order,
  round_to_steps,
  sum_of,
  upward,
} from "./kernels.generated.ts";
import { durations, network, type Problem, successors } from "./problem.ts";
import { ascending } from "./sorted.ts";

export const STEPS = 2 ** 40;
export const NEAR = 1 / 32;
export const SAME = 1 / 128;

const HALVES = 192; // of placelab.planning.plan_arrays

/** Workspace of sums. */
export const halves = () => new Float64Array(HALVES);

export const sum = (values: Float64Array): number => sum_of(values, halves());

/** Mean time of each op over all devices. */
function meanExec({ shape, times }: Problem): Float64Array {
  const mean = new Float64Array(shape.nOps);
  mean_times(times, new Float64Array(shape.nDevices + times.columns), halves(), mean);
  return mean;
}

/** Mean latency, and mean time per byte, over ordered pairs of devices. */
export function meanTransfer({ shape, costs }: Problem): [number, number] {
  const k = shape.nDevices;
  const inverse = new Float64Array(k * k);
  return mean_transfer(costs.latency, costs.bandwidth, k, inverse, halves()) as [number, number];
}

export function upwardRank(problem: Problem): Float64Array {
  const rank = new Float64Array(problem.shape.nOps);
  upward(meanExec(problem), successors(problem), ...meanTransfer(problem), rank);
  return rank;
}

export function downwardRank(problem: Problem): Float64Array {
  const rank = new Float64Array(problem.shape.nOps);
  downward(meanExec(problem), successors(problem), ...meanTransfer(problem), rank);
  return rank;
}

export function staticLevel(problem: Problem): Float64Array {
  const rank = new Float64Array(problem.shape.nOps);
  upward(meanExec(problem), successors(problem), 0, 0, rank);
  return rank;
}

/** Rounded path computation times under a placement: the priorities of the scheduler pct. */
export function pathComputationTime(problem: Problem, device: Int32Array): Float64Array {
  const rank = new Float64Array(problem.shape.nOps);
  path_computation_time(
    durations(problem, device),
    device,
    successors(problem),
    network(problem),
    rank,
    new Float64Array(0),
  );
  return rounded(rank);
}

/** Ranks as they are compared: whole numbers of steps of the largest, or of another number. */
export function rounded(rank: Float64Array, largest = largestOf(rank)): Float64Array {
  const n = rank.length;
  const steps = new Float64Array(n);
  if (!(largest > 0)) return steps;
  const exact = new Float64Array(n);
  const near = new Int32Array(n);
  const count: number = round_to_steps(rank, largest, STEPS, NEAR, steps, near, exact);
  if (count > 1) {
    const rising = ascending(exact.subarray(0, count));
    join_across_borders(near.subarray(0, count), exact.subarray(0, count), rising, SAME, steps);
  }
  return steps;
}

/** The largest of some numbers, 0 where none is above. */
export function largestOf(values: Float64Array): number {
  return values.reduce((top, x) => Math.max(x, top), 0);
}

/** Of the ops whose inputs are listed always the one of highest priority, ties by number. */
export function precedenceOrder(problem: Problem, priority: Float64Array): Int32Array {
  const { order: item, place } = inClasses(priority);
  const [missing, heap, order] = [item, item, item].map(({ length }) => new Int32Array(length)) as [
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  precedence_order(place, item, successors(problem), missing, heap, order);
  return order;
}

/** Ops by falling priority, ties by number; the place of each; and the first place of those of equal priority, empty without ties. */
export function inClasses(priority: Float64Array): { order: Int32Array; place: Int32Array; shared: Int32Array } {
  const n = priority.length;
  const order = ascending(priority.map((x) => -x));
  const place = new Int32Array(n);
  const shared = new Int32Array(n).fill(-1);
  let first = 0;
  let ties = false;
  for (let i = 0; i < n; i++) {
    place[order[i]!] = i;
    if (priority[order[i]!] !== priority[order[first]!]) first = i;
    if (i > first) {
      shared[order[first]!] = first;
      shared[order[i]!] = first;
      ties = true;
    }
  }
  return { order, place, shared: ties ? shared : new Int32Array(0) };
}
