import { describe, expect, it } from "vitest";
import { SI } from "../../shared/format.ts";
import { KINDS } from "../../shared/palette.ts";
import { RAMPS } from "../../shared/ramp.ts";
import { chartOf, PAIR } from "../example.ts";
import { colouring } from "./colouring.ts";

const chart = chartOf(PAIR);
const labels = {
  names: [],
  kinds: Uint8Array.of(2, 1, 0, 7),
  kindNames: ["a", "b", "c"],
  devices: ["x", "y"],
  units: SI,
};
const nothing = { index: new Uint8Array(), names: [] as string[] };
const coloured = (way: string, sent = nothing) => {
  const { index, names, palette } = colouring(way, chart, labels, sent);
  return { index: Array.from(index), names, palette };
};

describe("colours", () => {
  it("are those of the kinds at first, and while Python has not answered", () => {
    const kinds = { index: [2, 1, 0, 7], names: ["a", "b", "c"], palette: KINDS };
    expect(coloured("kind")).toEqual(kinds);
    expect(coloured("slack")).toEqual(kinds);
  });

  it("tell devices and the critical path", () => {
    expect(coloured("device")).toEqual({ index: [0, 1, 1, 0], names: ["x", "y"], palette: "devices" });
    const { index, names, palette } = coloured("critical path");
    expect([index, names[0], names[7], palette]).toEqual([[0, 0, 0, 7], "on the critical path", "not", null]);
  });

  it("are what Python sent, on a ramp where they have an order", () => {
    const sent = { index: Uint8Array.of(0, 1, 2, 3), names: ["n"] };
    expect(coloured("slack", sent)).toEqual({ index: [0, 1, 2, 3], names: ["n"], palette: RAMPS.slack });
    expect(coloured("scope", sent).palette).toBe(KINDS);
  });
});
