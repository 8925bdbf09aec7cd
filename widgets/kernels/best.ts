/** The move of one op of the critical path that shortens a plan most: placelab.analysis.improving, to the last bit. */
import { lacking, lanesOf, moved, type Plan, placesOf } from "./hand.ts";
import { isShort } from "./memory.ts";
import type { Placed, Problem } from "./problem.ts";
import { simulate } from "./simulate.ts";
import { pathOf } from "./wire.ts";

const SAVES = 1e-9; // of the makespan; less is rounding

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
  for (const op of pathOf(problem, plan.run)) {
    for (let device = 0; device < shape.nDevices; device++) {
      if (!may(op, device) || lacking(problem, plan, [op], device)) continue;
      const places = placesOf(problem, plan, [op], device);
      if (places.first > places.last) continue;
      const there = moved(shape, plan, [op], device, places, places.start);
      if (isSame(plan, there, shape.nDevices)) continue;
      const run = simulate(problem, there, "planned");
      const least: number = best === null ? plan.run.makespan : best.makespan;
      if (run.makespan < least * (1 - SAVES) && (short || !isShort(problem, run)))
        best = { op, device, makespan: run.makespan, plan: there };
      yield best;
    }
  }
}

function isSame(a: Placed, b: Placed, k: number): boolean {
  if (a.device.some((d, v) => d !== b.device[v])) return false;
  const [one, other] = [lanesOf(a.device, a.planned, k), lanesOf(b.device, b.planned, k)];
  return one.every((lane, d) => lane.every((v, i) => v === other[d]![i]));
}
