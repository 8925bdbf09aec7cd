import { expect, it } from "vitest";
import { cut, shorten } from "./cut.ts";

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

it("a text that is cut inside keeps its end, in which names of devices differ", () => {
  const context = { measureText: (text: string) => ({ width: text.length }) as TextMetrics };
  const names = [4, 5].map((i) => `/job:worker/task:${i}/device:GPU:${i}`);
  expect(names.map((name) => cut(context, name, 13, 1 / 3))).toEqual(["/job…ce:GPU:4", "/job…ce:GPU:5"]);
  expect([1, 2, 40].map((room) => cut(context, names[0]!, room, 1 / 3))).toEqual(["", "/…", names[0]]);
});
