import { expect, it } from "vitest";
import { begin, inside, valueAt } from "./slider.ts";

it("begins a step above an end that is not allowed, and takes what is typed below that", () => {
  const open = { min: 0, max: 1, step: 0.01, above: true };
  expect(begin(open)).toBe(0.01);
  expect([0, 0.004, 0.3, 7].map((value) => inside(value, open, false))).toEqual([0.01, 0.004, 0.3, 1]);
});

it("has both ends where they are allowed", () => {
  const closed = { min: 0, max: 1, step: 0.01 };
  expect([-1, 0, 1].map((value) => inside(value, closed, false))).toEqual([0, 0, 1]);
});

it("has powers of ten in three digits, within its ends", () => {
  const powers = { min: -3, max: 3, step: 0.06 };
  expect([-3, -1.5, 3].map((place) => valueAt(place, powers, true))).toEqual([0.001, 0.0316, 1000]);
  expect(valueAt(Math.log10(0.0015), { ...powers, min: Math.log10(0.0015) }, true)).toBeCloseTo(0.0015, 12);
  expect(inside(5000, powers, true)).toBe(1000);
});
