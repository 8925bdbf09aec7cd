import { expect, it, describe as suite } from "vitest";
import { bars, ghosts, spans } from "./candidates.ts";
import { isRight, verdict } from "./detail.ts";
import type { DecisionRow } from "./page.ts";
import { equation } from "./sums.ts";

const decision = (score: number[], took: number[], device: number): DecisionRow => ({
  row: 0,
  op: 7,
  name: "a",
  rank: NaN,
  device,
  score: Float64Array.from(score),
  took: Float64Array.from(took),
  why: "",
  otherHere: "",
});

suite("candidates", () => {
  it("run from their start to their finish, whichever of the two was compared", () => {
    expect(spans(decision([9, 5], [2, 3], 1), "finish")).toEqual([
      { start: 7, finish: 9 },
      { start: 2, finish: 5 },
    ]);
    expect(spans(decision([9, 5], [2, 3], 1), "start")).toEqual([
      { start: 9, finish: 11 },
      { start: 5, finish: 8 },
    ]);
    expect(spans(decision([9, 5], [NaN, NaN], 1), "")).toEqual([]);
  });

  it("leave ghosts where the op could have run", () => {
    expect(ghosts(decision([9, NaN, 5], [2, NaN, 3], 2), "finish")).toEqual([
      { device: 0, start: 7, finish: 9, op: 7, chosen: false },
      { device: 2, start: 2, finish: 5, op: 7, chosen: true },
    ]);
    expect(ghosts(decision([1, 2], [NaN, NaN], 0), "")).toEqual([]);
  });

  it("have bars on one axis of time, or from zero on", () => {
    expect(bars(decision([10, 6], [2, 4], 1), "finish")).toEqual([
      [0.75, 1],
      [0, 0.5],
    ]);
    expect(bars(decision([3, 3], [0, 0], 0), "start")).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(bars(decision([1, 4], [NaN, NaN], 0), "")).toEqual([
      [0, 0.25],
      [0, 1],
    ]);
    expect(bars(decision([0, 0], [NaN, NaN], 0), "")).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

suite("predictions", () => {
  it("are right on the device chosen and on any of the same score", () => {
    const equal = decision([3, 3, 4], [1, 1, 1], 0);
    expect([0, 1, 2].map((d) => isRight(equal, d))).toEqual([true, true, false]);
    expect([0, 1, 2].map((d) => verdict(equal, d, ["x", "y", "z"]))).toEqual([
      "Right.",
      "As good: y has the same score.",
      "No, not z.",
    ]);
  });
});

suite("ranks", () => {
  const term = { op: 1, name: "b", way: 4, rank: 3 };
  it("say what they are the sum of", () => {
    const row = { op: 0, name: "a", own: 2, rank: 9, terms: [term], more: 0 };
    expect(equation(row, "s")).toBe("rank(a) = 2 s own + 4 s transfer + 3 s rank(b) = 9 s");
    expect(equation({ ...row, rank: 5, terms: [{ ...term, way: 0 }] }, "operations")).toBe(
      "rank(a) = 2 operations own + 3 operations rank(b) = 5 operations",
    );
    expect(equation({ ...row, rank: 2, terms: [] }, "s")).toBe("rank(a) = 2 s, its own alone: an exit");
  });
});
