import { describe, expect, it } from "vitest";
import { chartOf, PAIR } from "../example.ts";
import { barOf, orderByStart } from "./bars.ts";
import { MAX_TRACKS, runningAt } from "./lanes.ts";

describe("bars", () => {
  it("are ordered by start, ties by number", () => {
    expect(Array.from(orderByStart(Float32Array.of(3, 0, 1e-9, 3, 0, 2e5)))).toEqual([1, 4, 2, 0, 3, 5]);
  });

  it("are ordered as a comparison would order them", () => {
    const start = Float32Array.from({ length: 5000 }, (_, i) => ((i * 7919) % 1009) * 1e-5);
    const expected = Array.from(start.keys()).sort((a, b) => start[a]! - start[b]! || a - b);
    expect(Array.from(orderByStart(start))).toEqual(expected);
  });

  it("know what they stand for", () => {
    const { bars } = chartOf({ devices: 1, ops: [[0, 1, 0]], sends: [[1, 1, 0, 0]], transfers: [[2, 1, 0, 0, 0]] });
    expect([0, 1, 2].map((bar) => barOf(bars, bar))).toEqual([
      { kind: "op", row: 0 },
      { kind: "send", row: 0 },
      { kind: "transfer", row: 0 },
    ]);
  });
});

describe("lanes", () => {
  it("put ops on their device and a transfer on both of its devices", () => {
    const { lanes } = chartOf(PAIR);
    const track = (k: number) => Array.from(lanes.bar.subarray(lanes.ptr[k], lanes.ptr[k + 1]));
    expect(lanes.perDevice).toBe(3);
    expect([0, 1, 2, 3, 4, 5].map(track)).toEqual([[0, 3], [], [4], [1, 2], [4], []]);
  });

  it("give transfers that overlap tracks of their own, up to a limit", () => {
    const ops = [
      [0, 1, 0],
      [9, 1, 1],
    ];
    const at = (starts: number[]) =>
      chartOf({ devices: 2, ops, transfers: starts.map((s) => [s, 2, 0, 1, 0]) }).lanes.incoming;
    expect(at([1, 3, 5])).toBe(1);
    expect(at([1, 2, 3])).toBe(2);
    expect(at([1, 1, 1, 1, 1, 1, 1])).toBe(MAX_TRACKS);
  });

  it("need no transfer tracks when nothing travels", () => {
    expect(chartOf({ devices: 1, ops: [[0, 1, 0]] }).lanes.perDevice).toBe(1);
  });

  it("find what runs at an instant: start included, finish not", () => {
    const { lanes, bars } = chartOf(PAIR);
    expect([0, 1.9, 2, 6.5, 7.5].map((t) => runningAt(lanes, bars, 0, t))).toEqual([0, 0, -1, 3, -1]);
  });
});
