/** A page that recomputes: the kernels in the browser, and controls above the chart. Written by placelab/app/export.py. */
import "../gantt/index.ts"; // shows the schedule of the page, and tells of its model
import { bestMoves } from "../kernels/best.ts";
import { bestBound } from "../kernels/bounds.ts";
import * as plans from "../kernels/hand.ts";
import { isShort, peaksOf } from "../kernels/memory.ts";
import { place } from "../kernels/place.ts";
import {
  type Costs,
  decodeProblem,
  MEMORY,
  type Placed,
  type Problem,
  problemOf,
  type Shape,
  TRANSFERS,
  withMemory,
} from "../kernels/problem.ts";
import { type Run, simulate } from "../kernels/simulate.ts";
import { inWholeCosts } from "../kernels/whole.ts";
import { packKept, packMemory, packRun, pathParts } from "../kernels/wire.ts";
import { subscribe } from "../shared/bus.ts";
import { h } from "../shared/dom.ts";
import { number, seconds } from "../shared/format.ts";
import type { Model } from "../shared/model.ts";
import { HAS_ADDRESS, isOfSavedProblem, isSaved, type Page, read, type Wish, written } from "./address.ts";
import { alone } from "./alone.ts";
import { HandMode } from "./byhand.ts";
import type { Known } from "./canvas.ts";
import { code } from "./code.ts";
import { PAIRS, type Pair } from "./curve.ts";
import { dialsOf, timedOf } from "./dials.ts";
import { graphOf } from "./file.ts";
import { lanesAsText, lanesOfText } from "./lanes.ts";
import { panel } from "./panel.ts";
import { Past } from "./past.ts";
import type { LiveTraits, Puzzle, Said } from "./traits.ts";
import { columnsOf, type Values, withColumns, changed as withValues } from "./values.ts";

const SAVED = ["schedule", "kept", "memory", "numbers"] as const; // traits of the chart that a change replaces
const REST = 150; // ms without a change, after which what takes longer is computed
const AWAITED = "#file"; // the address of a page that another one sends a graph
const MANY = 10_000; // ops; the memory curves of more follow on release, as they take a third of a drag
const ROUNDING = 1e-9; // relative; of a puzzle's makespans
const NOTHING = new DataView(new ArrayBuffer(0));

/** Shows the saved schedule, or waits for the graph of a reader's own that the page around this one has been promised. */
function begin(model: Model<LiveTraits>): void {
  if (location.hash !== AWAITED || parent === window) return start(model, decodeProblem(model.get("problem")));
  addEventListener("message", function hear({ source, data }: MessageEvent) {
    if (source !== parent || typeof data?.graph !== "string") return;
    removeEventListener("message", hear);
    setAddress(`#${data.state ?? ""}`);
    try {
      start(model, withGraph(model, data.graph));
    } catch (error) {
      document.querySelector("main")!.before(h("p", { role: "alert" }, said(error)));
    }
  });
  parent.postMessage({ placelab: AWAITED }, "*");
}

/** The problem of another graph on the devices of the page, placed by HEFT; chart and title show it. */
function withGraph(model: Model<LiveTraits>, text: string): Start {
  const saved = decodeProblem(model.get("problem"));
  const setting = { ...model.get("live"), partitioner: "heft", scheduler: "planned", still: "" };
  const given = graphOf(text, saved.shape, saved.costs, setting);
  const problem = problemOf(given.shape, given.costs);
  const placed = place(problem, setting.partitioner);
  model.set("live", setting);
  model.set("names", new DataView(new TextEncoder().encode(given.names.join("\n")).buffer));
  model.set("kinds", new DataView(given.kinds.buffer as ArrayBuffer));
  model.set("kind_names", given.kindNames);
  model.set("memory", NOTHING);
  model.set("schedule", packRun(problem, simulate(problem, placed, setting.scheduler)));
  const title = `${given.title} · ${setting.names.length} devices`;
  document.title = title;
  document.querySelector("h1")!.textContent = title;
  return { shape: given.shape, costs: given.costs, placed };
}

/** What a page begins with. */
interface Start {
  readonly shape: Shape;
  readonly costs: Costs;
  readonly placed: Placed;
}

/** Puts the controls above the chart whose model this is, and lets the chart follow them. */
function start(model: Model<LiveTraits>, { shape, costs, placed }: Start): void {
  const setting = model.get("live");
  const first = problemOf(shape, costs);
  const before = simulate(first, placed, setting.scheduler);
  if (model.get("schedule").byteLength === 0) {
    model.set("memory", packMemory(first, before));
    model.set("schedule", packRun(first, before));
  }
  const unchanged = new Map(SAVED.map((name) => [name, model.get(name)]));
  const names = new TextDecoder().decode(model.get("names")).split("\n");
  const outline = packKept(first, before);
  const dials = dialsOf(shape, costs, setting);
  const columns = columnsOf(shape, costs);
  const page: Page = { setting, dials, saved: columns, nOps: shape.nOps };
  const past = new Past("#");
  let begun = ""; // the plan with which moves by hand began, which earns no stars
  let frame = 0;
  let whole = true; // the hand drags nothing
  let shown = { problem: first, placed, run: before };
  let picking = 0; // timers of what follows when the hand rests
  let resting = 0;
  const known: Known = {
    setting,
    saved: columns,
    unitless: model.get("unitless"),
    timed: timedOf(shape, costs),
  };
  const curve = { makespan: makespanAt, others };
  const controls = panel(known, dials, { changed, settled, undo, redo, makespan, curve });
  let bound: { of: string; time: number } | null = null; // the newest that was computed

  const time = (x: number) => (known.unitless ? number(x) : seconds(x));
  const mode = new HandMode({
    ground() {
      const wish = controls.wish();
      if (!wish.hand) return null;
      const problem = problemWith(wish);
      const plan = placedBy(wish, problem, false);
      return { problem, plan: { ...plan, run: simulate(problem, plan, "planned") }, names, setting, time };
    },
    show(plan, complete) {
      controls.setHand(textOf(plan));
      if (complete) settled();
      else changed();
    },
    tell: (held) => model.set("hand", held ?? {}),
    state: () => written(controls.wish(), page),
    say: (text) => model.set("detail", text),
  });
  const textOf = ({ device, planned }: Placed) => lanesAsText(plans.lanesOf(device, planned, shape.nDevices));

  /** Makes a plan by hand of what is shown; on leaving, puts back what is held. */
  function switched(): void {
    if (!model.get("by_hand")) return mode.putBack();
    const { hand: text, scheduler } = controls.wish();
    if (text) return;
    begun = textOf(plans.planOf(shown.problem, shown.placed, shown.run, scheduler));
    controls.setHand(begun);
    settled();
  }

  function changed(): void {
    if (!frame) frame = requestAnimationFrame(follow); // the newest change wins
  }

  function follow(): void {
    frame = 0;
    const wish = controls.wish();
    if (!wish.hand && model.get("by_hand")) model.set("by_hand", false); // another strategy was chosen
    try {
      recompute(wish);
    } catch (error) {
      controls.refuse(said(error));
    }
    if (whole && setting.puzzle) told(); // what the change has earned
    if (whole) controls.compare();
    whole = false;
  }

  function recompute(wish: Wish): void {
    const problem = problemWith(wish);
    const placedNow = placedIn(wish, problem);
    const run = simulate(problem, placedNow, wish.scheduler);
    const rival = wish.against ? ran(problem, rivalOf(wish, problem), wish.scheduler) : before;
    if (isSaved(wish, setting)) for (const [name, value] of unchanged) model.set(name, value as never);
    else draw(problem, run, rival);
    shown = { problem, placed: placedNow, run };
    const models = {
      ...(wish.transfers === setting.transfers ? {} : { transfers: wish.transfers }),
      ...(wish.memory === setting.memory ? {} : { memory: wish.memory }),
    };
    const text = code(
      columns,
      withValues(columns, wish.values),
      planner(wish),
      wish.scheduler,
      membersOf(wish.moves),
      models,
      wish.hand ? placedNow : null,
    );
    controls.show({ makespan: run.makespan, before: rival.makespan, code: text });
    if (setting.puzzle) controls.tellStars(starsOf(wish, setting.puzzle, problem, run));
    const final = whole;
    if (setting.allowed !== undefined) controls.tellBound(bound?.of === problemOfWish(wish) ? bound.time : null);
    pick();
    clearTimeout(resting);
    resting = window.setTimeout(() => {
      controls.tellPath(pathParts(problem, run));
      const sent = run.transfers.tensor.reduce((sum, t) => sum + costs.tensorBytes[t]!, 0);
      controls.tellMoved(sent, wish.memory === "none" ? null : isShort(problem, run));
      controls.tellPeak(peaksOf(problem, run));
      if (final) prove(wish, problem);
    }, REST);
  }

  /** Finds a lower bound on the makespans of a problem, unless it is known. */
  function prove(wish: Wish, problem: Problem): void {
    if (setting.allowed === undefined) return;
    const of = problemOfWish(wish);
    const saved = isOfSavedProblem(wish, setting) ? Math.max(setting.proven, setting.puzzle?.optimum ?? 0) : 0;
    if (bound?.of !== of) bound = { of, time: Math.max(bestBound(problem, setting.allowed), saved) };
    controls.tellBound(bound.time);
  }

  /** What bounds depend on, as text. */
  function problemOfWish({ values, transfers }: Wish): string {
    return JSON.stringify([transfers, ...values]);
  }

  /** Where the ops of a wish are, those included that the hand has moved. */
  function placedIn(wish: Wish, problem: Problem): Placed {
    return moved(planFor(wish, placedBy(wish, problem, isOfSavedProblem(wish, setting))), membersOf(wish.moves));
  }

  /** With other values of the cluster, of the pair shown or of another one; NaN where it has no schedule. */
  function makespanAt(values: Values, pair: Pair | null): number {
    const shownNow = { ...controls.wish(), values };
    const wish = pair
      ? { ...shownNow, partitioner: pair[0], scheduler: pair[1], hand: "", moves: new Map() }
      : shownNow;
    try {
      const problem = problemWith(wish);
      return simulate(problem, placedIn(wish, problem), wish.scheduler).makespan;
    } catch {
      return Number.NaN; // no plan within memory
    }
  }

  function others(): Pair[] {
    const { partitioner, scheduler } = controls.wish();
    return PAIRS.filter(
      ([p, s]) => setting.partitioners.includes(p) && !setting.puzzle && (p !== partitioner || s !== scheduler),
    );
  }

  /** The saved problem with what the hand has changed. */
  function problemWith({ transfers, memory, values }: Wish): Problem {
    const [now, costsNow] = withColumns(withMemory(shape, memory), costs, withValues(columns, values));
    return problemOf({ ...now, contention: TRANSFERS[transfers]! }, costsNow);
  }

  /** Where the ops are, and their plan, before any is moved by hand; `asSaved`: at the costs with which the page was saved. */
  function placedBy(wish: Wish, problem: Problem, asSaved: boolean): Placed {
    if (wish.hand) {
      const [device, lanes] = lanesOfText(wish.hand, shape.nOps, shape.nDevices);
      return plans.planWith(shape, device, lanes);
    }
    const name = planner(wish);
    if (name && !(asSaved && name === setting.partitioner)) return place(problem, name);
    return placed;
  }

  /** The placement, which must have a plan if the wish's scheduler follows one. */
  function planFor(wish: Wish, given: Placed): Placed {
    if (wish.scheduler === "planned" && given.planned.length === 0)
      throw new Error(
        "The ops were placed without a plan, which the scheduler planned needs: choose a different scheduler.",
      );
    return given;
  }

  /** As placelab.testing.puzzles: one for a plan within memory, two for one as short as HEFT's, three for the optimum. */
  function starsOf(wish: Wish, { heft, optimum }: Puzzle, problem: Problem, run: Run): number | null {
    if (!isOfSavedProblem(wish, setting)) return null;
    if (isShort(problem, run)) return 0;
    const limits = [Infinity, Math.max(heft ?? Infinity, optimum), optimum];
    return limits.filter((limit) => run.makespan <= limit * (1 + ROUNDING)).length;
  }

  /** What the wish is compared with. */
  function rivalOf(wish: Wish, problem: Problem): Placed {
    return placedBy({ ...wish, partitioner: wish.against, hand: "" }, problem, isOfSavedProblem(wish, setting));
  }

  /** Ops that moved by hand, each with all that must be where it is. */
  function membersOf(moves: Iterable<readonly [number, number]>): Map<number, number> {
    const members = new Map<number, number>();
    for (const [op, device] of moves) {
      const group = shape.group[op]!; // -1 for none
      members.set(op, device);
      if (group >= 0)
        shape.group.forEach((other, v) => {
          if (other === group) members.set(v, device);
        });
    }
    return members;
  }

  function moved(given: Placed, members: ReadonlyMap<number, number>): Placed {
    if (members.size === 0) return given;
    const { device, planned } = given;
    const there = device.slice();
    for (const [op, at] of members) there[op] = at;
    return { device: there, planned };
  }

  /** Of a strategy by itself, in the saved problem or in that which the hand has made of it. */
  function makespan(partitioner: string, scheduler: string, asSaved: boolean): number {
    const wish = { ...controls.wish(), partitioner, scheduler, hand: "" };
    const problem = asSaved ? problemOf(shape, costs) : problemWith(wish);
    return ran(problem, placedBy(wish, problem, asSaved || isOfSavedProblem(wish, setting)), scheduler).makespan;
  }

  /** The run, and behind it the saved one or its rival; what else was said of that one holds no more. */
  function draw(problem: Problem, run: Run, rival: Run): void {
    const counts = problem.shape.memory.model !== MEMORY.none && (whole || shape.nOps <= MANY);
    const counted = counts || model.get("memory_shown");
    model.set("memory", counted ? packMemory(problem, run) : NOTHING);
    model.set("numbers", []);
    model.set("kept", rival === before ? outline : packKept(problem, rival));
    model.set("schedule", packRun(problem, run));
  }

  /** Offers to move the op that is selected in the chart. */
  function pick(): void {
    const op = model.get("selection");
    clearTimeout(picking);
    if (op < 0 || controls.wish().hand || setting.partitioners.length === 1) return controls.offer(null); // some ops may not run everywhere
    controls.offer({ op, name: names[op] ?? `op ${op}`, device: shown.run.device[op]! });
    picking = window.setTimeout(() => controls.tellOf(setting.names.map((_, d) => makespanWith(op, d))), REST);
  }

  /** What the whole would take with an op on a device, all else as it is. */
  function makespanWith(op: number, device: number): number {
    const { problem, placed: now, run } = shown;
    if (device === run.device[op]) return run.makespan;
    return simulate(problem, moved(now, membersOf([[op, device]])), controls.wish().scheduler).makespan;
  }

  /** A change is whole: it can be undone, the address has it, and the other strategies follow. */
  function settled(): void {
    if (past.add(written(controls.wish(), page))) tell();
    whole = true;
    changed();
  }

  function tell(): void {
    controls.reach(past.canUndo, past.canRedo);
    setAddress(past.now);
    if (!setting.puzzle) told(); // else once it is known what that earns
  }

  /** Tells the page that embeds this one. */
  function told(): void {
    const wish = controls.wish();
    const own = setting.puzzle && wish.hand !== begun;
    const stars = own ? starsOf(wish, setting.puzzle!, shown.problem, shown.run) : null;
    if (parent !== window) parent.postMessage({ placelab: past.now, stars, makespan: shown.run.makespan }, "*");
  }

  function undo(): void {
    goTo(past.undo());
  }

  function redo(): void {
    goTo(past.redo());
  }

  function goTo(state: string | null): void {
    if (state === null) return;
    put(read(state, page));
    tell();
    whole = true;
    changed();
  }

  function put(wish: Wish): void {
    controls.put(wish);
    if (wish.hand) model.set("by_hand", true);
  }

  /** The state that the address has, as a link brings it; where it is of another page, a sentence says so. */
  function heed(): void {
    if (location.hash === past.now || (location.hash === "" && past.now === "#")) return;
    try {
      put(read(location.hash, page));
      settled();
    } catch (error) {
      controls.refuse(said(error));
    }
  }

  const main = document.querySelector("main")!;
  main.before(controls.element);
  if (controls.below) main.after(controls.below);
  model.on("change:memory_shown", () => {
    whole = true;
    follow(); // curves may be wanted that are not there
  });
  model.on("change:selection", pick);
  model.on("change:by_hand", switched);
  model.on("change:hold", () => mode.hear(model.get("hold")));
  model.on("sent", (message) => mode.hear(message as Said));
  model.set("can_hand", setting.allowed !== undefined);
  addEventListener("hashchange", heed);
  follow();
  heed();
  if (setting.puzzle) model.set("by_hand", true);
}

/** A strategy's run; one without a plan is under PCT where the others follow theirs, as `pl.solve` has it. */
function ran(problem: Problem, placed: Placed, scheduler: string): Run {
  return simulate(problem, placed, scheduler === "planned" && !placed.planned.length ? "pct" : scheduler);
}

/** The partitioner of a wish, null where ops stay where they are. */
function planner({ partitioner }: Wish): string | null {
  return partitioner === "as placed" ? null : partitioner;
}

function setAddress(hash: string): void {
  if (!HAS_ADDRESS) return;
  try {
    history.replaceState(null, "", hash);
  } catch {
    location.replace(hash); // a page from a file may not do the former in older browsers
  }
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (typeof document !== "undefined") subscribe(document.body, "model", begin);

const hand = { ...plans, bestMoves };

export {
  alone,
  bestBound,
  decodeProblem,
  graphOf,
  hand,
  inWholeCosts,
  packMemory,
  packRun,
  place,
  problemOf,
  simulate,
  withMemory,
};
