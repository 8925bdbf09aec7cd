import { describe, expect, it } from "vitest";
import { SI } from "../shared/format.ts";
import {
  bestFirst,
  bestOf,
  explain,
  isBest,
  isOptimal,
  overAll,
  ratioOf,
  textOf,
  textOfNone,
  tiedNames,
  tieOf,
  tipOf,
} from "./cells.ts";
import type { Cell, Row } from "./traits.ts";

const cell = (makespan: number, more: Partial<Cell> = {}): Cell => ({
  makespan,
  gap: makespan / 2 - 1,
  memory: 3e9,
  moved: 5e6,
  flaw: "",
  error: "",
  stale: false,
  ...more,
});
const FAILED: Cell = { ...cell(0), makespan: null, gap: null, memory: null, moved: null, error: "needs a plan" };
const row = (name: string, cells: (Cell | null)[], state: Row["state"] = "done"): Row => ({ name, state, cells });
const names = (rows: Row[]) => rows.map(({ name }) => name).join("");

describe("a cell", () => {
  it("has a number with its unit, for each measure", () => {
    expect((["makespan", "gap", "memory", "moved"] as const).map((measure) => textOf(cell(2.6), measure))).toEqual([
      "2.6 s",
      "≤ 30 %",
      "3 GB",
      "5 MB",
    ]);
    expect([textOf(FAILED, "makespan"), textOf(cell(1, { gap: null }), "gap")]).toEqual(["–", "–"]);
  });

  it("says that it is proven optimal, or how little is missing", () => {
    expect([2 * (1 + 1e-12), 2.0001, 40].map((t) => textOf(cell(t), "gap"))).toEqual(["optimal", "< 0.1 %", "≤ 20 ×"]);
    expect([isOptimal(cell(2)), isOptimal(cell(2, { flaw: "out of memory" }))]).toEqual([true, false]);
  });

  it("is explained in sentences", () => {
    expect(explain(cell(3), "done", 2.5, ["shown now"])).toEqual([
      "3 s, 1.2 × the best",
      "Shown now, ≤ 50 % above the optimum",
      "3 GB peak memory, 5 MB moved",
    ]);
    expect(explain(cell(2, { flaw: "out of memory", stale: true }), "done", 2, []).slice(1)).toEqual([
      "Out of memory",
      "3 GB peak memory, 5 MB moved",
      "Of the problem before the change",
    ]);
    expect(explain(FAILED, "done", 2, [])).toEqual(["needs a plan"]);
    expect([explain(null, "pending", 2, []), explain(null, "running", 2, [])]).toEqual([
      ["Not compared yet"],
      ["Being compared now"],
    ]);
  });
});

describe("what takes long", () => {
  it("says after how many seconds it was left, and whether it runs again", () => {
    expect([textOfNone("pending", 5), textOfNone("running", 5), textOfNone("pending"), textOfNone("own")]).toEqual([
      "> 5 s",
      "> 5 s",
      "…",
      "–",
    ]);
    expect(explain(null, "pending", 2, [], SI, 5)).toEqual([
      "It takes over 5 s: others come first, then it begins anew, with twice the time",
    ]);
    expect(explain(null, "running", 2, [], SI, 5)).toEqual(["Being compared now"]);
  });

  it("is the whole row where none of its cells has anything", () => {
    const left = (state: Row["state"], over?: number[], first: Cell | null = null): Row => ({
      ...row("a", [first, null], state),
      ...(over && { over }),
    });
    expect(overAll(left("pending", [5, 10]))).toBe(5);
    expect(overAll(left("running", [5, 10]))).toBe(5);
    for (const other of [
      left("pending", [0, 5]),
      left("pending"),
      left("done", [5, 5]),
      left("search", [5, 5]),
      left("pending", [5, 5], cell(1)),
    ])
      expect(overAll(other)).toBe(0);
  });
});

describe("the button in place of cells", () => {
  const left = (state: Row["state"], more: Partial<Row> = {}): Row => ({ ...row("a", [null, null], state), ...more });
  const late = { quick: true, over: [5, 10] };

  it("runs what searches", () => {
    expect(tipOf(left("search"), false)).toBe("It searches for seconds or minutes: run it");
  });

  it("says of what is quick that it was left, what comes, and how to stop it", () => {
    const leave = "A click leaves it out, another one takes it up again";
    const was = "It was left after 5 s, so that others come first";
    expect(tipOf(left("running", { quick: true }), false)).toBe(leave);
    expect(tipOf(left("pending", late), false)).toBe(
      `${was}: it begins anew behind them, with twice the time. ${leave}`,
    );
    expect(tipOf(left("pending", late), true)).toContain("once you press Compare");
    expect(tipOf(left("running", late), false)).toBe(`${was}, and now has twice the time. ${leave}`);
  });

  it("takes up again what was stopped", () => {
    expect(tipOf(left("search", { quick: true }), false)).toBe("You stopped it: compare it again");
    const was = "It was left after 5 s, so that others come first, and you stopped it";
    expect(tipOf(left("search", late), false)).toBe(`${was}: compare it again, with twice the time`);
  });
});

describe("the best", () => {
  it("is the least value that counts, and all pairs that have it", () => {
    const rows = [row("a", [cell(1, { flaw: "not legal" }), cell(3)]), row("b", [FAILED, null, cell(3), cell(4)])];
    const all = [
      { row: rows[0], column: 1 },
      { row: rows[1], column: 2 },
    ];
    const best = bestOf(rows, "makespan")!;
    expect(best).toEqual({ row: rows[0], column: 1, value: 3, all });
    expect([isBest(best, rows[1]!, 2), isBest(best, rows[1]!, 3), isBest(null, rows[1]!, 2)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([tieOf(best), tiedNames(best, ["w", "x", "y", "z"])]).toEqual([", 2 pairs tie", "a + x, b + y"]);
    expect(bestOf(rows, "makespan", ["b", 2])).toEqual({ row: rows[1], column: 2, value: 3, all });
    expect(bestOf(rows, "makespan", ["b", 1])).toEqual(best);
    expect(tieOf(bestOf([row("a", [cell(1), cell(2)])], "makespan")!)).toBe("");
    expect(bestOf([row("a", [null, FAILED])], "makespan")).toBeNull();
    expect(bestOf([row("a", [cell(1), cell(2, { moved: 0 })])], "moved")?.column).toBe(1);
  });

  it("is of the present problem if anything is", () => {
    const rows = [row("a", [cell(1, { stale: true }), cell(3)])];
    expect(bestOf(rows, "makespan")?.value).toBe(3);
    expect(bestOf([row("a", [cell(1, { stale: true })])], "makespan")?.value).toBe(1);
  });

  it("has ratio 1, and nothing has less", () => {
    expect([ratioOf(3, 2), ratioOf(0, 0), ratioOf(1, 0), ratioOf(1, 2)]).toEqual([1.5, 1, Infinity, 1]);
    expect(ratioOf(NaN, 2)).toBeNaN();
  });
});

describe("rows", () => {
  it("come best first; then those that do not count, those without results, and those to be searched", () => {
    const rows = [
      row("s", [cell(1, { stale: true })], "search"),
      row("e", [FAILED, FAILED]),
      row("m", [cell(1, { flaw: "out of memory" })]),
      row("b", [cell(9), cell(3)]),
      row("p", [null, null], "pending"),
      row("a", [cell(2)]),
    ];
    expect(names(bestFirst(rows, "makespan"))).toBe("abmeps");
  });

  it("begin with a plan by hand, also where others are shorter", () => {
    const rows = [row("a", [cell(2)]), row("by hand", [null, cell(3)], "own")];
    expect(names(bestFirst(rows, "makespan"))).toBe("by handa");
    expect(bestOf(rows, "makespan")?.row.name).toBe("a");
    expect(explain(null, "own", 2, [])).toEqual(["A plan by hand is replayed as planned"]);
  });

  it("are sorted by the measure, equal ones as they were", () => {
    const rows = [
      row("a", [cell(1, { moved: 7 })]),
      row("b", [cell(2, { moved: 0 })]),
      row("c", [cell(1, { moved: 7 })]),
    ];
    expect([names(bestFirst(rows, "makespan")), names(bestFirst(rows, "moved"))]).toEqual(["acb", "bac"]);
  });
});
