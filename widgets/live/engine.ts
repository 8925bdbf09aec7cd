/** What a page computes, apart from the page: in its worker, where there is one. Plain data go in, and come out. */

import { bestBound } from "../kernels/bounds.ts";
import * as plans from "../kernels/hand.ts";
import { drawnOf } from "../kernels/hand.ts";
import { isShort, peaksOf } from "../kernels/memory.ts";
import { partOf, runOf } from "../kernels/part.ts";
import { place } from "../kernels/place.ts";
import {
  type Costs,
  MEMORY,
  type Placed,
  type Problem,
  problemOf,
  type Shape,
  TRANSFERS,
  withMemory,
} from "../kernels/problem.ts";
import { sum } from "../kernels/ranks.ts";
import { type Run, simulate } from "../kernels/simulate.ts";
import { packKept, packMemory, packRun, pathParts } from "../kernels/wire.ts";
import type { Held } from "../shared/alone.ts";
import type { Notices } from "../shared/apart.ts";
import { number, seconds } from "../shared/format.ts";
import { isOfSavedProblem, isSaved, type Page, saved, type Wish, written } from "./address.ts";
import { HandMode } from "./byhand.ts";
import { code } from "./code.ts";
import type { Pair } from "./curve.ts";
import { dialsOf } from "./dials.ts";
import { type Ground, mayRun } from "./ground.ts";
import { isPart, lanesAsText, lanesOfText } from "./lanes.ts";
import type { Puzzle, Setting } from "./traits.ts";
import { NONE_WAITS, placedAtFirst, type Tray, waitingIn } from "./tray.ts";
import { type Columns, columnsOf, type Values, withColumns, changed as withValues } from "./values.ts";

const MANY = 10_000; // ops; the memory curves of more follow on release, as they take a third of a drag
const UNFINISHED = "# The plan is not complete: some ops wait in the tray.\n";
const ROUNDING = 1e-9; // relative; of a puzzle's makespans
const NOTHING = new DataView(new ArrayBuffer(0));

/** What a page begins with. */
export interface Start {
  readonly shape: Shape;
  readonly costs: Costs;
  /** Where the ops are; null where the saved partitioner places them. */
  readonly placed: Placed | null;
  readonly setting: Setting;
  /** Of the ops. */
  readonly names: readonly string[];
  readonly unitless: boolean;
}

/** The saved schedule, for the chart: as what others are drawn before; and, where it is wanted, by itself. */
export interface First {
  readonly outline: DataView;
  readonly saved: { readonly schedule: DataView; readonly memory: DataView } | null;
}

/** What a page shows of a state. */
export interface Picture {
  readonly makespan: number;
  /** Of what it is compared with. */
  readonly before: number;
  readonly code: string;
  /** Device of each op. */
  readonly device: Int32Array;
  /** Stars of a puzzle; null where the cluster is not the puzzle's, or there is no puzzle. */
  readonly stars: number | null;
  /** For the chart; null where the saved schedule is to be shown. */
  readonly drawn: Drawn | null;
  /** What waits to be placed by hand. */
  readonly waits: Tray;
  /** What is drawn, an entry for each op, then for each transfer; empty: all. */
  readonly decided: DataView;
}

export interface Drawn {
  readonly schedule: DataView;
  /** Null for the outline of the saved one. */
  readonly kept: DataView | null;
  /** Empty where the curves are left for later. */
  readonly memory: DataView;
}

/** What follows when the hand rests. */
export interface Rest {
  readonly path: readonly [number, number, number];
  /** Bytes that travel between devices. */
  readonly moved: number;
  /** Whether some device runs out of memory; null where memory is not counted. */
  readonly short: boolean | null;
  readonly peak: readonly number[];
}

/** The newest state that was computed, as `written`. */
interface Shown {
  readonly of: string;
  readonly problem: Problem;
  readonly placed: Placed;
  readonly run: Run;
}

/** Answers for one state after the other; it keeps the newest. */
export class Engine {
  readonly #start: Start & { readonly placed: Placed };
  readonly #columns: Columns;
  readonly #page: Page;
  readonly #before: Run;
  readonly #mode: HandMode;
  #wish: Wish;
  #plans = 0; // by hand, that the page has been told to show
  #shown: Shown;

  constructor(start: Start, notices: Notices) {
    const { shape, costs, setting } = start;
    this.#columns = columnsOf(shape, costs);
    this.#page = { setting, dials: dialsOf(shape, costs, setting), saved: this.#columns, group: shape.group };
    this.#wish = saved(setting);
    const problem = problemOf(shape, costs);
    const placed = start.placed ?? place(problem, setting.partitioner);
    this.#start = { ...start, placed };
    this.#before = simulate(problem, placed, setting.scheduler);
    this.#shown = { of: written(this.#wish, this.#page), problem, placed, run: this.#before };
    const { show, tell, say } = notices as Record<string, (...given: unknown[]) => void>;
    this.#mode = new HandMode({
      ground: () => {
        if (!this.#wish.hand) return null;
        const now = this.#problemWith(this.#wish);
        return this.#groundOf(now, this.#placedBy(this.#wish, now, false), this.#placedOps(this.#wish));
      },
      show: (plan, whole, placed) => {
        this.#wish = { ...this.#wish, hand: this.#textOf(plan, placed) };
        this.#plans++;
        show!(this.#wish.hand, whole);
      },
      tell: (held) => tell!(held ?? {}),
      state: () => written(this.#wish, this.#page),
      say: (text) => say!(text),
    });
  }

  #groundOf(problem: Problem, plan: Placed, placed: Uint8Array | null): Ground {
    const { names, setting, unitless } = this.#start;
    const time = (x: number) => (unitless ? number(x) : seconds(x));
    return { problem, plan: { ...plan, run: runOf(problem, plan, placed) }, names, setting, placed, time };
  }

  /** Which ops of a plan by hand are placed; null: all. */
  #placedOps({ hand }: Wish): Uint8Array | null {
    const { nOps, nDevices } = this.#start.shape;
    return isPart(hand) ? Uint8Array.from(lanesOfText(hand, nOps, nDevices)[0], (d) => Number(d >= 0)) : null;
  }

  first(wanted: boolean): First {
    const { problem, run } = this.#shown;
    const saved = wanted ? { memory: packMemory(problem, run), schedule: packRun(problem, run) } : null;
    return { outline: packKept(problem, run), saved };
  }

  /**
   * What follows from a wish; `whole`: it is a change that is complete, `curves`: those of memory are looked at; `plans`: how many
   * by hand the page has shown. Throws in words.
   */
  picture(wish: Wish, whole: boolean, curves: boolean, plans: number): Picture {
    this.#heed(wish, plans);
    const { setting } = this.#start;
    const { problem, placed, run } = this.#showing(wish);
    const there = this.#placedOps(wish);
    const all = there ? this.#problemWith(wish) : problem;
    const rival = wish.against ? ran(all, this.#rivalOf(wish, all), wish.scheduler) : this.#before;
    return {
      waits: there ? waitingIn(this.#groundOf(all, placed, there), there) : NONE_WAITS,
      decided: there ? drawnOf(run, there) : NOTHING,
      makespan: run.makespan,
      before: rival.makespan,
      code: there ? UNFINISHED : this.#code(wish, placed),
      device: run.device,
      stars: setting.puzzle && !there ? this.#starsOf(wish, setting.puzzle, problem, run) : null,
      drawn: isSaved(wish, setting) ? null : this.#drawn(problem, run, rival, whole, curves),
    };
  }

  /** Of the picture of a wish. */
  rest(wish: Wish): Rest {
    const { problem, run } = this.#showing(wish);
    const { tensorBytes } = problem.costs;
    const counts = problem.shape.memory.model !== MEMORY.none;
    return {
      path: pathParts(problem, run),
      moved: sum(Float64Array.from(run.transfers.tensor, (t) => tensorBytes[t]!)),
      short: counts ? isShort(problem, run) : null,
      peak: counts ? peaksOf(problem, run) : [],
    };
  }

  /** A lower bound on the makespans of a wish's problem; null where it is not known which ops may run where. */
  bound(wish: Wish): number | null {
    const { setting } = this.#start;
    if (setting.allowed === undefined) return null;
    const known = isOfSavedProblem(wish, setting) ? Math.max(setting.proven, setting.puzzle?.optimum ?? 0) : 0;
    return Math.max(bestBound(this.#problemWith(wish), setting.allowed), known);
  }

  /** With other values of the cluster, of the pair shown or of another one; NaN where it has no schedule. */
  makespanAt(shown: Wish, values: Values, pair: Pair | null): number {
    const now = { ...shown, values };
    const wish = pair ? { ...now, partitioner: pair[0], scheduler: pair[1], hand: "", moves: new Map() } : now;
    try {
      return this.#run(wish).run.makespan;
    } catch {
      return Number.NaN; // no plan within memory
    }
  }

  /** Of a strategy by itself, in the saved problem or in that which the hand has made of it; NaN where it has no schedule. */
  makespanOf(shown: Wish, partitioner: string, scheduler: string, asSaved: boolean): number {
    const wish = { ...shown, partitioner, scheduler, hand: "" };
    const { shape, costs, setting } = this.#start;
    try {
      const problem = asSaved ? problemOf(shape, costs) : this.#problemWith(wish);
      const placed = this.#placedBy(wish, problem, asSaved || isOfSavedProblem(wish, setting));
      return ran(problem, placed, scheduler).makespan;
    } catch {
      return Number.NaN; // no plan within memory, or none to follow
    }
  }

  /** What the whole would take with an op on each device, all else as a wish has it. */
  makespansOf(wish: Wish, op: number): number[] {
    const { problem, placed, run } = this.#showing(wish);
    return this.#start.setting.names.map((_, device) => {
      if (device === run.device[op]) return run.makespan;
      return simulate(problem, moved(placed, this.#membersOf([[op, device]])), wish.scheduler).makespan;
    });
  }

  /** A plan by hand of what is shown; `saved`: without the ops that waited when the page was saved. */
  planByHand(saved: boolean): string {
    const { problem, placed, run } = this.#shown;
    const there = saved ? placedAtFirst(this.#start.setting, problem.shape.nOps) : null;
    return this.#textOf(plans.planOf(problem, placed, run, this.#wish.scheduler), there);
  }

  /** Takes what the chart has told of a bar in a hand, in a state. */
  hear(told: Held, wish: Wish, plans: number): void {
    this.#heed(wish, plans);
    this.#mode.hear(told);
  }

  putBack(): void {
    this.#mode.putBack();
  }

  /** What a wish leads to; once computed, it is kept. */
  #showing(wish: Wish): Shown {
    const of = written(wish, this.#page);
    if (this.#shown.of !== of) this.#shown = { of, ...this.#run(wish) };
    return this.#shown;
  }

  /** The run of what a wish leads to: of a plan by hand the ops that are placed, alone. */
  #run(wish: Wish) {
    const all = this.#problemWith(wish);
    const placed = this.#placedIn(wish, all);
    const problem = partOf(all, this.#placedOps(wish));
    return { problem, placed, run: simulate(problem, placed, wish.scheduler) };
  }

  /** Takes a wish, of which the plan by hand is old where the page has not shown the newest yet. */
  #heed(wish: Wish, plans: number): void {
    this.#wish = plans === this.#plans ? wish : { ...wish, hand: this.#wish.hand };
  }

  #textOf({ device, planned }: Placed, placed: Uint8Array | null): string {
    const lanes = plans.lanesOf(device, planned, this.#start.shape.nDevices);
    const part = placed?.includes(0) ?? false;
    return lanesAsText(part ? lanes.map((lane) => lane.filter((v) => placed![v])) : lanes, part);
  }

  #code(wish: Wish, placed: Placed): string {
    const { setting } = this.#start;
    const models = {
      ...(wish.transfers === setting.transfers ? {} : { transfers: wish.transfers }),
      ...(wish.memory === setting.memory ? {} : { memory: wish.memory }),
    };
    const now = withValues(this.#columns, wish.values);
    const members = this.#membersOf(wish.moves);
    return code(this.#columns, now, planner(wish), wish.scheduler, members, models, wish.hand ? placed : null);
  }

  /** The run, and behind it the saved one or its rival. */
  #drawn(problem: Problem, run: Run, rival: Run, whole: boolean, curves: boolean): Drawn {
    const { shape } = problem;
    const counts = shape.memory.model !== MEMORY.none && (whole || shape.nOps <= MANY);
    return {
      schedule: packRun(problem, run),
      kept: rival === this.#before ? null : packKept(problem, rival),
      memory: counts || curves ? packMemory(problem, run) : NOTHING,
    };
  }

  /** The saved problem with what the hand has changed. */
  #problemWith({ transfers, memory, values }: Wish): Problem {
    const { shape, costs } = this.#start;
    const [now, costsNow] = withColumns(withMemory(shape, memory), costs, withValues(this.#columns, values));
    return problemOf({ ...now, contention: TRANSFERS[transfers]! }, costsNow);
  }

  /** Where the ops are, and their plan, before any is moved by hand; `asSaved`: at the costs with which the page was saved. */
  #placedBy(wish: Wish, problem: Problem, asSaved: boolean): Placed {
    const { shape, placed, setting } = this.#start;
    if (wish.hand) {
      const [device, lanes] = lanesOfText(wish.hand, shape.nOps, shape.nDevices);
      if (!isPart(wish.hand)) return plans.planWith(shape, device, lanes);
      return plans.begun(shape, device, lanes, (op, d) => mayRun(setting, op, d));
    }
    const name = planner(wish);
    if (name && !(asSaved && name === setting.partitioner)) return place(problem, name);
    return placed;
  }

  /** Where the ops of a wish are, those included that the hand has moved. */
  #placedIn(wish: Wish, problem: Problem): Placed {
    const given = this.#placedBy(wish, problem, isOfSavedProblem(wish, this.#start.setting));
    if (wish.scheduler === "planned" && given.planned.length === 0)
      throw new Error(
        "The ops were placed without a plan, which the scheduler planned needs: choose a different scheduler.",
      );
    return moved(given, this.#membersOf(wish.moves));
  }

  /** What the wish is compared with. */
  #rivalOf(wish: Wish, problem: Problem): Placed {
    const asSaved = isOfSavedProblem(wish, this.#start.setting);
    return this.#placedBy({ ...wish, partitioner: wish.against, hand: "" }, problem, asSaved);
  }

  /** As placelab.testing.puzzles: one for a plan within memory, two for one as short as HEFT's, three for the optimum. */
  #starsOf(wish: Wish, { heft, optimum }: Puzzle, problem: Problem, run: Run): number | null {
    if (!isOfSavedProblem(wish, this.#start.setting)) return null;
    if (isShort(problem, run)) return 0;
    const limits = [Infinity, Math.max(heft ?? Infinity, optimum), optimum];
    return limits.filter((limit) => run.makespan <= limit * (1 + ROUNDING)).length;
  }

  /** Ops that moved by hand, each with all that must be where it is. */
  #membersOf(moves: Iterable<readonly [number, number]>): Map<number, number> {
    const { shape } = this.#start;
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
}

function moved(given: Placed, members: ReadonlyMap<number, number>): Placed {
  if (members.size === 0) return given;
  const { device, planned } = given;
  const there = device.slice();
  for (const [op, at] of members) there[op] = at;
  return { device: there, planned };
}

/** A strategy's run; one without a plan is under PCT where the others follow theirs, as `pl.solve` has it. */
function ran(problem: Problem, placed: Placed, scheduler: string): Run {
  return simulate(problem, placed, scheduler === "planned" && !placed.planned.length ? "pct" : scheduler);
}

/** What bounds depend on, as text. */
export function problemOfWish({ values, transfers }: Wish): string {
  return JSON.stringify([transfers, ...values]);
}

/** The partitioner of a wish, null where ops stay where they are. */
function planner({ partitioner }: Wish): string | null {
  return partitioner === "as placed" ? null : partitioner;
}
