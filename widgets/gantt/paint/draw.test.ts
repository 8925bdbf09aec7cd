import { expect, it } from "vitest";
import { shorten } from "./draw.ts";

it("a label is shortened to its last component, then by an ellipsis, then to nothing", () => {
  expect([20, 6, 5, 3, 2].map((room) => shorten("scope/MatMul", room))).toEqual([
    "scope/MatMul",
    "MatMul",
    "MatM…",
    "Ma…",
    "",
  ]);
});
