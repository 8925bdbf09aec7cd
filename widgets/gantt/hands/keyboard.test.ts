import { describe, expect, it } from "vitest";
import { chartOf, PAIR } from "../example.ts";
import { actionOf, moveSelection } from "./keyboard.ts";

const key = (key: string, held: Partial<KeyboardEvent> = {}) =>
  actionOf({ key, shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, ...held });

describe("keys", () => {
  it("act as the help says", () => {
    expect([" ", "+", "-", "0", "Home", "."].map((k) => key(k))).toEqual([
      "play",
      "zoom-in",
      "zoom-out",
      "fit",
      "first",
      "step",
    ]);
    expect(key("ArrowLeft", { shiftKey: true })).toBe("pan-left");
    expect([..."wsadiyp"].map((k) => key(k))).toEqual([
      ...["zoom-in", "zoom-out", "pan-left", "pan-right"],
      ...["details", "proof", "pin"],
    ]);
  });

  it("leave the page its own", () => {
    expect([key("c"), key("+", { ctrlKey: true }), key("ArrowLeft", { altKey: true }), key("Tab")]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("the selection", () => {
  const chart = chartOf(PAIR);

  it("moves along a device by start", () => {
    expect(moveSelection(chart, 0, "next")).toBe(3);
    expect(moveSelection(chart, 3, "next")).toBe(3);
    expect(moveSelection(chart, 3, "previous")).toBe(0);
    expect([moveSelection(chart, 2, "first"), moveSelection(chart, 1, "last")]).toEqual([1, 2]);
  });

  it("moves between devices to what runs at the time", () => {
    expect(moveSelection(chart, 3, "down")).toBe(2);
    expect(moveSelection(chart, 2, "up")).toBe(3);
    expect(moveSelection(chart, 0, "up")).toBe(0);
  });

  it("begins with the first op in view", () => {
    expect(moveSelection(chart, -1, "next")).toBe(0);
    expect(moveSelection(chart, -1, "next", 4)).toBe(3);
  });

  it("passes over devices that run nothing and never lands on a Send", () => {
    const sparse = chartOf({
      devices: 3,
      ops: [
        [0, 1, 0],
        [2, 1, 2],
      ],
      transfers: [[1.5, 0.5, 0, 2, 0]],
      sends: [[1, 0.5, 0, 0]],
    });
    expect(moveSelection(sparse, 0, "down")).toBe(1);
    expect(moveSelection(sparse, 0, "next")).toBe(0);
  });
});
