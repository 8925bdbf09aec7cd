/** Memory in use on devices over time: placelab.schedule.schedule, to the last bit. */
import { add_by, memory_changes, memory_levels } from "./kernels.generated.ts";
import { MEMORY, type Problem, pointers, type Shape } from "./problem.ts";
import type { Run } from "./simulate.ts";
import { ascending, numbers } from "./sorted.ts";

export const TOLERANCE = 1e-9; // relative to the capacity

/** A step curve per device: from `time[i]` on `size[i]` bytes are in use, i in ptr[d]:ptr[d + 1]. */
export interface Curves {
  readonly ptr: Int32Array;
  readonly time: Float64Array;
  readonly size: Float64Array;
}

/** A span in which a device holds more than its memory. */
export interface Shortage {
  readonly device: number;
  readonly start: number;
  readonly finish: number;
  /** The most that it is short of. */
  readonly bytes: number;
}

/** Memory curves of all devices. */
export function curvesOf(problem: Problem, run: Run): Curves {
  const { nDevices: k, memory } = problem.shape;
  const level = lastingOn(problem.shape, run.device);
  if (memory.model === MEMORY.reserved) return { ptr: numbers(k + 1), time: new Float64Array(k), size: level };
  const changes = changesOf(problem, run);
  const order = ascending(changes.time);
  const room = pointers(changes.device, k).map((at, d) => at + d); // of each device, and the point at time 0
  const time = new Float64Array(room[k]!);
  const size = new Float64Array(room[k]!);
  const last = room.slice(0, k);
  memory_levels(order, changes, level, last, time, size);
  const ptr = new Int32Array(k + 1);
  for (let d = 0; d < k; d++) {
    const begin = room[d]!;
    const end = last[d]! + 1;
    time.copyWithin(ptr[d]!, begin, end);
    size.copyWithin(ptr[d]!, begin, end);
    ptr[d + 1] = ptr[d]! + end - begin;
  }
  return { ptr, time: time.subarray(0, ptr[k]), size: size.subarray(0, ptr[k]) };
}

/** Bytes that ops keep for the whole run, per device. */
function lastingOn({ nDevices, memory }: Shape, device: Int32Array): Float64Array {
  const held = new Float64Array(nDevices);
  add_by(device, memory.lasting, held);
  return held;
}

/** What changes the memory in use while the run lasts. */
function changesOf({ shape, costs }: Problem, run: Run) {
  const { nOps: n, memory, tensorProducer, consumer, edgeTensor } = shape;
  const { device, start, finish, transfers } = run;
  const t = tensorProducer.length;
  const x = transfers.tensor.length;
  const most = 2 * n + t + x;
  const changes = { device: new Int32Array(most), time: new Float64Array(most), bytes: new Float64Array(most) };
  const work = {
    at_start: new Float64Array(n),
    at_finish: new Float64Array(n),
    last_use: new Int32Array(x).fill(-1),
    sent: new Float64Array(t),
    first: new Int32Array(t).fill(-1),
    until: new Float64Array(t).fill(-Infinity),
    last: new Int32Array(t).fill(-1),
  };
  const tensors = {
    producer: tensorProducer,
    bytes: costs.tensorBytes,
    ...storages(shape, costs.tensorBytes, device),
    ptr: pointers(edgeTensor, t),
    consumer,
    carrier: transfers.ofEdge,
  };
  const count: number = memory_changes(
    { device, start, finish, temporary: memory.temporary },
    tensors,
    transfers,
    memory.model !== MEMORY.edges,
    work,
    changes,
  );
  const { device: where, time, bytes } = changes;
  return { device: where.subarray(0, count), time: time.subarray(0, count), bytes: bytes.subarray(0, count) };
}

/** The tensor in whose memory each is held where ops run on these devices, and the bytes of that memory. */
function storages({ memory, tensorProducer }: Shape, bytes: Float64Array, device: Int32Array) {
  const first = memory.storage;
  if (!first.length) return { storage: numbers(bytes.length), held: bytes };
  const home = tensorProducer.map((v) => device[v]!);
  const held = bytes.slice();
  first.forEach((s, t) => (held[s] = Math.max(held[s]!, bytes[t]!)));
  return { storage: first.map((s, t) => (home[s] === home[t] ? s : t)), held };
}

/** Maximal spans in which a device holds more than its memory, by device and start. */
export function shortagesIn({ shape }: Problem, run: Run, { ptr, time, size }: Curves): Shortage[] {
  const { model, capacity } = shape.memory;
  const found: Shortage[] = [];
  if (model === MEMORY.none) return found;
  capacity.forEach((limit, device) => {
    const over = (i: number) => size[i]! > limit * (1 + TOLERANCE);
    for (let i = ptr[device]!; i < ptr[device + 1]!; i++) {
      if (!over(i)) continue;
      const start = time[i]!;
      let most = 0;
      for (; i < ptr[device + 1]! && over(i); i++) most = Math.max(most, size[i]!);
      const ended = i < ptr[device + 1]!;
      found.push({
        device,
        start,
        finish: ended ? time[i]! : Math.max(run.makespan, time[i - 1]!),
        bytes: most - limit,
      });
    }
  });
  return found;
}

/** The most bytes in use on each device at any time. */
export function peaksOf(problem: Problem, run: Run): number[] {
  const { ptr, size } = curvesOf(problem, run);
  return Array.from({ length: ptr.length - 1 }, (_, d) => largest(size.subarray(ptr[d]!, ptr[d + 1]!)));
}

/** Of sizes, 0 of none. */
export const largest = (sizes: Float64Array) => sizes.reduce((a, b) => Math.max(a, b), 0);

/** Whether a device holds more than its memory at some time. */
export function isShort(problem: Problem, run: Run): boolean {
  return fitsAnyhow(problem, run) ? false : shortagesIn(problem, run, curvesOf(problem, run)).length > 0;
}

/** Whether there is room even if nothing that comes to a device were freed: found without curves. */
function fitsAnyhow({ shape, costs }: Problem, { device, transfers }: Run): boolean {
  const { memory, tensorProducer } = shape;
  const held = lastingOn(shape, device);
  device.forEach((d, v) => (held[d]! += memory.temporary[v]!));
  if (memory.model !== MEMORY.reserved) {
    tensorProducer.forEach((v, t) => (held[device[v]!]! += costs.tensorBytes[t]!));
    transfers.tensor.forEach((t, i) => (held[transfers.destination[i]!]! += costs.tensorBytes[t]!));
  }
  return held.every((bytes, d) => bytes <= memory.capacity[d]!);
}

/** Whether ops on some device keep more for the whole run than it has. */
export function lacksForEver(shape: Shape, device: Int32Array): boolean {
  return lastingOn(shape, device).some((bytes, d) => bytes > shape.memory.capacity[d]! * (1 + TOLERANCE));
}
