/** What kernels take that plan, as placelab.planning.plan_arrays makes it. */
import { TOLERANCE } from "./memory.ts";
import {
  CONTENTION,
  grouped,
  MEMORY,
  needs,
  network,
  type Problem,
  pointers,
  predecessors,
  type Shape,
  successors,
} from "./problem.ts";

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

/** Busy spans of each device, for insertion into gaps or for appending. */
export function busy({ shape, times }: Problem, insertion = true) {
  const k = shape.nDevices;
  const row = insertion ? Math.ceil(shape.nOps / SPANS) * SPANS : 1;
  const size = row * k;
  const least = times.cost.reduce((low, x) => Math.min(x, low), Infinity);
  const most = times.divisor.reduce((top, x) => Math.max(x, top), 0);
  return {
    row,
    count: whole(k),
    begins: floats(insertion ? size : 1),
    ends: floats(size),
    widest: floats(insertion ? size / SPANS : 1),
    n_done: whole(k),
    done: floats(insertion && least / most === 0 ? size : 1),
  };
}

/** Links are a limit where transfers wait for each other; memory may be one. */
export function limits(problem: Problem, memory = false) {
  const { shape, costs } = problem;
  const { nDevices: k, contention, duplex, held } = shape;
  const lanes = { [CONTENTION.ports]: duplex ? 2 * k : k, [CONTENTION.channel]: k * k }[contention] ?? 0;
  const copies = lanes ? costs.tensorBytes.length * k : 0;
  const known = contention === CONTENTION.fair ? CONTENTION.parallel : contention;
  return {
    ports: {
      contention: known,
      in_port: duplex ? k : 0,
      held,
      free: floats(lanes),
      sent: floats(copies),
      there: floats(copies),
    },
    inputs: inputs(problem),
    memory: memoryOverTime(problem, memory),
  };
}

/** Inputs of the op under consideration. */
export function inputs({ shape }: Problem) {
  const most = mostInputs(shape);
  return { sent: floats(most), there: floats(most), turn: whole(most), lane: floats(shape.nDevices) };
}

function mostInputs({ nOps, predPtr }: Shape): number {
  let most = 0;
  for (let v = 0; v < nOps; v++) most = Math.max(most, predPtr[v + 1]! - predPtr[v]!);
  return most;
}

/** Memory over time of a plan that is still empty; where it is no limit, as short as can be. */
export function memoryOverTime(problem: Problem, counts = true) {
  const { nOps, nEdges, nDevices: k, memory, tensorProducer } = problem.shape;
  const tensors = counts ? tensorProducer.length : 0;
  const most = counts ? mostInputs(problem.shape) : 0;
  const timed = counts && (memory.model === MEMORY.edges || memory.model === MEMORY.dynamic);
  const blocks = k + Math.floor((timed ? 2 * nOps + 2 * nEdges + k : 0) / (STEPS / 2)) + 1; // one is split when it is full
  return {
    needs: counts ? needsInMemory(problem) : needs(problem),
    held: {
      reserved: floats(k),
      waiting: whole(tensors),
      kept: floats(tensors),
      copy_kept: floats(timed ? tensors * k : 0),
      eased: whole(k),
      home: whole(memory.storage.length ? tensors : 0),
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
    spans: {
      begins: floats(most + 2),
      ends: floats(most + 2),
      sizes: floats(most + 2),
      cuts: floats(2 * most + 4),
      change: floats(2 * most + 4),
    },
  };
}

/** Memory that ops need: placelab.planning.plan_arrays, where memory is a limit. */
function needsInMemory({ shape, costs }: Problem) {
  const { nOps, nGroups, memory, tensorProducer, tensorPtr, group } = shape;
  const { storage, capacity, lasting } = memory;
  const { tensorBytes } = costs;
  const held = tensorBytes.slice();
  storage.forEach((first, t) => (held[first] = Math.max(held[first]!, tensorBytes[t]!)));
  const outputs = floats(nOps);
  tensorProducer.forEach((v, t) => (outputs[v]! += tensorBytes[t]!));
  const ofGroup = floats(nGroups);
  lasting.forEach((bytes, v) => {
    if (group[v]! >= 0) ofGroup[group[v]!]! += bytes;
  });
  return {
    model: memory.model,
    limit: capacity.map((bytes) => bytes * (1 + TOLERANCE / 2)), // half of it, as sums differ by their order
    for_ever: lasting.map((bytes, v) => (group[v]! >= 0 ? ofGroup[group[v]!]! : bytes)),
    temporary: memory.bytes.temporary,
    outputs,
    storage,
    root: storage.map((first) => tensorProducer[first]!),
    storage_bytes: storage.length ? held : floats(0),
    tensor_ptr: tensorPtr,
    tensor_bytes: tensorBytes,
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
