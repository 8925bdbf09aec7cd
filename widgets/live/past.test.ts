import { expect, it } from "vitest";
import { Past } from "./past.ts";

it("goes back and forth, and forgets what was left for another state", () => {
  const past = new Past("a");
  expect([past.add("b"), past.add("b"), past.add("c")]).toEqual([true, false, true]);
  expect([past.undo(), past.undo(), past.undo(), past.canUndo]).toEqual(["b", "a", null, false]);
  expect([past.redo(), past.now]).toEqual(["b", "b"]);
  past.add("d");
  expect([past.canRedo, past.redo(), past.undo()]).toEqual([false, null, "b"]);
});
