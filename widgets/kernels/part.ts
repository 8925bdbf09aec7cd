/** A part of a problem: placelab.problem.part. */
import { edgesOf, type Placed, type Problem, problemOf } from "./problem.ts";
import { type Run, simulate } from "./simulate.ts";

/**
 * The problem of the ops that are placed, alone; null: of all. The others keep their numbers, but take no time, hold nothing, and no
 * edge leads to or from them. Only for runs: what planners read of memory stays that of the whole.
 */
export function partOf(problem: Problem, placed: Uint8Array | null): Problem {
  if (!placed) return problem;
  const { shape, costs, times } = problem;
  const { memory, producer, consumer, edgeTensor, tensorProducer } = shape;
  const those = (column: Float64Array, opOf = (i: number) => i) => column.map((x, i) => (placed[opOf(i)] ? x : 0));
  const isKept = (_: number, e: number) => placed[producer[e]!]! & placed[consumer[e]!]!;
  const firsts = new Map<number, number>(); // of each storage the first tensor of the part
  const storage = memory.storage.map((first, t) => {
    if (!placed[tensorProducer[t]!]) return t;
    if (!firsts.has(first)) firsts.set(first, t);
    return firsts.get(first)!;
  });
  const now = {
    ...shape,
    ...edgesOf(shape.nOps, edgeTensor.filter(isKept), consumer.filter(isKept), tensorProducer),
    memory: { ...memory, lasting: those(memory.lasting), temporary: those(memory.temporary), storage },
  };
  return {
    ...problemOf(now, { ...costs, tensorBytes: those(costs.tensorBytes, (t) => tensorProducer[t]!) }),
    times: { ...times, cost: those(times.cost, (i) => Math.floor(i / times.columns)) },
  };
}

/** The run of a plan by hand: of the ops of it that are placed. */
export const runOf = (problem: Problem, plan: Placed, placed: Uint8Array | null): Run =>
  simulate(partOf(problem, placed), plan, "planned");
