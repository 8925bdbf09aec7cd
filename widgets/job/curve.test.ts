import { describe, expect, it } from "vitest";
import { height, lasting, overhead, Scale } from "./curve.ts";

const curve = { seconds: [1, 10, 100], over: [0.5, 0.1, 0.3] };

describe("the curve of overheads", () => {
  it("is straight between its points and level beyond", () => {
    expect([0.5, 1, 5.5, 10, 55, 100, 500].map((at) => overhead(curve, at).toFixed(2))).toEqual([
      "0.50",
      "0.50",
      "0.30",
      "0.10",
      "0.20",
      "0.30",
      "0.30",
    ]);
  });
  it("is lowest at its least, and is cut at thirty times that", () => {
    expect([0.1, 0.5, 0.05, 1].map((over) => height(curve, over))).toEqual([0, 1, 0, 1]);
    expect(height(curve, Math.sqrt(0.05))).toBeCloseTo(0.5);
    expect(height({ seconds: [1, 2], over: [100, 1] }, 30)).toBe(1);
    expect(height({ seconds: [1], over: [0.2] }, 0.2)).toBe(0);
  });
});

describe("the scale", () => {
  const scale = new Scale(curve, 200);
  it("goes from intervals to pixels and back", () => {
    expect([1, 10, 100, 0.1, 1e4].map((at) => scale.x(at))).toEqual([0, 100, 200, 0, 200]);
    expect(scale.interval(100)).toBeCloseTo(10);
    expect([scale.interval(-5), scale.interval(500)].map(Math.round)).toEqual([1, 100]);
  });
});

describe("long times", () => {
  it("are minutes, hours and days", () => {
    expect([0.5, 90, 180, 7200, 4e5].map(lasting)).toEqual(["500 ms", "90 s", "3 min", "2 h", "4.63 d"]);
  });
});
