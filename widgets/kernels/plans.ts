/** Plans without memory as a limit: what Python does around the kernels in placelab.strategies.partitioning. */
import {
  as_ready,
  choose_least,
  choose_ready,
  device_of_path,
  earliest_first,
  in_order,
  one_by_one,
  optimistic_cost,
  path_by_means,
  row_means,
} from "./kernels.generated.ts";
import {
  busy,
  eligible,
  facts,
  floats,
  inputs,
  kindsOf,
  limits,
  memoryOverTime,
  type Plan,
  planIn,
  readyOps,
  whole,
} from "./plan_blocks.ts";
import { CONTENTION, network, type Problem, successors } from "./problem.ts";
import {
  downwardRank,
  halves,
  inClasses,
  meanTransfer,
  NEAR,
  precedenceOrder,
  rounded,
  SAME,
  STEPS,
  staticLevel,
  upwardRank,
} from "./ranks.ts";

const FINISH = 0; // what is least: of list_schedule.py
const LEAST = 0; // which op goes first: of choose_ready.py
const FEW = 500; // ready ops up to which choose_ready is the quicker one

export type { Plan };

/** When each tensor leaves for each device and is there, where a planner plans that. */
export interface Sent {
  readonly sent: Float64Array;
  readonly there: Float64Array;
}

/** Nothing that is ready has room anywhere. */
export class StuckError extends Error {}

/** Always the first op of those whose inputs are placed, by its place or by when they were computed, where it has room. */
function oneByOne(
  problem: Problem,
  place: Int32Array,
  insertion: boolean,
  extra = floats(0),
  preferred: Int32Array = whole(problem.shape.nOps).fill(-1),
): Plan {
  const n = problem.shape.nOps;
  const plan = planIn(n);
  const agenda = { missing: whole(n), became: floats(n), heap: floats(2 * n), aside: floats(2 * n) };
  const work = [inputs(problem), memoryOverTime(problem), agenda, busy(problem, insertion)] as const;
  const aim = { rule: FINISH, extra };
  const placed: number = one_by_one(place, preferred, Number(insertion), aim, ...facts(problem), ...work, plan);
  if (placed < n) throw new StuckError();
  return plan;
}

/** The place of each op in an order. */
function placesIn(order: Int32Array): Int32Array {
  const place = whole(order.length);
  order.forEach((v, i) => (place[v] = i));
  return place;
}

export function heft(problem: Problem, within = false): Plan {
  return inserted(problem, within, inClasses(rounded(upwardRank(problem))).order);
}

/** As heft, but the rest of the graph, at best, counts for the order and for the device. */
export function peft(problem: Problem, within = false): Plan {
  const { nOps: n, nDevices: k } = problem.shape;
  const [ahead, table] = [floats(n * k), floats(n * k)];
  const means = meanTransfer(problem);
  optimistic_cost(...means, successors(problem), problem.times, network(problem), eligible(problem), ahead, table);
  const mean = floats(n);
  row_means(table, k, halves(), mean);
  return inserted(problem, within, precedenceOrder(problem, rounded(mean)), table);
}

/** The critical path on the device that runs it soonest. */
export function cpop(problem: Problem, within = false): Plan {
  const up = upwardRank(problem);
  const down = downwardRank(problem);
  const order = precedenceOrder(problem, rounded(up.map((x, v) => x + down[v]!)));
  const preferred = whole(problem.shape.nOps).fill(-1);
  const path = criticalPath(problem, up);
  const device: number = device_of_path(path, problem.times, eligible(problem), floats(problem.shape.nDevices));
  for (const v of path) preferred[v] = device;
  return inserted(problem, within, order, floats(0), preferred);
}

/** Ops of a longest path by mean times. */
function criticalPath(problem: Problem, up: Float64Array): Int32Array {
  const { nOps: n, nEdges, predPtr } = problem.shape;
  const most = n + nEdges;
  const work = [floats(most), floats(most), whole(most), floats(most), floats(2 * most), whole(most)] as const;
  const path = whole(n);
  const given = [...meanTransfer(problem), predPtr, successors(problem), up, STEPS, NEAR, SAME] as const;
  return path.subarray(0, path_by_means(...given, ...work, path));
}

/**
 * Ops of an order, each into the earliest gap of the device where its finish, and what is added to that, is least; `within`
 * memory, or as if there were no end of that.
 */
function inserted(
  problem: Problem,
  within: boolean,
  order: Int32Array,
  extra = floats(0),
  preferred?: Int32Array,
): Plan {
  const { nOps: n, nDevices: k } = problem.shape;
  if (within) return oneByOne(problem, placesIn(order), true, extra, preferred);
  const plan = planIn(n, order);
  const [pred, , ...rest] = facts(problem);
  const where = preferred ?? whole(n).fill(-1);
  in_order(where, 1, { rule: FINISH, extra }, pred, ...rest, floats(k), busy(problem), plan);
  return plan;
}

/** Of the ready ops always the one that finishes soonest; where many are ready, by another kernel. */
export function minMin(problem: Problem, within = false): Plan {
  const plan = soonestOfAll(problem);
  return within ? oneByOne(problem, placesIn(plan.order), false) : plan;
}

function soonestOfAll(problem: Problem): Plan {
  const { nOps: n, nDevices: k } = problem.shape;
  const plan = planIn(n);
  const given = [...facts(problem), { free: floats(k), arrival: floats(k) }] as const;
  const { kinds, tree } = kindsOf(problem);
  const most = 4 * tree.columns >= k ? FEW : 0;
  const done = most > 0 && choose_ready(LEAST, 0, most, floats(0), ...given, readyOps(problem.shape), plan) === 1;
  if (!done) choose_least(floats(0), ...given, kinds, tree, plan);
  return plan;
}

export function tfGreedy(problem: Problem, within = false): Plan {
  if (within) return oneByOne(problem, whole(0), false);
  const { nOps: n, nDevices: k } = problem.shape;
  const plan = planIn(n);
  const agenda = { missing: whole(n), became: floats(n), heap: floats(2 * n), aside: floats(0) };
  as_ready(...facts(problem), { free: floats(k), arrival: floats(k) }, agenda, plan);
  return plan;
}

export function etf(problem: Problem, within = false): Plan & Sent {
  const { nOps: n, nDevices: k, contention } = problem.shape;
  const { order: item, place: rank } = inClasses(rounded(staticLevel(problem)));
  const plan = planIn(n);
  const queues = {
    missing: whole(n),
    rank,
    item,
    later: floats(2 * n * k),
    n_later: whole(k),
    now: whole(n * k),
    n_now: whole(k),
  };
  const limited = within || contention === CONTENTION.ports || contention === CONTENTION.channel;
  const bounds = { ready_on: floats(limited ? n * k : 0), waits: whole(k), marked: whole(n) };
  const links = limits(problem, within);
  const placed: number = earliest_first(
    ...facts(problem),
    links,
    { free: floats(k), arrival: floats(k) },
    queues,
    bounds,
    plan,
  );
  if (placed < n) throw new StuckError();
  return { ...plan, sent: links.ports.sent, there: links.ports.there };
}
