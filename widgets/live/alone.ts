/** An explorer goes on without its kernel: the engine of the page that its notebook keeps, for the explorer's own canvas and chart. */
import type { Cluster } from "../cluster/state.ts";
import type { Hand } from "../gantt/wire/traits.ts";
import { behind, drawnOf, planOf } from "../kernels/hand.ts";
import { peaksOf } from "../kernels/memory.ts";
import { partOf, runOf } from "../kernels/part.ts";
import { place } from "../kernels/place.ts";
import { decodeProblem, MEMORY, type Placed, type Problem, problemOf } from "../kernels/problem.ts";
import { simulate } from "../kernels/simulate.ts";
import { packMemory, packRun } from "../kernels/wire.ts";
import type { Computed, Engine, EngineHost } from "../shared/alone.ts";
import { number, seconds } from "../shared/format.ts";
import { HandMode } from "./byhand.ts";
import { columnsIn } from "./canvas.ts";
import type { LiveTraits } from "./traits.ts";
import { NONE_WAITS, placedAtFirst, waitingIn } from "./tray.ts";
import { type Columns, columnsOf, withColumns } from "./values.ts";
import { compared } from "./words.ts";

const NOTHING = new DataView(new ArrayBuffer(0));
const AS_PLACED = "as placed";

/** The engine of a page with these traits. */
export function alone(traits: LiveTraits, host: EngineHost): Engine {
  const { shape, costs, placed: given } = decodeProblem(traits.problem);
  const setting = traits.live;
  const placed = given ?? place(problemOf(shape, costs), setting.partitioner);
  const saved = columnsOf(shape, costs);
  const names = new TextDecoder().decode(traits.names).split("\n");
  let columns: Columns = saved;
  let own: Placed | null = null; // a plan by hand
  let placedOps = placedAtFirst(setting, shape.nOps); // null: all
  let held: Partial<Hand> = {};
  let steps = 0; // of the plan, by which a search sees that something else has changed
  let before = 0; // makespan [s]
  let tray = NONE_WAITS;
  let shown: Computed = { schedule: NOTHING, memory: NOTHING, peak: [], hand: held, ...NONE_WAITS, decided: NOTHING };
  let words = "";

  const time = (x: number) => (traits.unitless ? number(x) : seconds(x));

  const problemNow = (): Problem => problemOf(...withColumns(shape, costs, columns));
  const plan = (problem: Problem) => (setting.partitioner === AS_PLACED ? placed : place(problem, setting.partitioner));
  const scheduler = () => (own ? "planned" : setting.scheduler);
  const groundOf = (problem: Problem, now: Placed) => {
    const plan = { ...now, run: runOf(problem, now, placedOps) };
    return { problem, plan, names, setting, time, placed: placedOps };
  };

  function show(problem: Problem, now: Placed, there: Uint8Array | null): void {
    const part = partOf(problem, there);
    const run = simulate(part, now, scheduler());
    const counted = problem.shape.memory.model !== MEMORY.none;
    const memory = counted ? packMemory(part, run) : NOTHING;
    const changed = `${time(run.makespan)} ${compared(run.makespan, before)} from ${time(before)}`;
    words = setting.still && !own ? `${changed}; ops stay on their devices` : changed;
    const peak = counted ? peaksOf(part, run) : [];
    if (!("grip" in held)) tray = there ? waitingIn(groundOf(problem, now), there) : NONE_WAITS; // what is held keeps its chip
    const decided = there ? drawnOf(run, there) : NOTHING;
    if (there) words = `${there.reduce((sum, is) => sum + is, 0)} of ${shape.nOps} ops placed`;
    shown = { schedule: packRun(part, run), memory, peak, hand: held, ...tray, decided };
    host.show(shown, words);
  }

  /** The columns of a cluster; only its values may be others than the saved ones. */
  function columnsOfCluster(cluster: unknown): Columns {
    if (!cluster) return saved;
    const { devices } = cluster as Cluster;
    const same = devices.length === setting.names.length && devices.every(({ name }, d) => name === setting.names[d]);
    if (!same) throw new Error("Other devices need the kernel.");
    return columnsIn(cluster as Cluster, saved);
  }

  const mode = new HandMode({
    ground() {
      const problem = problemNow();
      own ??= handPlan(problem, plan(problem));
      return groundOf(problem, own);
    },
    show(now, whole, there) {
      const part = there?.includes(0) ? there : null;
      if (whole) {
        own = now;
        placedOps = part;
        steps++;
      }
      show(problemNow(), now, part);
    },
    tell(hand) {
      held = hand ?? {};
      if (shown.schedule === NOTHING)
        show(problemNow(), own!, placedOps); // the best move is the first thing that was asked
      else host.show({ ...shown, hand: held }, words);
    },
    state: () => String(steps),
    say: host.say,
  });
  const handPlan = (problem: Problem, now: Placed): Placed => {
    const made = planOf(problem, now, simulate(problem, now, setting.scheduler), setting.scheduler);
    return placedOps ? behind(shape, made, placedOps) : made;
  };

  return {
    makespan(cluster) {
      columns = columnsOfCluster(cluster);
      const problem = problemNow();
      before = simulate(partOf(problem, placedOps), plan(problem), setting.scheduler).makespan;
      return before;
    },
    edited(cluster) {
      columns = columnsOfCluster(cluster);
      const problem = problemNow();
      show(problem, own ?? plan(problem), placedOps);
    },
    held(said) {
      mode.hear(said);
    },
  };
}
