/** The move of one op of the critical path that shortens a plan most: placelab.analysis.improving, to the last bit. */

import { lacking, lanesOf, moved, type Plan, placesOf } from "./hand.ts";
import { shorter } from "./kernels.generated.ts";
import { isShort } from "./memory.ts";
import type { Placed, Problem } from "./problem.ts";
import { type Run, simulate } from "./simulate.ts";
import { pathOf } from "./wire.ts";

const SAVES = 1e-9; // of the makespan; less is rounding
const AT_ONCE = 64; // plans of which the shortest is taken first, as in Python

export interface Move {
  readonly op: number;
  readonly device: number;
  readonly makespan: number;
  readonly plan: Placed;
}

/** Tries move after move; what it yields is the best so far, null for none. `may`: whether a device may run an op. */
export function* bestMoves(problem: Problem, plan: Plan, may: (op: number, device: number) => boolean) {
  const { shape } = problem;
  const short = isShort(problem, plan.run);
  let best: Move | null = null;
  let some: (Move & { run: Run })[] = [];
  const better = () => {
    const [makespans, tried] = [Float64Array.from(some, (each) => each.makespan), new Uint8Array(some.length)];
    const least: number = best === null ? plan.run.makespan : best.makespan;
    for (let i = shorter(makespans, tried, least, SAVES); i >= 0; i = shorter(makespans, tried, least, SAVES)) {
      const { run, ...move } = some[i]!;
      if (short || !isShort(problem, run)) {
        best = move;
        break;
      }
      tried[i] = 1;
    }
    some = [];
  };
  for (const op of pathOf(problem, plan.run)) {
    for (let device = 0; device < shape.nDevices; device++) {
      if (!may(op, device) || lacking(problem, plan, [op], device)) continue;
      const places = placesOf(problem, plan, [op], device);
      if (places.first > places.last) continue;
      const there = moved(shape, plan, [op], device, places, places.start);
      if (isSame(plan, there, shape.nDevices)) continue;
      const run = simulate(problem, there, "planned");
      some.push({ op, device, makespan: run.makespan, plan: there, run });
      if (some.length === AT_ONCE) better();
      yield best;
    }
  }
  better();
  yield best;
}

function isSame(a: Placed, b: Placed, k: number): boolean {
  if (a.device.some((d, v) => d !== b.device[v])) return false;
  const [one, other] = [lanesOf(a.device, a.planned, k), lanesOf(b.device, b.planned, k)];
  return one.every((lane, d) => lane.every((v, i) => v === other[d]![i]));
}
