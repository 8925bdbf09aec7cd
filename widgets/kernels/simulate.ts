/** One run of a placement: what Python does around the simulator's kernel, in placelab.simulation.kernel_arrays. */
import { group_transfers, in_sequence, run_events } from "./kernels.generated.ts";
import {
  CONTENTION,
  durations,
  needs,
  type Placed,
  type Problem,
  pointers,
  predecessors,
  successors,
} from "./problem.ts";
import { inClasses, pathComputationTime } from "./ranks.ts";
import { numbers } from "./sorted.ts";

const RULES: Readonly<Record<string, number>> = { pct: 0, fifo: 1, msr: 2, planned: 3 };
const NOWHERE = -1; // of msr.py
const DONE = 2; // the clock's count of ops that have finished

/** Schedulers by name. */
export const SCHEDULERS: readonly string[] = Object.keys(RULES);

/** What happened when. */
export interface Run {
  readonly device: Int32Array;
  readonly start: Float64Array;
  readonly finish: Float64Array;
  readonly makespan: number;
  readonly transfers: Transfers;
}

export interface Transfers {
  readonly tensor: Int32Array;
  readonly source: Int32Array;
  readonly destination: Int32Array;
  readonly start: Float64Array;
  readonly finish: Float64Array;
  /** The transfer that brings each edge's tensor, -1 within a device. */
  readonly ofEdge: Int32Array;
}

/** Runs a placement under a scheduler of `SCHEDULERS`, with its default options. */
export function simulate(problem: Problem, { device, planned, notBefore }: Placed, scheduler: string): Run {
  const { shape, costs } = problem;
  const { nOps: n, nDevices: k } = shape;
  const { copies, receivers } = moves(problem, device);
  const x = copies.tensor.length;
  const rule = RULES[scheduler]!;
  const waits = (rule === RULES.planned && notBefore) || floats(0);
  const ready = pointers(device, k);
  const results = {
    start: floats(n).fill(Number.NaN),
    finish: floats(n).fill(Number.NaN),
    send_start: floats(0),
    send_finish: floats(0),
    transfer_start: floats(x),
    transfer_finish: floats(x),
  };
  const clock = { now: floats(1), count: floats(4) };
  const missing = Int32Array.from({ length: n }, (_, v) => shape.predPtr[v + 1]! - shape.predPtr[v]!);
  const { rank, item, first } = ranks(problem, device, rule);
  run_events(
    { device: device.slice(), duration: durations(problem, device), missing },
    predecessors(problem),
    copies,
    receivers,
    { latency: costs.latency.slice(), bandwidth: costs.bandwidth.slice(), send: floats(k) },
    {
      rule: { kind: rule, with_sends: false, rank, item },
      classes: { first, turn: whole(first.length).fill(-1), since: whole(first.length).fill(-1) },
      sequence: sequence(device, planned, k, rule, waits),
      msr: rule === RULES.msr ? successorRank(problem, rank) : NO_MSR,
      ready: { entry: floats(n), base: ready, count: whole(k) },
      sends: { base: whole(k), count: whole(k) },
      aside: floats(1),
    },
    { needs: needs(problem), use: NO_USE },
    contention(problem, copies),
    { busy: whole(k), touched: worklist(k) },
    { heap: floats(2 * (k + waits.length + (shape.contention === CONTENTION.fair ? 4 : 2) * x + 1)), size: floats(1) },
    clock,
    floats(1).fill(-1),
    results,
    NO_BATCH,
  );
  if (clock.count[DONE]! < n) throw new Error("the planned order contradicts the graph");
  const { tensor, source, destination, of_edge } = copies;
  const { transfer_start, transfer_finish } = results;
  return {
    device,
    start: results.start,
    finish: results.finish,
    makespan: results.finish.reduce((a, b) => Math.max(b, a), 0),
    transfers: { tensor, source, destination, start: transfer_start, finish: transfer_finish, ofEdge: of_edge },
  };
}

const floats = (n: number) => new Float64Array(n);
const whole = (n: number) => new Int32Array(n);
const worklist = (n: number) => ({ number: whole(n), flag: whole(n), size: floats(1) });

/** Transfers of a placement, and who receives what they bring. */
export function moves(problem: Problem, device: Int32Array) {
  const { nOps: n, nEdges: m, nDevices: k, producer } = problem.shape;
  const receivers = { op: whole(m), local: whole(2 * n), ptr: whole(2 * m) };
  const all = { ptr: whole(n + 1), tensor: whole(m), destination: whole(m), source: whole(m), of_edge: whole(m) };
  const work = { count: whole(k + 1), by_device: whole(m), cursor: whole(n) };
  const x: number = group_transfers(device, successors(problem), producer, work, receivers, all);
  const { ptr, of_edge } = all;
  const [tensor, destination, source] = [all.tensor, all.destination, all.source].map((each) =>
    each.subarray(0, x),
  ) as [Int32Array, Int32Array, Int32Array];
  return { receivers, copies: { ptr, tensor, destination, source, of_edge } };
}

/** Place of each op in its queue, its complement where the op has equals; the op of each place; the first place of its equals. */
function ranks(problem: Problem, device: Int32Array, rule: number) {
  const n = problem.shape.nOps;
  if (rule !== RULES.pct) return { rank: numbers(n), item: numbers(n), first: whole(0) };
  const { order, place, shared } = inClasses(pathComputationTime(problem, device));
  return {
    rank: place.map((rank, v) => (shared.length && shared[v]! >= 0 ? ~rank : rank)),
    item: order,
    first: shared,
  };
}

/** What the rule MSR reads, with its default weights, and its empty heaps. */
function successorRank(problem: Problem, rank: Int32Array) {
  const n = rank.length;
  const facts = whole(4 * n);
  for (let v = 0; v < n; v++) facts[4 * v + 3] = NOWHERE;
  return {
    weights: { static: false, alpha: 1, beta: 1, gamma: 1, delta: 5 },
    consumers: consumerOps(problem.shape),
    heaps: { links: whole(3 * n).fill(-1), since: whole(n).fill(-1), rank },
    facts,
  };
}

/** Distinct consumers of each op. */
export function consumerOps({ nOps: n, succPtr, consumer }: Problem["shape"]) {
  const ptr = whole(n + 1);
  const op: number[] = [];
  const inputs: number[] = [];
  const producers = whole(n);
  const most = whole(n);
  for (let v = 0; v < n; v++) {
    const readers = consumer.slice(succPtr[v]!, succPtr[v + 1]!).sort();
    readers.forEach((w, i) => {
      if (i > 0 && readers[i - 1] === w) {
        inputs[inputs.length - 1]! += 1;
      } else {
        op.push(w);
        inputs.push(1);
        producers[w]! += 1;
      }
      most[w] = Math.max(most[w]!, inputs[inputs.length - 1]!);
    });
    ptr[v + 1] = op.length;
  }
  return { ptr, op: Int32Array.from(op), inputs: Int32Array.from(inputs), producers, most };
}

/** Planned ops device by device. */
function sequence(device: Int32Array, planned: Int32Array, k: number, rule: number, waits: Float64Array) {
  if (rule !== RULES.planned) return { ptr: whole(k + 1), op: whole(1), next: whole(k), not_before: floats(0) };
  const ptr = pointers(device, k);
  const op = whole(planned.length);
  in_sequence(device, planned, ptr.slice(0, k), op);
  return { ptr, op, next: ptr.slice(0, k), not_before: waits };
}

/** Free links, and empty queues before them. */
function contention(
  { shape, costs }: Problem,
  { source, destination }: { source: Int32Array; destination: Int32Array },
) {
  const { nDevices: k, contention: model } = shape;
  const x = source.length;
  const channel = model === CONTENTION.channel;
  const of = channel ? Float64Array.from(source, (d, i) => d * k + destination[i]!) : floats(0);
  const n = channel ? k * k : 1;
  const base = pointers(Int32Array.from(of), n);
  const fair = model === CONTENTION.fair;
  const links = {
    contention: model,
    in_port: shape.duplex ? k : 0,
    held: shape.held,
    port: floats(2 * k),
    channel: whole(n),
    flows: flows(fair ? k : 0, fair ? x : 0),
    shared: sharedLinks(shape, costs, fair ? k : 0),
  };
  const queues = { of, entry: floats(of.length), base, count: whole(n), rank: floats(0), request: whole(of.length) };
  return { links, queues: { ...queues, n_requests: floats(1) }, pairs: worklist(n) };
}

function flows(k: number, x: number) {
  const kk = k * k;
  return {
    rate: floats(kk),
    served: floats(kk),
    since: floats(kk),
    due: floats(kk),
    count: whole(kk),
    stale: whole(kk),
    entry: floats(2 * x),
    base: whole(kk + 1),
    active: whole(kk),
    number: floats(3),
    next: floats(1),
  };
}

function sharedLinks({ shared }: Problem["shape"], { linkBandwidth }: Problem["costs"], k: number) {
  const n = linkBandwidth.length;
  return {
    capacity: linkBandwidth,
    ...shared,
    own: floats(k * k),
    flows: whole(n),
    left: floats(n),
    users: whole(n),
    share: floats(n),
    rate: floats(k * k),
  };
}

// ---------------------------------------------------------------- what a run of this kind does not read

const NO_MSR = {
  weights: { static: false, alpha: 0, beta: 0, gamma: 0, delta: 0 },
  consumers: { ptr: whole(1), op: whole(1), inputs: whole(1), producers: whole(1), most: whole(1) },
  heaps: { links: whole(0), since: whole(0), rank: whole(0) },
  facts: whole(0),
};

const NO_USE = {
  bytes: floats(1),
  home: whole(1),
  copy: whole(1),
  storage: whole(0),
  size: floats(0),
  begun: whole(0),
  reads: whole(0),
};

const NO_BATCH = { makespan: floats(0) };
