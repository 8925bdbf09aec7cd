import { expect, test } from "vitest";
import { bounded, byKey } from "./split.ts";

test("the border stays where both sides can be used", () => {
  expect(bounded(0.9)).toBe(0.75);
  expect(bounded(0.01)).toBe(0.15);
  expect(bounded(0.5)).toBe(0.5);
  expect(bounded(0)).toBeCloseTo(0.4);
});

test("arrows move the border, other keys do not", () => {
  expect(byKey("ArrowUp", 0.5)).toBeCloseTo(0.46);
  expect(byKey("End", 0.5)).toBe(0.75);
  expect(byKey("a", 0.5)).toBeNull();
});
