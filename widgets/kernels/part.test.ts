import { expect, it, describe as suite } from "vitest";
import { peaksOf } from "./memory.ts";
import { partOf, runOf } from "./part.ts";
import { CONTENTION, edgesOf, MEMORY, memoryOf, type Problem, pointers, problemOf } from "./problem.ts";

/** a, of 1 s, is read by b and c, of 2 s each, on the other device, over one channel that takes 1 s for each tensor. */
function forked(model: number): Problem {
  const made = Int32Array.of(0, 0);
  const held = (x: number) => Float64Array.of(x, x, x);
  const bytes = { persistent: held(5), temporary: held(1), reserved: held(7) };
  const shape = {
    ...edgesOf(3, Int32Array.of(0, 1), Int32Array.of(1, 2), made),
    ...{ nOps: 3, nDevices: 2, nGroups: 0, nTimes: 0, duplex: false, held: 1, mayBeWhole: true },
    ...{ contention: CONTENTION.channel, group: Int32Array.of(-1, -1, -1), timeColumn: new Int32Array(2) },
    ...{ tensorProducer: made, tensorPtr: pointers(made, 3) },
    memory: { ...memoryOf(model, bytes), binds: true, capacity: Float64Array.of(9, 9), storage: Int32Array.of(0, 0) },
    shared: { ptr: new Int32Array(5), link: new Int32Array(), first: new Int32Array(1), pair: new Int32Array() },
  };
  return problemOf(shape, {
    ...{ compute: Float64Array.of(1, 2, 2), tensorBytes: Float64Array.of(1, 1) },
    ...{ time: new Float64Array(), timeSpeed: new Float64Array(), speed: Float64Array.of(1, 1) },
    ...{ bandwidth: new Float64Array(4).fill(1), latency: new Float64Array(4), linkBandwidth: new Float64Array() },
  });
}

suite("a part of a problem", () => {
  const plan = { device: Int32Array.of(0, 1, 1), planned: Int32Array.of(0, 2, 1) };
  const without = Uint8Array.of(1, 0, 1);
  it("runs as if the others were not there: their transfers hold no link, and they take no time", () => {
    expect(runOf(forked(MEMORY.none), plan, null).start).toEqual(Float64Array.of(0, 5, 3));
    const run = runOf(forked(MEMORY.none), plan, without);
    expect([run.start[2], run.makespan, run.transfers.tensor.length]).toEqual([2, 4, 1]);
    expect(run.finish[1]).toBe(run.start[1]);
    expect(runOf(forked(MEMORY.none), plan, new Uint8Array(3)).makespan).toBe(0);
  });
  it("holds none of their memory", () => {
    for (const [model, all, few] of [
      [MEMORY.dynamic, [7, 13], [7, 7]],
      [MEMORY.reserved, [7, 14], [7, 7]],
    ] as const) {
      const problem = forked(model);
      const peak = (placed: Uint8Array | null) => [...peaksOf(partOf(problem, placed), runOf(problem, plan, placed))];
      expect([peak(null), peak(without)]).toEqual([all, few]);
    }
  });
  it("has the first tensor that it makes in a storage as the first there", () => {
    const problem = forked(MEMORY.dynamic);
    const storage = (placed: number[]) => partOf(problem, Uint8Array.from(placed)).shape.memory.storage;
    expect(storage([1, 1, 0])).toEqual(Int32Array.of(0, 0));
    expect(storage([0, 1, 1])).toEqual(Int32Array.of(0, 1));
  });
  it("is the whole where nothing waits", () => {
    const problem = forked(MEMORY.edges);
    expect(partOf(problem, null)).toBe(problem);
  });
});
