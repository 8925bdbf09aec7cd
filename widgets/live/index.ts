/** A page that recomputes: the kernels in the browser, and controls above the chart. Written by placelab/app/export.py. */
import { place } from "../kernels/place.ts";
import { type Costs, decodeProblem, MEMORY, type Placed, type Problem, problemOf } from "../kernels/problem.ts";
import { type Run, simulate } from "../kernels/simulate.ts";
import { inWholeCosts } from "../kernels/whole.ts";
import { packKept, packMemory, packRun } from "../kernels/wire.ts";
import { subscribe } from "../shared/bus.ts";
import type { Model } from "../shared/model.ts";
import { isSaved, type Page, read, type Wish, written } from "./address.ts";
import { code } from "./code.ts";
import { dialsOf, REACH, turned } from "./dials.ts";
import { panel } from "./panel.ts";
import { Past } from "./past.ts";
import type { LiveTraits } from "./traits.ts";

const SAVED = ["schedule", "kept", "memory", "numbers"] as const; // traits of the chart that a change replaces
const NOTHING = new DataView(new ArrayBuffer(0));

/** Puts the controls above the chart whose model this is, and lets the chart follow them. */
function start(model: Model<LiveTraits>): void {
  const { shape, costs, placed } = decodeProblem(model.get("problem"));
  const setting = model.get("live");
  const unchanged = new Map(SAVED.map((name) => [name, model.get(name)]));
  const names = new TextDecoder().decode(model.get("names")).split("\n");
  const before = simulate(problemOf(shape, costs), placed, setting.scheduler);
  const outline = packKept(problemOf(shape, costs), before);
  const dials = dialsOf(shape, costs, setting);
  const page: Page = { setting, dials, reach: REACH, nOps: shape.nOps };
  const past = new Past("#");
  let frame = 0;
  let shown = before.device;
  const controls = panel(setting, dials, model.get("unitless"), { changed, settled, undo, redo, makespan });

  function changed(): void {
    if (!frame) frame = requestAnimationFrame(follow); // the newest change wins
  }

  function follow(): void {
    frame = 0;
    const wish = controls.wish();
    try {
      recompute(wish, turned(costs, dials, wish.steps));
    } catch (error) {
      controls.refuse(said(error));
    }
  }

  function recompute(wish: Wish, now: Costs): void {
    const problem = problemOf(shape, now);
    const run = simulate(problem, moved(placedBy(wish, problem, wish.steps.size === 0), wish), wish.scheduler);
    if (isSaved(wish, setting)) for (const [name, value] of unchanged) model.set(name, value as never);
    else draw(problem, run);
    shown = run.device;
    const text = code(costs, now, planner(wish), wish.scheduler, membersOf(wish));
    controls.show({ makespan: run.makespan, saved: before.makespan, code: text });
    pick();
  }

  /** Where the ops are, and their plan, before any is moved by hand; `asSaved`: at the costs with which the page was saved. */
  function placedBy(wish: Wish, problem: Problem, asSaved: boolean): Placed {
    const name = planner(wish);
    if (name && !(asSaved && name === setting.partitioner)) return place(problem, name);
    if (wish.scheduler === "planned" && !name && placed.planned.length === 0)
      throw new Error("The ops were placed without a plan, which the scheduler planned needs: choose another one.");
    return placed;
  }

  /** Ops that moved by hand, each with all that must be where it is. */
  function membersOf(wish: Wish): Map<number, number> {
    const members = new Map<number, number>();
    for (const [op, device] of wish.moves) {
      const group = shape.group[op]!; // -1 for none
      members.set(op, device);
      if (group >= 0)
        shape.group.forEach((other, v) => {
          if (other === group) members.set(v, device);
        });
    }
    return members;
  }

  function moved({ device, planned }: Placed, wish: Wish): Placed {
    if (wish.moves.size === 0) return { device, planned };
    const there = device.slice();
    for (const [op, at] of membersOf(wish)) there[op] = at;
    return { device: there, planned };
  }

  /** Of a strategy by itself, at the saved costs or at those that the hand has set. */
  function makespan(partitioner: string, scheduler: string, asSaved: boolean): number {
    const wish = { ...controls.wish(), partitioner, scheduler };
    const problem = problemOf(shape, asSaved ? costs : turned(costs, dials, wish.steps));
    return simulate(problem, placedBy(wish, problem, asSaved || wish.steps.size === 0), scheduler).makespan;
  }

  /** The run, the saved one behind it; what else was said of that one holds no more. */
  function draw(problem: Problem, run: Run): void {
    const counted = shape.memory.model !== MEMORY.none || model.get("memory_shown");
    model.set("memory", counted ? packMemory(problem, run) : NOTHING);
    model.set("numbers", []);
    model.set("kept", outline);
    model.set("schedule", packRun(problem, run));
  }

  /** Offers to move the op that is selected in the chart. */
  function pick(): void {
    const op = model.get("selection");
    controls.offer(
      op >= 0 && setting.partitioners.length > 1 ? { op, name: names.at(op) ?? `op ${op}`, device: shown[op]! } : null,
    );
  }

  /** A change is whole: it can be undone, and the address has it. */
  function settled(): void {
    if (past.add(written(controls.wish(), setting))) tell();
  }

  function tell(): void {
    controls.reach(past.canUndo, past.canRedo);
    setAddress(past.now);
    if (parent !== window) parent.postMessage({ placelab: past.now }, "*"); // to the page that embeds this one
  }

  function undo(): void {
    goTo(past.undo());
  }

  function redo(): void {
    goTo(past.redo());
  }

  function goTo(state: string | null): void {
    if (state === null) return;
    controls.put(read(state, page));
    tell();
    changed();
  }

  /** The state that the address has, as a link brings it; where it is of another page, a sentence says so. */
  function heed(): void {
    if (location.hash === past.now || (location.hash === "" && past.now === "#")) return;
    try {
      controls.put(read(location.hash, page));
      settled();
      changed();
    } catch (error) {
      controls.refuse(said(error));
    }
  }

  const main = document.querySelector("main")!;
  main.before(controls.element);
  if (controls.below) main.after(controls.below);
  model.on("change:memory_shown", follow); // which may want curves that are not there
  model.on("change:selection", pick);
  addEventListener("hashchange", heed);
  follow();
  heed();
}

/** The partitioner of a wish, null where ops stay where they are. */
function planner({ partitioner }: Wish): string | null {
  return partitioner === "as placed" ? null : partitioner;
}

function setAddress(hash: string): void {
  try {
    history.replaceState(null, "", hash);
  } catch {
    location.replace(hash); // a page from a file may not do the former in older browsers
  }
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (typeof document !== "undefined") subscribe(document.body, "model", start);

export { decodeProblem, inWholeCosts, packMemory, packRun, place, problemOf, simulate };
