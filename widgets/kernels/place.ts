/** Partitioners, as long as memory is no limit: their plans, and what the library says of those. */
import { float64 } from "./made.ts";
import { isShort, lacksForEver } from "./memory.ts";
import { cpop, etf, heft, minMin, type Plan, peft, type Sent, tfGreedy } from "./plans.ts";
import { CONTENTION, MEMORY, type Placed, type Problem, problemOf, type Shape } from "./problem.ts";
import { moves, type Run, simulate } from "./simulate.ts";
import { ascending } from "./sorted.ts";
import { inWholeCosts } from "./whole.ts";

interface Partitioner {
  plan(problem: Problem): Plan & Partial<Sent>;
  /** Whether it plans anew where its plan is short of memory; else it fails where ops take too much for the whole run. */
  readonly minds: boolean;
}

/** Partitioners by name. */
export const PARTITIONERS: Readonly<Record<string, Partitioner>> = {
  heft: { plan: heft, minds: true },
  peft: { plan: peft, minds: true },
  cpop: { plan: cpop, minds: true },
  "min-min": { plan: minMin, minds: true },
  "tf-greedy": { plan: tfGreedy, minds: true },
  etf: { plan: etf, minds: false },
  "m-etf": { plan: etf, minds: true },
};

/** Device of each op, and the planned order. Throws where the plan is short of memory, around which the library would plan. */
export function place(problem: Problem, name: string): Placed {
  const { shape, costs } = problem;
  const { plan, minds } = PARTITIONERS[name]!;
  const whole = problemOf(shape, inWholeCosts(shape, costs));
  const made = plan(whole);
  const { device, start, finish, order } = made;
  const planned = ascending(start, ascending(finish, order));
  const placed = { device, planned };
  if (shape.memory.binds) {
    const short = minds ? isShort(whole, plannedRun(whole, made)) : lacksForEver(shape, device);
    if (short || (mayRunLate(shape) && isShort(problem, simulate(problem, placed, "planned"))))
      throw new Error(
        `At these values the plan of ${name} is short of memory. placelab plans around that; this page does not.`,
      );
  }
  return placed;
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
