import { expect, it } from "vitest";
import { encode } from "../example.ts";
import { runningAt } from "./lanes.ts";
import { chart } from "./scene.ts";
import { isDrawn, soFar } from "./sofar.ts";

const ROWS = {
  devices: 2,
  ops: [
    [0, 2, 0],
    [3, 1, 1],
  ],
  transfers: [[2, 1, 0, 1, 0]],
  critical: [[0, 0, 0, 2]],
  idle: [[1, 0, 3, 0, 0]],
};

it("keeps what is decided, and tells nothing of the future", () => {
  const whole = chart(encode(ROWS));
  const { nOps, nTransfers, nSends } = whole.columns;
  const decided = new Uint8Array(nOps + nTransfers);
  decided[0] = 1;
  const part = soFar(whole, decided);
  expect([...part.lanes.bar]).toEqual([0]);
  expect(part.columns.idle.start.length + part.columns.critical.start.length).toBe(0);
  expect([0, 1, nOps + nSends].map((bar) => isDrawn(part, bar))).toEqual([true, false, false]);
  const track = whole.columns.ops.device[0]! * whole.lanes.perDevice;
  expect(runningAt(part.lanes, part.bars, track, whole.bars.start[0]!)).toBe(0);
  decided.fill(1);
  expect([...soFar(whole, decided).lanes.bar]).toEqual([...whole.lanes.bar]);
});

it("leaves the chart as it is where nothing is said, or something of another chart", () => {
  const whole = chart(encode(ROWS));
  expect(soFar(whole, new Uint8Array())).toBe(whole);
  expect(soFar(whole, new Uint8Array(1))).toBe(whole);
});
