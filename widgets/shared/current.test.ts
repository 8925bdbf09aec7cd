import { expect, it } from "vitest";
import { isCurrent } from "./current.ts";

it.each([
  ["the same state", "ab:1", true],
  ["another pair of strategies", "ab:2", false],
  ["another problem under the same pair", "cd:1", false],
  ["the problem alone", "ab", true],
  ["a problem whose hash begins alike", "a", false],
  ["what belongs to no state", "", true],
])("%s", (_, of, current) => {
  expect(isCurrent(of, "ab:1")).toBe(current);
});

it("is all of it where nobody says which state is the newest, as in a saved notebook of before", () => {
  expect(isCurrent("ab:1", "")).toBe(true);
});
