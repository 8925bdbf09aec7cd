/** What kernels take that plan, as placelab.planning.plan_arrays makes it. */
import { CONTENTION, grouped, needs, network, type Problem, pointers, predecessors, successors } from "./problem.ts";

const SPANS = 64; // of list_schedule.py
const STEPS = 128; // of a block of memory_over_time.py

export interface Plan {
  readonly device: Int32Array;
  readonly start: Float64Array;
  readonly finish: Float64Array;
  /** Ops as they were placed. */
  readonly order: Int32Array;
  readonly score: Float64Array;
}

export const floats = (n: number) => new Float64Array(n);
export const whole = (n: number) => new Int32Array(n);

export function facts(problem: Problem) {
  const edges = [predecessors(problem), successors(problem)] as const;
  return [...edges, problem.times, network(problem), eligible(problem)] as const;
}

export function eligible({ shape }: Problem) {
  const allowed = new Uint8Array(shape.nDevices).fill(1);
  return { allowed, stride: 0, group: shape.group, group_device: whole(shape.nGroups) };
}

export function planIn(n: number, order: Int32Array = whole(n)): Plan {
  return { device: whole(n).fill(-1), start: floats(n), finish: floats(n), order, score: floats(0) };
}

export function busy({ shape, times }: Problem) {
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
export function limits(problem: Problem) {
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

/** Ready ops, and where each would finish soonest. */
export function readyOps({ nOps: n, nDevices: k }: Problem["shape"]) {
  return {
    missing: whole(n),
    op: whole(n),
    at: whole(n),
    arrival: floats(n * k),
    length: floats(n * k),
    soonest: floats(n),
    second: floats(n),
    key: floats(n),
  };
}

/** Devices by kind, which take equally long for all ops; and a tree of ops with a column per kind. */
export function kindsOf({ shape, times }: Problem) {
  const { nOps: n, nDevices: k } = shape;
  const { column, divisor } = times;
  const first = (d: number) => divisor.findIndex((x, e) => x === divisor[d] && column[e] === column[d]);
  const leaders = [...new Set(Array.from({ length: k }, (_, d) => first(d)))];
  leaders.sort((a, b) => column[a]! - column[b]! || divisor[a]! - divisor[b]!);
  const kind = Int32Array.from({ length: k }, (_, d) => leaders.indexOf(first(d)));
  const ptr = pointers(kind, leaders.length);
  const kinds = {
    kind,
    device: grouped(kind, ptr),
    first: ptr,
    missing: whole(n),
    arrival: floats(n * k),
    heap: floats(2 * n),
    idle: floats(leaders.length),
  };
  return { kinds, tree: treeOf(n, leaders.length) };
}

/** A tree of n leaves; each level has four rows per row of the next one. */
function treeOf(n: number, columns: number) {
  const level = [0];
  for (let rows = n; rows > 1; ) {
    rows = Math.ceil(rows / 4);
    level.push(level[level.length - 1]! + 4 * rows * columns);
  }
  return { level: Int32Array.from(level), columns, least: floats(level[level.length - 1]! + columns) };
}
