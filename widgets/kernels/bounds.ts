/** The best lower bound on the makespan: placelab.planning.lower_bounds.best_bound, to the last bit. */
import { heads, least_span, least_times, least_transfers, longest_window, upward } from "./kernels.generated.ts";
import { CONTENTION, grouped, type Problem, pointers, successors } from "./problem.ts";
import { largestOf, sum } from "./ranks.ts";
import { ascending, numbers } from "./sorted.ts";

const FORCED = 256; // as in placelab.planning.input_bound, like the four below
const BETWEEN = 64;
const FOLLOWED = 1_600_000;
const SETS = 12;
const POOLS = 64;

/** Devices that may run each op, a bit for each; null where all may run everywhere. */
export type Allowed = readonly number[] | null;

/** What bounds ops in time: one starts at `head` or later, and `tail` passes after its end, or more. */
interface Windows {
  readonly time: Float64Array;
  readonly head: Float64Array;
  readonly tail: Float64Array;
}

/** The largest of the critical path, the total work and the bound `inputs` [s]. */
export function bestBound(problem: Problem, allowed: Allowed): number {
  const time = leastExec(problem, allowed);
  return [totalWork(problem, time, allowed), inputBound(problem, time, allowed)].reduce(
    (most, bound) => Math.max(most, bound),
    criticalLength(problem, time),
  );
}

/** Least time of each op over the devices that it may run on. */
function leastExec({ shape, times }: Problem, allowed: Allowed): Float64Array {
  const { nOps: n, nDevices: k } = shape;
  const flags = new Uint8Array(allowed ? n * k : k).fill(1);
  if (allowed) for (let v = 0; v < n; v++) for (let d = 0; d < k; d++) flags[v * k + d] = (allowed[v]! >> d) & 1;
  const least = new Float64Array(n);
  least_times(times, { allowed: flags, stride: allowed ? k : 0 }, new Float64Array(times.columns), least);
  return least;
}

function criticalLength(problem: Problem, weight: Float64Array): number {
  const rank = new Float64Array(weight.length);
  upward(weight, successors(problem), 0, 0, rank);
  return largestOf(rank);
}

function totalWork({ shape, costs }: Problem, least: Float64Array, allowed: Allowed): number {
  if (shape.nTimes === 0 && !allowed) return sum(costs.compute) / sum(costs.speed);
  return sum(least) / shape.nDevices;
}

function inputBound(problem: Problem, time: Float64Array, allowed: Allowed): number {
  const n = time.length;
  const [cost, always] = leastTransfers(problem, allowed);
  const { producer, consumer } = problem.shape;
  const turned = (ops: Int32Array) => ops.map((v) => n - 1 - v);
  const head = headsOf(time, producer, consumer, cost, always);
  const tail = headsOf(time.slice().reverse(), turned(consumer), turned(producer), cost, always).reverse();
  const found = { time, head, tail };
  return Math.max(longest_window(head, time, tail), fullest(problem, found, allowed));
}

/** Heads of ops with these edges. */
function headsOf(
  time: Float64Array,
  source: Int32Array,
  destination: Int32Array,
  cost: Float64Array,
  always: Float64Array,
): Float64Array {
  const n = time.length;
  const ptr = pointers(destination, n);
  const edges = grouped(destination, ptr);
  const inputs = {
    ptr,
    op: edges.map((e) => source[e]!),
    cost: Float64Array.from(edges, (e) => cost[e]!),
    always: Float64Array.from(edges, (e) => always[e]!),
  };
  const most = Math.min(FORCED, Math.max(Math.floor(FOLLOWED / n), 16));
  const [until, left, queue, ready] = [1, 1, 2, 2].map((width) => new Float64Array(most * width));
  const head = new Float64Array(n);
  const forced = { op: new Int32Array(most), until, left, queue, ready, due: new Float64Array(n).fill(-1) };
  heads(time, inputs, forced, among(n), head);
  return head;
}

/** Room for the ops between two of n ops. */
function among(n: number) {
  const most = Math.min(BETWEEN, Math.max(Math.floor(FOLLOWED / n), 16));
  const [before, first, place] = [n, n, n].map((size) => new Int32Array(size));
  const [time, near, away, rest, back] = [1, 2, 3, 4, 5].map(() => new Float64Array(most));
  return { before, first, place, span: new Float64Array(n), op: new Int32Array(most), time, near, away, rest, back };
}

/** Of all pools the longest a + (work of ops with heads of at least a and tails of at least b) + b. */
function fullest(problem: Problem, { time, head, tail }: Windows, allowed: Allowed): number {
  const n = time.length;
  const rising = ascending(tail);
  const place = new Int32Array(n);
  rising.forEach((v, i) => (place[v] = i));
  const order = ascending(head.map((x) => -x));
  const leaves = 2 << (32 - Math.clz32(Math.max(n - 1, 1)));
  const [tree, added] = [new Float64Array(leaves), new Float64Array(leaves)];
  const byRank = Float64Array.from(rising, (v) => tail[v]!);
  let span = 0;
  for (const [inside, work] of pools(problem, time, allowed))
    span = Math.max(span, least_span(order.filter(inside), head, place, byRank, work, tree, added));
  return span;
}

type Pool = readonly [inside: (op: number) => boolean, work: Float64Array];

/** All ops with all devices; then each set of devices that some op is restricted to, with the ops that run only there. */
function pools({ shape, costs }: Problem, time: Float64Array, allowed: Allowed): Pool[] {
  const k = shape.nDevices;
  const total = sum(costs.speed);
  const plain = shape.nTimes === 0 && !allowed;
  const every = plain ? costs.compute.map((x) => x / total) : time.map((x) => x / k);
  const all: Pool = [() => true, every];
  const sets = [...new Set(allowed)];
  if (!allowed || sets.length > POOLS) return [all];
  const proper = sets.filter((bits) => bits !== 2 ** k - 1);
  return [
    all,
    ...proper.map((bits): Pool => [(v) => (allowed[v]! & ~bits) === 0, time.map((x) => x / members(bits, k).length)]),
  ];
}

/**
 * Least seconds of the transfer along each edge between distinct devices, infinite where its ends share one, and 0, or the same
 * where no device may run both ends.
 */
function leastTransfers({ shape, costs, edgeBytes }: Problem, allowed: Allowed): [Float64Array, Float64Array] {
  const { nDevices: k, nEdges, producer, consumer, group } = shape;
  const [cost, always, pair] = [new Float64Array(nEdges), new Float64Array(nEdges), new Int32Array(nEdges)];
  const told = allowed && new Set(allowed).size <= SETS ? allowed : null;
  const rate = shape.contention === CONTENTION.fair ? narrowest(shape, costs) : costs.bandwidth;
  const known = new Map<string, number>();
  const found: [number, number][] = []; // links, pair by pair of sets of devices
  const [ptr, apart] = [[0], [] as boolean[]];
  const everywhere = 2 ** k - 1;
  for (let e = 0; e < nEdges; e++) {
    const [from, to] = told ? [told[producer[e]!]!, told[consumer[e]!]!] : [everywhere, everywhere];
    const key = `${from} ${to}`;
    if (!known.has(key)) {
      known.set(key, known.size);
      found.push(...bestLinks(from, to, k, costs.latency, rate));
      ptr.push(found.length);
      apart.push(told !== null && (from & to) === 0);
    }
    pair[e] = known.get(key)!;
  }
  const [latency, bandwidth] = [0, 1].map((of) => Float64Array.from(found, (link) => link[of]!));
  const together = Uint8Array.from(producer, (v, e) => Number(group[v]! >= 0 && group[v] === group[consumer[e]!]));
  least_transfers(pair, ptr, latency, bandwidth, apart.map(Number), together, edgeBytes, cost, always);
  return [cost, always];
}

/** Latency and rate of the links than which no other is better in both. */
function bestLinks(from: number, to: number, k: number, latency: Float64Array, rate: Float64Array): [number, number][] {
  const links: [number, number][] = [];
  for (const i of members(from, k))
    for (const j of members(to, k)) if (i !== j) links.push([latency[i * k + j]!, rate[i * k + j]!]);
  links.sort(([a, x], [b, y]) => a - b || y - x || 0);
  const best: [number, number][] = [];
  for (const link of links) if (!best.length || link[1] > best[best.length - 1]![1]) best.push(link);
  return best;
}

/** Bandwidths of pairs of devices, shared links on their way included. */
function narrowest({ shared }: Problem["shape"], { bandwidth, linkBandwidth }: Problem["costs"]): Float64Array {
  return bandwidth.map((rate, pair) => {
    let least = rate;
    for (let i = shared.ptr[pair]!; i < shared.ptr[pair + 1]!; i++)
      least = Math.min(least, linkBandwidth[shared.link[i]!]!);
    return least;
  });
}

/** Devices of a set of bits; all of them where there are more devices than bits. */
function members(bits: number, k: number): number[] {
  return [...numbers(k)].filter((d) => bits === 2 ** k - 1 || (bits >> d) & 1);
}
