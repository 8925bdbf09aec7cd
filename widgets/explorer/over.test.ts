import { describe, expect, it } from "vitest";
import type { Curve } from "../shared/sensitivity.ts";
import { heightOver, marksOf } from "./over.ts";

const curve: Curve = {
  values: [0.5e9, 5e9, 15e9, 474e9],
  makespans: [0.12, 0.09, 0.08, 0.07],
  best: [],
  preview: false,
  now: 15e9,
  unit: "B/s",
};
const time = (seconds: number) => `${Math.round(1000 * seconds)} ms`;

describe("the small curve", () => {
  it("says the makespans at its ends, and has powers of ten that do not meet", () => {
    const { ticks, ends, left, right } = marksOf(curve, { wide: 226, high: 40 }, time);
    expect(ends.map(({ text }) => text)).toEqual(["120 ms", "70 ms"]);
    expect(ticks.map(({ text }) => text)).toEqual(["1 GB/s", "10 G", "100 GB/s"]);
    const narrow = marksOf(
      { ...curve, values: [5e12, 4e15], unit: "FLOP/s", makespans: [0.2, 0.1] },
      { wide: 168, high: 26 },
      time,
    );
    expect(narrow.ticks.map(({ text }) => text)).toEqual(["10 T", "", "1 PFLOP/s"]);
    expect(ticks.every(({ x }) => x >= left && x <= right)).toBe(true);
    expect(ends[0]!.y).toBeLessThan(ends[1]!.y);
  });

  it("writes a power of ten near an end without its unit, where that would be cut", () => {
    const ends = { ...curve, values: [1e9, 1e12], makespans: [1, 1], unit: "FLOP/s" };
    const texts = (wide: number) => marksOf(ends, { wide, high: 40 }, () => "1 s").ticks.map(({ text }) => text);
    expect([texts(226).at(0), texts(226).at(-1)]).toEqual(["1 G", "1 T"]);
  });

  it("has its dot on the line, at the present value", () => {
    const { points, here } = marksOf(curve, { wide: 226, high: 26 }, time);
    const [x, y] = points.split(" ")[2]!.split(",").map(Number);
    expect([here.x, here.y]).toEqual([expect.closeTo(x!, 1), expect.closeTo(y!, 1)]);
  });

  it("draws a rise of next to nothing as next to nothing", () => {
    const { points } = marksOf({ ...curve, makespans: [0.1, 0.1, 0.1, 0.10001] }, { wide: 226, high: 40 }, time);
    const heights = points.split(" ").map((point) => Number(point.split(",")[1]));
    expect(Math.max(...heights) - Math.min(...heights)).toBeLessThan(1);
  });

  it("is as high as the free ground, within limits", () => {
    expect([0, 41.6, 400].map(heightOver)).toEqual([26, 39, 60]);
  });
});
