/** A problem as a page has it: what never changes in `Shape`, what a hand changes in `Costs`; and the blocks that kernels take of both. */
import { reader } from "../shared/reader.ts";
import { add_by, delays, durations as durationsOn, queue_bases, speed_ups } from "./kernels.generated.ts";
import { float64 } from "./made.ts";

/** Codes of placelab/kernels/blocks.py. */
export const CONTENTION = { parallel: 0, ports: 1, channel: 2, fair: 4 } as const;

/** What each transfer model of a page contends for. */
export const TRANSFERS: Readonly<Record<string, number>> = {
  parallel: CONTENTION.parallel,
  sequential: CONTENTION.ports,
  channel: CONTENTION.channel,
  fair: CONTENTION.fair,
};

export const MEMORY = { none: 0, edges: 1, dynamic: 2, reserved: 3 } as const;

/** Ops, edges and rules. Numbered as in Python, as all arrays here. */
export interface Shape {
  readonly nOps: number;
  readonly nEdges: number;
  readonly nDevices: number;
  readonly nGroups: number;
  /** A code of `CONTENTION`; planners know `fair` as none. */
  readonly contention: number;
  readonly duplex: boolean;
  /** 1 where a transfer holds its links for its latency, 0 where the latency follows. */
  readonly held: number;
  readonly memory: Memory;
  /** Whether costs may be whole in some decimal unit, on some cluster. */
  readonly mayBeWhole: boolean;
  /** Columns of measured times, 0 where times are operations over speed. */
  readonly nTimes: number;
  readonly timeColumn: Int32Array;
  readonly group: Int32Array;
  readonly consumer: Int32Array;
  readonly producer: Int32Array;
  readonly edgeTensor: Int32Array;
  readonly tensorPtr: Int32Array;
  readonly tensorProducer: Int32Array;
  readonly succPtr: Int32Array;
  readonly predPtr: Int32Array;
  readonly predEdge: Int32Array;
  /** Links that several pairs of devices share: which pair uses which, both ways; empty where none counts. */
  readonly shared: {
    readonly ptr: Int32Array;
    readonly link: Int32Array;
    readonly first: Int32Array;
    readonly pair: Int32Array;
  };
}

/** Bytes of ops as the graph has them. */
export interface Held {
  readonly persistent: Float64Array;
  readonly temporary: Float64Array;
  /** What the model `reserved` counts. */
  readonly reserved: Float64Array;
}

/** What holds memory; bytes never change by hand. */
export interface Memory {
  /** A code of `MEMORY`. */
  readonly model: number;
  readonly bytes: Held;
  /** Whether a device may run out of memory, wherever ops are. */
  readonly binds: boolean;
  /** Bytes that each op keeps for the whole run. */
  readonly lasting: Float64Array;
  /** Bytes that each op holds while it runs. */
  readonly temporary: Float64Array;
  readonly capacity: Float64Array;
  /** The first tensor in the storage of each; empty where none share any. */
  readonly storage: Int32Array;
}

/** What is measured in seconds, bytes or operations. */
export interface Costs {
  readonly compute: Float64Array;
  readonly tensorBytes: Float64Array;
  /** Seconds of op v in column j, at v * nTimes + j. */
  readonly time: Float64Array;
  readonly timeSpeed: Float64Array;
  readonly speed: Float64Array;
  readonly bandwidth: Float64Array;
  readonly latency: Float64Array;
  readonly linkBandwidth: Float64Array;
}

export interface Placed {
  readonly device: Int32Array;
  /** Ops in planned order; empty without a plan. */
  readonly planned: Int32Array;
  /** When the plan lets each op start that waits for room in memory, 0 for the others; absent where none waits. */
  readonly notBefore?: Float64Array;
}

export interface Times {
  readonly cost: Float64Array;
  readonly column: Int32Array;
  readonly divisor: Float64Array;
  readonly columns: number;
}

export interface Problem {
  readonly shape: Shape;
  readonly costs: Costs;
  readonly times: Times;
  readonly edgeBytes: Float64Array;
}

/** Reads what placelab/app/widgets/live_page.py writes: a problem and where its ops are, null where the page is to place them. */
export function decodeProblem(message: DataView): { shape: Shape; costs: Costs; placed: Placed | null } {
  const { header, f64: column, u32 } = reader(message, 21, "problem");
  const i32 = (n: number) => new Int32Array(together(u32(n)).buffer);
  let reals = 0; // columns so far
  const f64 = (n?: number) => ((inParts! >> reals++) & 1 ? together(column(n)) : column(n));
  const [, n, m, t, k, nGroups, contention, duplex, latencyHolds, model, binds, wholes, ...sizes] =
    header as unknown as number[];
  const [nTimes, nPlaced, nPlanned, nStorage, nLinks, nPairs, nReserved, nWaits, inParts] = sizes;
  const ahead = i32(m!);
  const edgeTensor = summed(i32(m!));
  const tensorProducer = summed(i32(t!));
  const group = summed(i32(n!));
  const timeColumn = i32(k!);
  const [device, planned] = [i32(nPlaced!), summed(i32(nPlanned!))];
  const storage = summed(i32(nStorage!));
  const shared = { ptr: i32(k! * k! + 1), link: i32(nPairs!), first: i32(nLinks! + 1), pair: i32(nPairs!) };
  const costs = {
    compute: f64(n),
    tensorBytes: f64(t),
    time: f64(n! * nTimes!),
    timeSpeed: f64(nTimes),
    speed: f64(k),
    bandwidth: f64(k! * k!),
    latency: f64(k! * k!),
    linkBandwidth: f64(nLinks),
  };
  const [persistent, temporary, given, capacity] = [f64(n), f64(n), f64(nReserved), f64(k)];
  const placed = nPlaced ? { device, planned, ...(nWaits ? { notBefore: f64(nWaits) } : {}) } : null;
  const held = { persistent, temporary };
  const made = newBytes(n!, tensorProducer, costs.tensorBytes, storage);
  const bytes = { ...held, reserved: nReserved ? given : allBytes(held, made) };
  const consumer = ahead.map((by, e) => tensorProducer[edgeTensor[e]!]! + by);
  const shape: Shape = {
    ...edgesOf(n!, edgeTensor, consumer, tensorProducer),
    nOps: n!,
    nDevices: k!,
    nGroups: nGroups!,
    contention: contention!,
    duplex: duplex === 1,
    held: latencyHolds!,
    memory: { ...memoryOf(model!, bytes), binds: binds === 1, capacity, storage },
    mayBeWhole: wholes === 1,
    nTimes: nTimes!,
    timeColumn,
    group,
    tensorPtr: pointers(tensorProducer, n!),
    tensorProducer,
    shared,
  };
  return { shape, costs, placed };
}

/** Edges by the tensor that each carries, and the op that reads it. */
export function edgesOf(n: number, edgeTensor: Int32Array, consumer: Int32Array, tensorProducer: Int32Array) {
  const producer = edgeTensor.map((t) => tensorProducer[t]!);
  const predPtr = pointers(consumer, n);
  const predEdge = grouped(consumer, predPtr);
  return { nEdges: consumer.length, edgeTensor, consumer, producer, succPtr: pointers(producer, n), predPtr, predEdge };
}

/** Numbers of which first all first bytes came, then all second ones and so on. */
function together<T extends Uint32Array | Float64Array>(column: T): T {
  const { buffer, byteOffset, byteLength, length } = column;
  const [from, to] = [new Uint8Array(buffer, byteOffset, byteLength), new Uint8Array(byteLength)];
  const size = column.BYTES_PER_ELEMENT;
  for (let byte = 0; byte < size; byte++)
    for (let i = 0; i < length; i++) to[i * size + byte] = from[byte * length + i]!;
  return new (column.constructor as new (bytes: ArrayBuffer) => T)(to.buffer);
}

/** What a memory model counts of ops: where memory is unlimited, as `dynamic` counts it. */
export function memoryOf(model: number, bytes: Held) {
  const nothing = new Float64Array(bytes.persistent.length);
  const [lasting, temporary] = {
    [MEMORY.edges]: [nothing, nothing],
    [MEMORY.reserved]: [bytes.reserved, nothing],
  }[model] ?? [bytes.persistent, bytes.temporary];
  return { model, bytes, lasting: lasting!, temporary: temporary! };
}

/** The shape under another memory model, by its name; under its own it is the same. */
export function withMemory(shape: Shape, name: string): Shape {
  const model = MEMORY[name as keyof typeof MEMORY];
  if (model === shape.memory.model) return shape;
  const memory = { ...shape.memory, ...memoryOf(model, shape.memory.bytes), binds: model !== MEMORY.none };
  return { ...shape, memory };
}

/** What ops hold, and what they make: what the model `reserved` counts where the graph says nothing else. */
export function allBytes({ persistent, temporary }: Omit<Held, "reserved">, made: Float64Array): Float64Array {
  return persistent.map((x, v) => x + temporary[v]! + made[v]!);
}

/** Bytes of the storages whose first tensor each op makes. */
export function newBytes(n: number, producer: Int32Array, bytes: Float64Array, storage: Int32Array): Float64Array {
  const made = new Float64Array(n);
  const held = bytes.slice();
  storage.forEach((first, t) => (held[first] = Math.max(held[first]!, bytes[t]!)));
  add_by(producer, storage.length ? held.map((size, t) => (storage[t] === t ? size : 0)) : held, made);
  return made;
}

/** Numbers from the differences of neighbours. */
function summed(differences: Int32Array): Int32Array {
  let total = 0;
  return differences.map((by) => (total += by));
}

/** Start of each key's run where items are sorted by key; one more for the end. */
export function pointers(keys: Int32Array, n: number): Int32Array {
  const ptr = new Int32Array(n + 1);
  queue_bases(keys, ptr);
  return ptr;
}

/** Numbers of items by key, then number. */
export function grouped(keys: Int32Array, ptr: Int32Array): Int32Array {
  const at = ptr.slice();
  const found = new Int32Array(keys.length);
  keys.forEach((key, i) => {
    found[at[key]!] = i;
    at[key]! += 1;
  });
  return found;
}

/** The problem with these costs. */
export function problemOf(shape: Shape, costs: Costs): Problem {
  return {
    shape,
    costs,
    times: timesOf(shape, costs),
    edgeBytes: float64(shape.nEdges, (e) => costs.tensorBytes[shape.edgeTensor[e]!]!),
  };
}

/** As placelab.problem.ops_on_devices: one column for all devices with equal times, scaled where the times hold for a known speed. */
function timesOf(shape: Shape, costs: Costs): Times {
  const { nOps, nDevices, nTimes, timeColumn } = shape;
  if (nTimes === 0) return { cost: costs.compute, column: new Int32Array(nDevices), divisor: costs.speed, columns: 1 };
  const used = [...new Set(timeColumn)];
  const cost = new Float64Array(nOps * used.length);
  for (let v = 0; v < nOps; v++) used.forEach((j, c) => (cost[v * used.length + c] = costs.time[v * nTimes + j]!));
  const divisor = new Float64Array(nDevices);
  speed_ups(costs.speed, timeColumn, costs.timeSpeed, divisor);
  return { cost, column: timeColumn.map((j) => used.indexOf(j)), divisor, columns: used.length };
}

/** Seconds that each op takes on its device. */
export function durations({ times }: Problem, device: Int32Array): Float64Array {
  const duration = new Float64Array(device.length);
  durationsOn(device, times, duration);
  return duration;
}

// ---------------------------------------------------------------- blocks that planners and the simulator share

export const predecessors = ({ shape, edgeBytes }: Problem) => ({
  ptr: shape.predPtr,
  edge: shape.predEdge,
  producer: shape.producer,
  bytes: edgeBytes,
  tensor: shape.edgeTensor,
});

export const successors = ({ shape, edgeBytes }: Problem) => ({
  ptr: shape.succPtr,
  consumer: shape.consumer,
  bytes: edgeBytes,
  tensor: shape.edgeTensor,
});

/** Links without Send ops. */
export function network({ shape, costs }: Problem) {
  const { latency, bandwidth } = costs;
  const [send, delay] = [new Float64Array(shape.nDevices), new Float64Array(latency.length)];
  delays(latency, send, delay);
  return { latency, bandwidth, send, delay };
}

/** What ops need in runs and plans that do not look at memory: only tensors, which are sent. */
export const needs = ({ shape, costs }: Problem) => ({
  model: MEMORY.none,
  limit: new Float64Array(shape.nDevices),
  for_ever: new Float64Array(0),
  temporary: new Float64Array(0),
  outputs: new Float64Array(0),
  storage: new Int32Array(0),
  root: new Int32Array(0),
  storage_bytes: new Float64Array(0),
  tensor_ptr: shape.tensorPtr,
  tensor_bytes: costs.tensorBytes,
});
