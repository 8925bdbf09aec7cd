import { expect, it } from "vitest";
import type { Costs, Shape } from "../kernels/problem.ts";
import { code } from "./code.ts";
import { dialsOf, readingOf, scaled, turned } from "./dials.ts";
import type { Setting } from "./traits.ts";
import { changed, columnsOf, differences } from "./values.ts";

const memory = { capacity: Float64Array.of(4, 4, Infinity) };
const shape = { nDevices: 3, nTimes: 0, timeColumn: new Int32Array(3), memory } as unknown as Shape;
const costs = {
  speed: Float64Array.of(1, 1, 2),
  bandwidth: Float64Array.of(Infinity, 8, 2, 8, Infinity, 3, 2, 3, Infinity),
  latency: new Float64Array(9),
  timeSpeed: Float64Array.of(NaN),
  linkBandwidth: Float64Array.of(7),
} as unknown as Costs;
const setting = { names: ["a", "b", "c"], types: ["gpu", "gpu", "cpu"], hosts: ["x", "x", "y"] } as unknown as Setting;

it("has a dial per device and per kind of link, none for latencies of 0", () => {
  const dials = dialsOf(shape, costs, setting);
  expect(dials.map(({ key }) => key)).toEqual([
    "speed:a",
    "speed:b",
    "speed:c",
    "bandwidth:inside x",
    "bandwidth:x – y",
  ]);
  expect(dials[4]).toMatchObject({ quantity: "bandwidth", cells: [2, 5, 6, 7] });
});

it("has none for a speed at which measured times hold anyway", () => {
  const dials = dialsOf({ ...shape, nTimes: 1 }, costs, setting);
  expect(dials.map(({ quantity }) => quantity)).toEqual(["bandwidth", "bandwidth"]);
});

it("joins devices and links that are many", () => {
  const k = 20;
  const hosts = Array.from({ length: k }, (_, d) => `host${d >> 1}`);
  const many = { names: hosts.map((_, d) => `d${d}`), types: hosts.map(() => "gpu"), hosts } as unknown as Setting;
  const cells = Float64Array.from({ length: k * k }, (_, p) => (p % k === Math.floor(p / k) ? Infinity : 4));
  const large = { ...costs, speed: new Float64Array(k).fill(3), bandwidth: cells, latency: new Float64Array(k * k) };
  const labels = dialsOf({ ...shape, nDevices: k }, large, many).map(({ label }) => label);
  expect(labels).toEqual(["gpu", "inside hosts", "between hosts"]);
  const two = { ...many, hosts: hosts.map((_, d) => (d < 10 ? "a" : "b")) };
  const fewer = dialsOf({ ...shape, nDevices: k }, large, two).map(({ label }) => label);
  expect(fewer).toEqual(["gpu on a", "gpu on b", "inside a", "a – b", "inside b"]);
});

const columns = columnsOf(shape, costs);

it("turns the values of one dial, and leaves all others to the bit", () => {
  const dial = dialsOf(shape, costs, setting)[4]!;
  const values = turned(dial, columns, new Map(), 20);
  const now = changed(columns, values);
  expect(now.speed).toBe(costs.speed);
  expect([...now.bandwidth]).toEqual([Infinity, 8, 20, 8, Infinity, 30, 20, 30, Infinity]);
  expect(differences(columns, now)).toEqual(values);
  expect(readingOf(dial, columns, values)).toEqual([20, 20, 30]);
  expect(turned(dial, columns, values, 0).size).toBe(0);
  expect(scaled(3, 1)).toBe(3.37);
  expect(scaled(1 / 3, 0)).toBe(1 / 3);
});

it("writes Python that changes what has changed", () => {
  const now = changed(columns, turned(dialsOf(shape, costs, setting)[0]!, columns, new Map(), 20));
  expect(code(columns, now, "heft", "fifo")).toBe(`cluster = schedule.problem.cluster.replace(
    speed=[10, 1, 2],
)
problem = schedule.problem.with_costs(cluster=cluster)
pl.solve(problem, "heft", "fifo").makespan
`);
  const others = changed(columns, new Map(Object.entries({ "memory:0": 9, "shared:0": 8, "latency:1": 2 })));
  const text = code(columns, others, "heft", "fifo");
  expect(text).toContain('    memory=[9, 4, float("inf")],\n    latency=[[0, 2, 0], [0, 0, 0], [0, 0, 0]],\n');
  expect(text).toContain(
    "    links={link.name: (rate, link.pairs) for link, rate in zip(schedule.problem.cluster.links, [8])},",
  );
  expect(
    code(columns, columns, null, "fifo", new Map([[3, 1]]), { transfers: "fair" }),
  ).toBe(`problem = schedule.problem.replace(transfers="fair")
placement = schedule.placement
device = placement.device.copy()
device[[3]] = [1]
pl.simulate(problem, pl.Placement(problem, device, placement.planned), "fifo").makespan
`);
  expect(code(columns, columns, null, "fifo")).toContain("pl.simulate(problem, pl.Placement(problem, schedule.device");
});
