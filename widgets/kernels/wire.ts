/** A run as the chart reads it (widgets/gantt/wire): its critical path and idle gaps as in Python, and the bytes of placelab/app/widgets/gantt_wire.py. */
import { idle_gaps, link_items, walk_back } from "./kernels.generated.ts";
import { float32 } from "./made.ts";
import { type Curves, curvesOf, largest, shortagesIn } from "./memory.ts";
import { CONTENTION, MEMORY, type Problem, predecessors } from "./problem.ts";
import type { Run } from "./simulate.ts";
import { ascending, numbers } from "./sorted.ts";
import { rint } from "./whole.ts";

const VERSION = 1;
const FULL = 65535; // level of the peak of a device
const LEVELS = [FULL, 2048, 1024, 512, 256, 128, 64, 32, 16];
const POINTS = 12_000; // of the memory curves on a page

type Column = { readonly buffer: ArrayBufferLike; readonly byteOffset: number; readonly byteLength: number };

/** The trait `schedule` of the chart. */
export function packRun(problem: Problem, run: Run): DataView {
  const { shape } = problem;
  const { start, finish, device, transfers } = run;
  const producer = new Uint32Array(transfers.tensor.length);
  transfers.tensor.forEach((t, i) => (producer[i] = shape.tensorProducer[t]!));
  const { steps, gaps } = explained(problem, run);
  const counts = [shape.nOps, producer.length, 0, shape.nDevices, steps.kind.length, gaps.device.length, 0];
  return message([
    Uint32Array.of(VERSION, ...counts),
    Float64Array.of(run.makespan),
    ...span(start, finish),
    Uint16Array.from(device),
    float32(producer.length, (i) => transfers.start[i]! - finish[producer[i]!]!),
    float32(producer.length, (i) => transfers.finish[i]! - transfers.start[i]!),
    Uint16Array.from(transfers.source),
    Uint16Array.from(transfers.destination),
    producer,
    steps.kind,
    Uint32Array.from(steps.row),
    ...span(steps.begin, steps.end),
    Uint16Array.from(gaps.device),
    ...span(gaps.begin, gaps.end),
    gaps.reason,
    Uint32Array.from(gaps.op),
  ]);
}

/** The trait `kept`: a run to draw behind another one. */
export function packKept({ shape }: Problem, run: Run): DataView {
  return message([
    Uint32Array.of(VERSION, shape.nOps, shape.nDevices, 0),
    Float64Array.of(run.makespan),
    Uint16Array.from(run.device),
    Float32Array.from(run.start),
    Float32Array.from(run.finish),
  ]);
}

/** The trait `memory`, with at most so many points of curves. */
export function packMemory(problem: Problem, run: Run): DataView {
  const { nDevices: k, memory } = problem.shape;
  const curves = curvesOf(problem, run);
  const { ptr, size } = curves;
  const short = shortagesIn(problem, run, curves);
  const peak = Float64Array.from({ length: k }, (_, d) => largest(size.subarray(ptr[d]!, ptr[d + 1]!)));
  const { first, bits, level } = thinned(curves, peak);
  return message([
    Uint32Array.of(VERSION, k, bits.length, short.length),
    Float32Array.from(memory.capacity, (bytes) => (memory.model === MEMORY.none ? Infinity : bytes)),
    Float32Array.from(peak),
    first,
    bits.map((x, i) => x - (i ? bits[i - 1]! : 0)),
    level.map((x, i) => x - (i ? level[i - 1]! : 0)),
    Uint16Array.from(short, ({ device }) => device),
    Float32Array.from(short, ({ start }) => start + 0),
    Float32Array.from(short, ({ start, finish }) => finish - start),
    Float32Array.from(short, ({ bytes }) => bytes),
  ]);
}

/** First point of each device, bits of the time of all points, and their levels: of as many levels as there is room for. */
function thinned({ ptr, time, size }: Curves, peak: Float64Array) {
  const n = size.length;
  const shares = new Float64Array(n);
  peak.forEach((top, d) => {
    for (let i = ptr[d]!; i < ptr[d + 1]!; i++) shares[i] = size[i]! / Math.max(top, 1e-300);
  });
  const level = new Float64Array(n);
  const kept = new Int32Array(n);
  const first = new Uint32Array(peak.length);
  let count = 0;
  let levels = FULL;
  for (levels of LEVELS) {
    count = 0;
    for (let i = 0, d = 0; i < n; i++) {
      level[i] = rint(shares[i]! * levels);
      const begins = i === ptr[d];
      if (begins) first[d++] = count;
      if (begins || level[i] !== level[i - 1]) kept[count++] = i;
    }
    if (count <= POINTS) break;
  }
  const at = kept.subarray(0, count);
  return {
    first,
    bits: new Uint32Array(Float32Array.from(at, (i) => time[i]! + 0).buffer),
    level: Uint16Array.from(at, (i) => rint(level[i]! * (FULL / levels))),
  };
}

/** Columns one after the other, each from a multiple of 8 bytes on. */
function message(columns: readonly Column[]): DataView {
  const places: number[] = [];
  let size = 0;
  for (const { byteLength } of columns) {
    places.push(size);
    size += (byteLength + 7) & ~7;
  }
  const bytes = new Uint8Array(size);
  columns.forEach(({ buffer, byteOffset, byteLength }, i) => {
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), places[i]!);
  });
  return new DataView(bytes.buffer);
}

/** Start and duration. */
function span(start: Float64Array, finish: Float64Array): [Float32Array, Float32Array] {
  return [float32(start.length, (i) => start[i]! + 0), float32(start.length, (i) => finish[i]! - start[i]!)];
}

/** The critical path from time 0 on, and the idle gaps by device and time. */
function explained(problem: Problem, run: Run) {
  const { nOps: n, nDevices: k } = problem.shape;
  const { start, finish, device, transfers } = run;
  const x = transfers.tensor.length;
  const byStart = ascending(start);
  const items = { n_ops: n, start, finish, device, by_start: byStart };
  const pred = predecessors(problem);
  const carried = { carrier: transfers.ofEdge, finish: transfers.finish };
  const before = new Int32Array(n);
  link_items(items, new Int32Array(k).fill(-1), before);
  const steps = columns(2 * (n + x) + 2, ["kind"], ["row", "cause", "by"], ["begin", "end"]);
  const last = finish.indexOf(run.makespan);
  const walk = { before, visited: new Int32Array(n + x) };
  const found: number = walk_back(last, 1, items, pred, carried, moved(problem, run), walk, steps);
  const gaps = columns(3 * n + k, ["reason"], ["device", "op", "next"], ["begin", "end"]);
  const work = {
    free: new Float64Array(k),
    ready: new Float64Array(n),
    first: new Int32Array(k).fill(-1),
    waiting: new Int32Array(n),
  };
  const idle: number = idle_gaps(run.makespan, items, pred, carried, work, gaps);
  const inOrder = ascending(Float64Array.from(gaps.device), ascending(gaps.begin.subarray(0, idle)));
  return { steps: picked(steps, numbers(found).reverse()), gaps: picked(gaps, inOrder) };
}

/** The ops of the critical path, by number. */
export function pathOf(problem: Problem, run: Run): number[] {
  const { kind, row } = explained(problem, run).steps;
  return [...new Set(row.filter((_, i) => kind[i] === 0))].sort((a, b) => a - b);
}

/** Seconds of the critical path in ops, in transfers and in line for a device or link. */
export function pathParts(problem: Problem, run: Run): [number, number, number] {
  const { kind, begin, end } = explained(problem, run).steps;
  const parts: [number, number, number] = [0, 0, 0];
  kind.forEach((each, i) => (parts[Math.min(each, 2)]! += end[i]! - begin[i]!));
  return parts;
}

/** Transfers, and what they may have waited for. */
function moved({ shape, costs }: Problem, { transfers }: Run) {
  const { contention, duplex, nDevices: k, tensorProducer } = shape;
  const { tensor, source, destination, start, finish } = transfers;
  const made_by = tensor.map((t) => tensorProducer[t]!);
  const nothing = new Int32Array(0);
  const pair = source.map((d, i) => d * k + destination[i]!);
  const free =
    shape.held === 1
      ? finish
      : contention === CONTENTION.fair
        ? finish.map((t, i) => t - costs.latency[pair[i]!]!)
        : start.map((t, i) => t + costs.tensorBytes[tensor[i]!]! / costs.bandwidth[pair[i]!]!);
  if (contention === CONTENTION.parallel)
    return { made_by, start, first: nothing, last: nothing, free, by_free: nothing };
  const ports = contention === CONTENTION.ports;
  const first = ports ? source : pair;
  const last = ports ? destination.map((d) => d + (duplex ? k : 0)) : pair;
  return { made_by, start, first, last, free, by_free: ascending(free) };
}

type Columns<B extends string, W extends string, F extends string> = Record<B, Uint8Array> &
  Record<W, Int32Array> &
  Record<F, Float64Array>;

/** Room for n results in columns of bytes, whole numbers and floats. */
function columns<B extends string, W extends string, F extends string>(n: number, bytes: B[], whole: W[], floats: F[]) {
  const made = [
    ...bytes.map((name) => [name, new Uint8Array(n)]),
    ...whole.map((name) => [name, new Int32Array(n)]),
    ...floats.map((name) => [name, new Float64Array(n)]),
  ];
  return Object.fromEntries(made) as Columns<B, W, F>;
}

/** These rows of all columns. */
function picked<T extends Record<string, Uint8Array | Int32Array | Float64Array>>(table: T, rows: Int32Array): T {
  const taken = Object.entries(table).map(([name, column]) => {
    const kind = column.constructor as new (n: number) => typeof column;
    const part = new kind(rows.length);
    rows.forEach((row, i) => (part[i] = column[row]!));
    return [name, part];
  });
  return Object.fromEntries(taken) as T;
}
