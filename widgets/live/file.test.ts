import { expect, it } from "vitest";
import { type Costs, MEMORY, type Shape } from "../kernels/problem.ts";
import { graphOf } from "./file.ts";
import type { Setting } from "./traits.ts";

const memory = { model: MEMORY.none, capacity: new Float64Array(2) };
const shape = { nDevices: 2, memory } as unknown as Shape;
const setting = { names: ["a", "b"], types: ["gpu", "gpu"] } as unknown as Setting;
const none = [-1, -1, -1];
const file = {
  format: "placelab-graph",
  version: 1,
  metadata: { name: "small" },
  ops: {
    name: ["x", "y", "z"],
    kind: [0, 1, 1],
    compute: [1, null, 2],
    persistent: [0, 0, 0],
    temporary: [0, 0, 0],
    memory: null,
    time: { gpu: [1, 2, 3], cpu: [4, 5, 6] },
    group: [0, -1, 0],
    devices: none,
    outputs: [1, 1, 0],
  },
  kinds: ["", "Conv"],
  groups: ["g"],
  tensors: { bytes: [8, 9], consumers: [2, 1], control: [] },
  edges: { consumer: [1, 2, 2] },
};
const read = (changed: object, ops: object = {}) =>
  graphOf(JSON.stringify({ ...file, ...changed, ops: { ...file.ops, ...ops } }), shape, {} as Costs, setting);

it("reads what OpGraph.save writes", () => {
  const { title, names, kinds, kindNames, shape: now, costs } = read({});
  expect([title, names.length, [...kinds], kindNames[0]]).toEqual(["small", 3, [7, 0, 0], "Conv"]);
  expect([...now.producer, ...now.edgeTensor, ...now.predPtr]).toEqual([0, 0, 1, 0, 0, 1, 0, 0, 1, 3]);
  expect([now.nGroups, now.nTimes, ...now.timeColumn]).toEqual([1, 2, 0, 0]);
  expect([...costs.time]).toEqual([1, 4, 2, 5, 3, 6]);
});

it.each([
  [{ format: "other" }, {}, "no graph as OpGraph.save writes it"],
  [{ version: 9 }, {}, "no graph as OpGraph.save writes it"],
  [{}, { time: { cpu: [1, 2, 3] } }, "no times for the devices of this box"],
  [{}, { time: { gpu: [1, null, 3] } }, "times for some ops"],
  [{}, { name: [] }, "0 ops"],
  [{}, { persistent: [1] }, "persistent has 1 entries, expected 3"],
  [{}, { persistent: [1, -2, 0] }, "persistent must be a list of numbers"],
  [{}, { outputs: [1, 2, 0] }, "counts of tensors do not add up"],
  [{}, { devices: [0, -1, -1] }, "may not run on some devices"],
  [{ edges: { consumer: [2, 1, 2] } }, {}, "in a different order"],
  [{ edges: { consumer: [1, 2, 1] } }, {}, "in a different order"],
  [{ edges: { consumer: [1, 2, 3] } }, {}, "consumer holds 3; expected 0 to 2"],
  [{ metadata: { times: {} } }, {}, "An earlier placelab wrote this file"],
])("refuses others in a sentence: %j %j", (changed, ops, why) => {
  expect(() => read(changed, ops)).toThrow(why);
});
