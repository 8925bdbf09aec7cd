import { expect, it } from "vitest";
import { cut, shorten } from "./draw.ts";

it("a label is shortened to its last component, then by an ellipsis, then to nothing", () => {
  expect([20, 6, 5, 3, 2].map((room) => shorten("scope/MatMul", room))).toEqual([
    "scope/MatMul",
    "MatMul",
    "MatM…",
    "Ma…",
    "",
  ]);
});

it("a text ends within its room, whatever the widths of its letters", () => {
  const measureText = (text: string) =>
    ({ width: [...text].reduce((sum, c) => sum + (c === "W" ? 12 : 4), 0) }) as TextMetrics;
  expect(["WWWW", "iiii"].map((text) => cut({ measureText }, text, 30))).toEqual(["WW…", "iiii"]);
  expect(cut({ measureText }, "WWWW", 10)).toBe("");
  expect(cut({ measureText }, "WWW…", 30)).toBe("WW…");
});
