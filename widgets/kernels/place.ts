/** Partitioners: their plans, within memory where one made without regard to it is short, and what the library says of those. */
import { memory_waits } from "./kernels.generated.ts";
import { float64 } from "./made.ts";
import { isShort, lacksForEver } from "./memory.ts";
import { cpop, etf, heft, minMin, type Plan, peft, type Sent, StuckError, tfGreedy } from "./plans.ts";
import {
  CONTENTION,
  MEMORY,
  network,
  type Placed,
  type Problem,
  problemOf,
  type Shape,
  successors,
} from "./problem.ts";
import { moves, type Run, simulate } from "./simulate.ts";
import { oneDevice } from "./single.ts";
import { ascending } from "./sorted.ts";
import { wholeOf } from "./whole.ts";

const LATER = 1 + 1e-12; // of placelab.schedule.whole_costs: what an op waits for may end later by rounding

interface Partitioner {
  plan(problem: Problem, within?: boolean): Plan & Partial<Sent>;
  /** Whether it plans anew where its plan is short of memory; else it fails where ops take too much for the whole run. */
  readonly minds: boolean;
}

/** Places all ops on one device, without a plan. */
export const SINGLE = "single";

/** Partitioners that plan, by name. */
const PARTITIONERS: Readonly<Record<string, Partitioner>> = {
  heft: { plan: heft, minds: true },
  peft: { plan: peft, minds: true },
  cpop: { plan: cpop, minds: true },
  "min-min": { plan: minMin, minds: true },
  "tf-greedy": { plan: tfGreedy, minds: true },
  etf: { plan: etf, minds: false },
  "m-etf": { plan: etf, minds: true },
};

/** Device of each op, and the planned order. Throws where that is short of memory, which the library may find another way around. */
export function place(problem: Problem, name: string): Placed {
  const { shape, costs } = problem;
  const { costs: wholeCosts, second } = wholeOf(shape, costs);
  const whole = problemOf(shape, wholeCosts);
  if (name === SINGLE) return together(whole);
  const { plan, minds } = PARTITIONERS[name]!;
  const made = plan(whole);
  let placed: Placed = { device: made.device, planned: plannedOrder(made) };
  if (!shape.memory.binds) return placed;
  if (!minds && lacksForEver(shape, made.device)) throw short(name);
  if (minds && isShort(whole, plannedRun(whole, made))) placed = placedWithin(whole, second, name);
  if (mayRunLate(shape) && isShort(problem, simulate(problem, placed, "planned"))) throw short(name);
  return placed;
}

function together(whole: Problem): Placed {
  const device = oneDevice(whole);
  if (device < 0) throw short(SINGLE);
  return { device: new Int32Array(whole.shape.nOps).fill(device), planned: new Int32Array(0) };
}

/** The plan made anew with memory tracked over time; `second`: in units of time. */
function placedWithin(whole: Problem, second: number, name: string): Placed {
  try {
    const made = PARTITIONERS[name]!.plan(whole, true);
    const planned = plannedOrder(made);
    const waits = memoryWaits(whole, made, planned);
    const notBefore = second ? waits?.map((time) => (time / second) * LATER) : waits;
    return { device: made.device, planned, ...(notBefore ? { notBefore } : {}) };
  } catch (error) {
    throw error instanceof StuckError ? short(name) : error;
  }
}

function short(name: string): Error {
  return new Error(
    `At these values ${name} finds no plan that is not short of memory. placelab looks for others; this page does not.`,
  );
}

function plannedOrder({ start, finish, order }: Plan): Int32Array {
  return ascending(start, ascending(finish, order));
}

/** When the plan lets each op start that waited for memory, 0 for the others; null where none waited: placelab.planning.list_scheduler. */
function memoryWaits(problem: Problem, plan: Plan & Partial<Sent>, planned: Int32Array): Float64Array | null {
  const { nOps, nDevices, producer } = problem.shape;
  const { device, start, finish, there } = plan;
  const waits = new Float64Array(nOps);
  const facts = [producer, successors(problem), network(problem), there ?? new Float64Array(0)] as const;
  const work = [new Int32Array(nDevices), new Float64Array(nOps)] as const;
  const waited: boolean = memory_waits(device, start, finish, ...facts, planned, ...work, waits);
  return waited ? waits : null;
}

/** Whether tensors may leave later than planned, and then be where there is no room for them. */
function mayRunLate({ contention, memory }: Shape): boolean {
  return contention !== CONTENTION.parallel && memory.model !== MEMORY.reserved;
}

/** A plan as a run: without times of its own, a transfer leaves when its producer ends. */
function plannedRun(problem: Problem, { device, start, finish, sent, there }: Plan & Partial<Sent>): Run {
  const { shape, costs } = problem;
  const k = shape.nDevices;
  const { tensor, source, destination, of_edge } = moves(problem, device).copies;
  const leaves = float64(tensor.length, (i) =>
    sent?.length ? sent[tensor[i]! * k + destination[i]!]! : finish[shape.tensorProducer[tensor[i]!]!]!,
  );
  const arrives = float64(tensor.length, (i) => {
    const pair = source[i]! * k + destination[i]!;
    const t = tensor[i]!;
    if (there?.length) return there[t * k + destination[i]!]!;
    return leaves[i]! + costs.latency[pair]! + costs.tensorBytes[t]! / costs.bandwidth[pair]!;
  });
  const transfers = { tensor, source, destination, start: leaves, finish: arrives, ofEdge: of_edge };
  return { device, start, finish, makespan: finish.reduce((a, b) => Math.max(a, b), 0), transfers };
}
