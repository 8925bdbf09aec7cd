import { describe, expect, it } from "vitest";
import { moved, type Place } from "./moves.ts";

const WIDTHS = [4, 1, 4]; // the second row has a button in place of its cells
const go = (from: [number, number], key: string, held: Partial<KeyboardEvent> = {}, widths = WIDTHS) => {
  const event = { key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held };
  const to: Place | undefined = moved({ row: from[0], column: from[1] }, event, widths);
  return to && [to.row, to.column];
};

describe("keys in the grid", () => {
  it("move by one cell and stop at the edges", () => {
    expect([
      go([0, 1], "ArrowRight"),
      go([0, 3], "ArrowRight"),
      go([0, 0], "ArrowLeft"),
      go([0, 2], "ArrowUp"),
    ]).toEqual([
      [0, 2],
      [0, 3],
      [0, 0],
      [0, 2],
    ]);
  });

  it("keep the column through a row of one cell", () => {
    expect(go([0, 2], "ArrowDown")).toEqual([1, 2]);
    expect(go([1, 2], "ArrowDown")).toEqual([2, 2]);
    expect(go([1, 2], "ArrowRight")).toEqual([1, 0]);
  });

  it("go to the ends of the row, with Ctrl of the grid", () => {
    expect([
      go([2, 1], "Home"),
      go([2, 1], "End"),
      go([2, 1], "Home", { ctrlKey: true }),
      go([0, 0], "End", { metaKey: true }),
    ]).toEqual([
      [2, 0],
      [2, 3],
      [0, 0],
      [2, 3],
    ]);
    expect([go([0, 1], "PageDown"), go([2, 1], "PageUp")]).toEqual([
      [2, 1],
      [0, 1],
    ]);
  });

  it("leave the page its own", () => {
    expect([
      go([0, 0], "Tab"),
      go([0, 0], "a"),
      go([0, 0], "ArrowDown", { altKey: true }),
      go([0, 0], "ArrowDown", { ctrlKey: true }),
      go([0, 0], "ArrowDown", { shiftKey: true }),
      go([0, 0], "ArrowDown", {}, []),
    ]).toEqual(Array(6).fill(undefined));
  });

  it("come back from places that are no more", () => {
    expect(go([9, 9], "ArrowUp")).toEqual([1, 9]);
    expect(go([9, 9], "ArrowLeft")).toEqual([2, 2]);
  });
});
