import { expect, it } from "vitest";
import type { Costs, Shape } from "../kernels/problem.ts";
import { code } from "./code.ts";
import { dialsOf, scaled, turned } from "./dials.ts";
import type { Setting } from "./traits.ts";

const shape = { nDevices: 3, nTimes: 0, timeColumn: new Int32Array(3) } as unknown as Shape;
const costs = {
  speed: Float64Array.of(1, 1, 2),
  bandwidth: Float64Array.of(Infinity, 8, 2, 8, Infinity, 3, 2, 3, Infinity),
  latency: new Float64Array(9),
  timeSpeed: Float64Array.of(NaN),
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
  expect(dials[4]).toMatchObject({ cells: [2, 5, 6, 7], low: 2, high: 3 });
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

it("turns the values of one dial, and leaves all others to the bit", () => {
  const dials = dialsOf(shape, costs, setting);
  const now = turned(costs, dials, new Map([["bandwidth:x – y", 20]]));
  expect(now.speed).toBe(costs.speed);
  expect([...now.bandwidth]).toEqual([Infinity, 8, 20, 8, Infinity, 30, 20, 30, Infinity]);
  expect(scaled(3, 1)).toBe(3.37);
  expect(scaled(1 / 3, 0)).toBe(1 / 3);
});

it("writes Python that changes what has changed", () => {
  const now = turned(costs, dialsOf(shape, costs, setting), new Map([["speed:a", 20]]));
  expect(code(costs, now, "heft", "fifo")).toBe(`cluster = schedule.problem.cluster.replace(
    speed=[10, 1, 2],
)
problem = schedule.problem.with_costs(cluster=cluster)
pl.solve(problem, "heft", "fifo").makespan
`);
  expect(
    code(costs, costs, null, "fifo", new Map([[3, 1]]), "fair"),
  ).toBe(`problem = schedule.problem.replace(transfers="fair")
placement = schedule.placement
device = placement.device.copy()
device[[3]] = [1]
pl.simulate(problem, pl.Placement(problem, device, placement.planned), "fifo").makespan
`);
  expect(code(costs, costs, null, "fifo")).toContain("pl.simulate(problem, pl.Placement(problem, schedule.device");
});
