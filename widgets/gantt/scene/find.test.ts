import { describe, expect, it } from "vitest";
import { inScope, matching, nextMatch } from "./find.ts";

describe("finding ops", () => {
  it("looks for a part of the name, in capitals or not", () => {
    expect(Array.from(matching(["stem/Conv", "relu", "CONV2"], " conv ")!)).toEqual([1, 0, 1]);
    expect(matching(["a"], "  ")).toBeNull();
  });

  it("has the ops of a scope, whatever divides names", () => {
    expect(inScope(["a/b", "ab", "a/b/c", "a"], "a")).toEqual([0, 2]);
    expect(inScope(["a.b", "ab", "a.b.c", "a"], "a.b")).toEqual([2]);
    expect(inScope(["a/b"], "")).toEqual([]);
  });

  it("goes round in order of start, from the selected op or from the ends", () => {
    const byStart = Uint32Array.of(3, 1, 0, 2);
    const match = Uint8Array.of(1, 0, 1, 1);
    const walk = (from: number, step: 1 | -1) => nextMatch(match, byStart, from, step);
    expect([walk(-1, 1), walk(3, 1), walk(0, 1), walk(2, 1)]).toEqual([3, 0, 2, 3]);
    expect([walk(-1, -1), walk(2, -1), walk(0, -1), walk(3, -1)]).toEqual([2, 0, 3, 2]);
    expect(walk(1, 1)).toBe(0);
    expect(nextMatch(Uint8Array.of(0, 0, 0, 0), byStart, 1, 1)).toBe(-1);
    expect(nextMatch(Uint8Array.of(0, 1, 0, 0), byStart, 1, 1)).toBe(1);
  });
});
