import { describe, expect, it } from "vitest";
import { CURVE } from "../../shared/example.ts";
import { scales } from "./curve.ts";

describe("the curve of a value", () => {
  it("has a point for each value, from left to right, the longest makespan on top", () => {
    const { x, y } = scales(CURVE);
    const points = CURVE.values.map((value, i) => [x(value), y(CURVE.makespans[i]!)] as const);
    for (let i = 1; i < points.length; i++) expect(points[i]![0]).toBeGreaterThan(points[i - 1]![0]);
    expect(points[1]![0] - points[0]![0]).toBeCloseTo(points[3]![0] - points[2]![0]);
    expect(points[0]![1]).toBeLessThan(points[1]![1]);
    expect(points[2]![1]).toBe(points[3]![1]);
  });
});
