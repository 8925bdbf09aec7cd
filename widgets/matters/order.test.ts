import { describe, expect, it } from "vitest";
import { keyOf, lengths, ordered, turned } from "./order.ts";
import type { Row } from "./traits.ts";

const row = (name: string, saved: number | null, what: Row["what"] = "op"): Row => ({
  what,
  name,
  op: 0,
  saved,
  stale: false,
});
const names = (rows: readonly Row[]) => rows.map(({ name }) => name).join("");

describe("the order of rows", () => {
  const rows = [row("b", 1), row("a", null), row("c", 3, "kind"), row("d", -2), row("e", 1)];
  it("sorts numbers both ways, equal ones as they came, missing ones last", () => {
    expect(names(ordered(rows, { by: "saved", falling: true }))).toBe("cbeda");
    expect(names(ordered(rows, { by: "saved", falling: false }))).toBe("dbeca");
  });
  it("sorts text, and leaves the rows it was given as they are", () => {
    expect(names(ordered(rows, { by: "name", falling: true }))).toBe("edcba");
    expect(names(ordered(rows, { by: "what", falling: false }))).toBe("cbade");
    expect(names(rows)).toBe("bacde");
  });
  it("is turned round by a second click, and begins with what one looks for", () => {
    expect(turned({ by: "saved", falling: true }, "saved")).toEqual({ by: "saved", falling: false });
    expect(turned({ by: "saved", falling: true }, "name")).toEqual({ by: "name", falling: false });
    expect(turned({ by: "name", falling: false }, "saved")).toEqual({ by: "saved", falling: true });
  });
});

describe("bars", () => {
  it("are as long as what they stand for, losses too", () => {
    const rows = [row("a", 2), row("b", -4), row("c", null), row("d", 0)];
    expect(rows.map(lengths(rows))).toEqual([0.5, 1, 0, 0]);
    const nothing = [row("a", 0)];
    expect(nothing.map(lengths(nothing))).toEqual([0]);
  });
  it("have keys that tell a kind from an op of the same name", () => {
    expect(keyOf(row("x", 0, "kind"))).not.toBe(keyOf(row("x", 0)));
  });
});
