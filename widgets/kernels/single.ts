/** All ops on one device: placelab.strategies.partitioning.single, to the last bit. */
import { add_by, total_times } from "./kernels.generated.ts";
import { MEMORY, newBytes, type Problem } from "./problem.ts";
import { halves, largestOf, sum } from "./ranks.ts";
import { consumerOps } from "./simulate.ts";

const TOLERANCE = 1e-9; // relative to the capacity

/** The device that holds all ops and runs them soonest, lower numbers at ties; -1 where none holds them. */
export function oneDevice(problem: Problem): number {
  const { nDevices, memory } = problem.shape;
  const took = new Float64Array(nDevices);
  total_times(problem.times, new Float64Array(problem.shape.nOps), halves(), took);
  const needed = memory.model === MEMORY.none ? -Infinity : bytesOfAll(problem);
  let best = -1;
  let least = Infinity;
  for (let d = 0; d < nDevices; d++) {
    const fits = needed <= memory.capacity[d]! * (1 + TOLERANCE);
    if (fits && took[d]! < least) [best, least] = [d, took[d]!];
  }
  return best;
}

/** What a device must have room for that runs all ops: placelab.planning.capacity.needs. */
function bytesOfAll({ shape, costs, edgeBytes }: Problem): number {
  const { nOps, memory, tensorProducer } = shape;
  if (memory.model === MEMORY.edges) return sum(inputs(shape, costs.tensorBytes, edgeBytes));
  if (memory.model !== MEMORY.dynamic) return sum(memory.lasting);
  const made = newBytes(nOps, tensorProducer, costs.tensorBytes, memory.storage);
  return sum(memory.lasting) + largestOf(memory.bytes.temporary.map((x, v) => x + made[v]!));
}

/**
 * Bytes of the inputs that each op holds while it waits: one that it reads twice counts once, and none where it follows its only
 * producer, whose only consumer it is. A storage counts at the first op that reads of it.
 */
function inputs(shape: Problem["shape"], tensorBytes: Float64Array, edgeBytes: Float64Array): Float64Array {
  const { nOps, nEdges, producer, consumer, edgeTensor, memory } = shape;
  const { ptr, producers } = consumerOps(shape);
  const { storage } = memory;
  const size = edgeBytes.slice();
  for (let e = 0; e < nEdges; e++) {
    const again = e > 0 && edgeTensor[e] === edgeTensor[e - 1] && consumer[e] === consumer[e - 1];
    const u = producer[e]!;
    if (again || (ptr[u + 1]! - ptr[u]! === 1 && producers[consumer[e]!] === 1)) size[e] = 0;
  }
  if (storage.length) {
    const held = tensorBytes.slice();
    const members = new Int32Array(held.length);
    storage.forEach((first, t) => {
      held[first] = Math.max(held[first]!, tensorBytes[t]!);
      members[first]! += 1;
    });
    const reads = new Int32Array(held.length).fill(-1); // the first edge of each storage
    for (let e = 0; e < nEdges; e++) {
      const s = storage[edgeTensor[e]!]!;
      if (size[e]! > 0 && (reads[s]! < 0 || consumer[e]! < consumer[reads[s]!]!)) reads[s] = e;
    }
    for (let e = 0; e < nEdges; e++) {
      const s = storage[edgeTensor[e]!]!;
      if (members[s]! > 1) size[e] = reads[s] === e ? held[s]! : 0;
    }
  }
  const bytes = new Float64Array(nOps);
  add_by(consumer, size, bytes);
  return bytes;
}
