import { expect, it } from "vitest";
import { cellWith } from "./cell.ts";

const cell = (text: string) => ({ sharedModel: { getSource: () => text } });

it("finds the last cell with a text, whatever is around it", () => {
  expect(cellWith("a = 1\n", [cell("a = 1"), cell("b"), cell("\na = 1 ")])).toBe(2);
});

it("finds no cell that has changed since, and none for no text", () => {
  expect(cellWith("a = 1", [cell("a = 2"), {}])).toBe(-1);
  expect(cellWith("", [cell("")])).toBe(-1);
});
