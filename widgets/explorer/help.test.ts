import { expect, it } from "vitest";
import { KEY_HELP as DECISIONS } from "../decisions/index.ts";
import { KEY_HELP as CHART } from "../gantt/index.ts";
import { KEY_HELP as GRAPH } from "../graph/index.ts";
import { rowsOf } from "./help.ts";

it("lists what is pressed beside what it does", () => {
  expect(rowsOf("m: memory · b: by hand, then arrows: move")).toEqual([
    ["m", "memory"],
    ["b", "by hand, then arrows: move"],
  ]);
});

it("finds both in the lines of all views, each key once", () => {
  for (const line of [CHART, GRAPH, DECISIONS]) {
    const rows = rowsOf(line);
    expect(rows.filter(([pressed, does]) => !pressed || !does)).toEqual([]);
    expect(new Set(rows.map(([pressed]) => pressed)).size).toBe(rows.length);
  }
});
