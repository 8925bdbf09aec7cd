/** A page that recomputes: the kernels in the browser, and controls above the chart. Written by placelab/app/export.py. */
import { place } from "../kernels/place.ts";
import { type Costs, decodeProblem, MEMORY, type Problem, problemOf } from "../kernels/problem.ts";
import { type Run, simulate } from "../kernels/simulate.ts";
import { inWholeCosts } from "../kernels/whole.ts";
import { packKept, packMemory, packRun } from "../kernels/wire.ts";
import { subscribe } from "../shared/bus.ts";
import type { Model } from "../shared/model.ts";
import { code } from "./code.ts";
import { dialsOf, turned } from "./dials.ts";
import { panel, type Wish } from "./panel.ts";
import type { LiveTraits } from "./traits.ts";

const SAVED = ["schedule", "kept", "memory", "numbers"] as const; // traits of the chart that a change replaces
const NOTHING = new DataView(new ArrayBuffer(0));

/** Puts the controls above the chart whose model this is, and lets the chart follow them. */
function start(model: Model<LiveTraits>): void {
  const { shape, costs, placed } = decodeProblem(model.get("problem"));
  const setting = model.get("live");
  const unchanged = new Map(SAVED.map((name) => [name, model.get(name)]));
  const before = simulate(problemOf(shape, costs), placed, setting.scheduler);
  const outline = packKept(problemOf(shape, costs), before);
  const dials = dialsOf(shape, costs, setting);
  let frame = 0;
  const controls = panel(setting, dials, model.get("unitless"), () => {
    if (!frame) frame = requestAnimationFrame(follow); // the newest change wins
  });

  function follow(): void {
    frame = 0;
    const wish = controls.wish();
    try {
      recompute(wish, turned(costs, dials, wish.steps));
    } catch (error) {
      controls.refuse(error instanceof Error ? error.message : String(error));
    }
  }

  function recompute(wish: Wish, now: Costs): void {
    const partitioner = setting.partitioner === wish.partitioner && wish.steps.size === 0 ? null : planner(wish);
    const problem = problemOf(shape, now);
    if (wish.scheduler === "planned" && !planner(wish) && placed.planned.length === 0)
      throw new Error("The ops were placed without a plan, which the scheduler planned needs: choose another one.");
    const run = simulate(problem, partitioner ? place(problem, partitioner) : placed, wish.scheduler);
    const text = code(costs, now, planner(wish), wish.scheduler);
    if (isSaved(wish)) for (const [name, value] of unchanged) model.set(name, value as never);
    else draw(problem, run);
    controls.show({ makespan: run.makespan, saved: before.makespan, code: text });
  }

  function isSaved({ partitioner, scheduler, steps }: Wish): boolean {
    return steps.size === 0 && partitioner === setting.partitioner && scheduler === setting.scheduler;
  }

  /** The run, the saved one behind it; what else was said of that one holds no more. */
  function draw(problem: Problem, run: Run): void {
    const counted = shape.memory.model !== MEMORY.none || model.get("memory_shown");
    model.set("memory", counted ? packMemory(problem, run) : NOTHING);
    model.set("numbers", []);
    model.set("kept", outline);
    model.set("schedule", packRun(problem, run));
  }

  document.querySelector("main")!.before(controls.element);
  model.on("change:memory_shown", follow); // which may want curves that are not there
  follow();
}

/** The partitioner of a wish, null where ops stay where they are. */
function planner({ partitioner }: Wish): string | null {
  return partitioner === "as placed" ? null : partitioner;
}

if (typeof document !== "undefined") subscribe(document.body, "model", start);

export { decodeProblem, inWholeCosts, packMemory, packRun, place, problemOf, simulate };
