import { expect, it } from "vitest";
import { aboveOptimum, pathText } from "./words.ts";

it("says how far above the optimum a makespan may be", () => {
  expect(aboveOptimum(1.55, 1)).toBe("≤ 55 %");
  expect(aboveOptimum(1.0123, 1)).toBe("≤ 1.2 %");
  expect(aboveOptimum(1.0005, 1)).toBe("< 0.1 %");
  expect(aboveOptimum(1 + 1e-12, 1)).toBe("proven optimal");
  expect(aboveOptimum(1, 0)).toBe("–");
});

it("says what the makespan is made of", () => {
  expect(pathText([6.1, 2.6, 1.3], 10)).toBe("compute 61 · transfer 26 · wait 13 %");
});
