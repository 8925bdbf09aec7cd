/** Partitioners, as long as memory is no limit: what Python does around their kernels, in placelab.strategies.partitioning. */
import { as_ready, earliest_first, in_order } from "./kernels.generated.ts";
import { isShort, lacksForEver } from "./memory.ts";
import {
  CONTENTION,
  MEMORY,
  needs,
  network,
  type Placed,
  type Problem,
  predecessors,
  problemOf,
  type Shape,
  successors,
} from "./problem.ts";
import { inClasses, rounded, staticLevel, upwardRank } from "./ranks.ts";
import { moves, type Run, simulate } from "./simulate.ts";
import { inWholeCosts } from "./whole.ts";

const SPANS = 64; // of list_schedule.py
const STEPS = 128; // of a block of memory_over_time.py

interface Plan {
  readonly device: Int32Array;
  readonly start: Float64Array;
  readonly finish: Float64Array;
  /** Ops as they were placed. */
  readonly order: Int32Array;
  readonly score: Float64Array;
}

/** When each tensor leaves for each device and is there, where a planner plans that. */
interface Sent {
  readonly sent: Float64Array;
  readonly there: Float64Array;
}

interface Partitioner {
  plan(problem: Problem): Plan & Partial<Sent>;
  /** Whether it plans anew where its plan is short of memory; else it fails where ops take too much for the whole run. */
  readonly minds: boolean;
}

/** Partitioners by name. */
export const PARTITIONERS: Readonly<Record<string, Partitioner>> = {
  heft: { plan: heft, minds: true },
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
  const at = new Int32Array(order.length);
  order.forEach((v, i) => (at[v] = i));
  const planned = order.slice().sort((a, b) => start[a]! - start[b]! || finish[a]! - finish[b]! || at[a]! - at[b]!);
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
  const leaves = Float64Array.from(tensor, (t, i) =>
    sent?.length ? sent[t * k + destination[i]!]! : finish[shape.tensorProducer[t]!]!,
  );
  const arrives = leaves.map((time, i) => {
    const pair = source[i]! * k + destination[i]!;
    const t = tensor[i]!;
    if (there?.length) return there[t * k + destination[i]!]!;
    return time + costs.latency[pair]! + costs.tensorBytes[t]! / costs.bandwidth[pair]!;
  });
  const transfers = { tensor, source, destination, start: leaves, finish: arrives, ofEdge: of_edge };
  return { device, start, finish, makespan: finish.reduce((a, b) => Math.max(a, b), 0), transfers };
}

function heft(problem: Problem): Plan {
  const { nOps: n, nDevices: k } = problem.shape;
  const plan = planIn(n, inClasses(rounded(upwardRank(problem))).order);
  const aim = { rule: 0, extra: floats(0) };
  const nowhere = whole(n).fill(-1);
  in_order(
    nowhere,
    1,
    aim,
    predecessors(problem),
    problem.times,
    network(problem),
    eligible(problem),
    floats(k),
    busy(problem),
    plan,
  );
  return plan;
}

function tfGreedy(problem: Problem): Plan {
  const { nOps: n, nDevices: k } = problem.shape;
  const plan = planIn(n);
  const agenda = { missing: whole(n), became: floats(n), heap: floats(2 * n), aside: floats(0) };
  as_ready(...facts(problem), { free: floats(k), arrival: floats(k) }, agenda, plan);
  return plan;
}

function etf(problem: Problem): Plan & Sent {
  const { nOps: n, nDevices: k, contention } = problem.shape;
  const { order: item, place: rank } = inClasses(rounded(staticLevel(problem)));
  const plan = planIn(n);
  const queues = {
    missing: whole(n),
    rank,
    item,
    later: floats(2 * n * k),
    n_later: whole(k),
    now: whole(n * k),
    n_now: whole(k),
  };
  const limited = contention === CONTENTION.ports || contention === CONTENTION.channel;
  const bounds = { ready_on: floats(limited ? n * k : 0), waits: whole(k), marked: whole(n) };
  const links = limits(problem);
  earliest_first(...facts(problem), links, { free: floats(k), arrival: floats(k) }, queues, bounds, plan);
  return { ...plan, sent: links.ports.sent, there: links.ports.there };
}

// ---------------------------------------------------------------- blocks, as placelab.planning.plan_arrays makes them

const floats = (n: number) => new Float64Array(n);
const whole = (n: number) => new Int32Array(n);

function facts(problem: Problem) {
  const edges = [predecessors(problem), successors(problem)] as const;
  return [...edges, problem.times, network(problem), eligible(problem)] as const;
}

function eligible({ shape }: Problem) {
  const allowed = new Uint8Array(shape.nDevices).fill(1);
  return { allowed, stride: 0, group: shape.group, group_device: whole(shape.nGroups) };
}

function planIn(n: number, order: Int32Array = whole(n)): Plan {
  return { device: whole(n).fill(-1), start: floats(n), finish: floats(n), order, score: floats(0) };
}

function busy({ shape, times }: Problem) {
  const k = shape.nDevices;
  const row = Math.ceil(shape.nOps / SPANS) * SPANS;
  const size = row * k;
  const least = times.cost.reduce((low, x) => Math.min(x, low), Infinity);
  const most = times.divisor.reduce((top, x) => Math.max(x, top), 0);
  return {
    row,
    count: whole(k),
    begins: floats(size),
    ends: floats(size),
    widest: floats(size / SPANS),
    n_done: whole(k),
    done: floats(least / most === 0 ? size : 1),
  };
}

/** Links are a limit where transfers wait for each other; memory is none. */
function limits(problem: Problem) {
  const { shape, costs } = problem;
  const { nDevices: k, contention, duplex, held, predPtr } = shape;
  const lanes = { [CONTENTION.ports]: duplex ? 2 * k : k, [CONTENTION.channel]: k * k }[contention] ?? 0;
  const copies = lanes ? costs.tensorBytes.length * k : 0;
  const known = contention === CONTENTION.fair ? CONTENTION.parallel : contention;
  let most = 0;
  for (let v = 0; v < shape.nOps; v++) most = Math.max(most, predPtr[v + 1]! - predPtr[v]!);
  const blocks = k + 1;
  return {
    ports: {
      contention: known,
      in_port: duplex ? k : 0,
      held,
      free: floats(lanes),
      sent: floats(copies),
      there: floats(copies),
    },
    inputs: { sent: floats(most), there: floats(most), turn: whole(most), lane: floats(k) },
    memory: {
      needs: needs(problem),
      held: {
        reserved: floats(k),
        waiting: whole(0),
        kept: floats(0),
        copy_kept: floats(0),
        eased: whole(k),
        home: whole(0),
      },
      curve: {
        last: whole(k),
        chain: whole(2 * blocks),
        top: whole(1),
        highest: floats(k),
        at: floats(blocks * STEPS),
        level: floats(blocks * STEPS),
        block: floats(2 * blocks),
      },
      spans: { begins: floats(2), ends: floats(2), sizes: floats(2), cuts: floats(4), change: floats(4) },
    },
  };
}
