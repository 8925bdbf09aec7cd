import { expect, it } from "vitest";
import { shade, stepped } from "./shade.ts";

it("is darkest where it is fastest", () => {
  expect(shade(1, [1, 2, 4])).toBe(1);
  expect(shade(2, [1, 2, 4])).toBeCloseTo(0.5);
  expect(shade(4, [1, 2, 4])).toBe(0);
  expect(shade(3, [3])).toBe(1);
});

it("moves inside the grid", () => {
  expect(stepped(0, "ArrowRight", 2, 3)).toBe(1);
  expect(stepped(2, "ArrowRight", 2, 3)).toBe(2);
  expect(stepped(1, "ArrowDown", 2, 3)).toBe(4);
  expect(stepped(4, "ArrowDown", 2, 3)).toBe(4);
  expect(stepped(4, "Home", 2, 3)).toBe(0);
  expect(stepped(0, "End", 2, 3)).toBe(5);
  expect(stepped(3, "x", 4, 1)).toBe(3);
});
