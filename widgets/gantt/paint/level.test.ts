import { describe, expect, it } from "vitest";
import { chartOf, type Rows } from "../example.ts";
import { type Label, paintTrack, paintTransfers, shareFor } from "./level.ts";
import { raster } from "./raster.ts";

const COLOURS = Uint32Array.of(0xa, 0xb);
const HEIGHT = 10;

/** Paints the ops of one device, 10 pixels per second, bars coloured by their number modulo 2. */
function painted(ops: number[][], width = 40) {
  const { lanes, bars } = chartOf({ devices: 1, ops: ops.map(([start, duration]) => [start!, duration!, 0]) });
  const picture = raster(width, HEIGHT, 0, 0);
  const labels: Label[] = [];
  const share = shareFor(width, 2);
  const style = { colours: COLOURS, colourOf: (bar: number) => bar % 2, labelFrom: 15, share };
  const merged = paintTrack(picture, lanes, bars, 0, { from: 0, perSecond: 10 }, 0, HEIGHT, style, labels);
  const column = (x: number) => Array.from({ length: HEIGHT }, (_, y) => picture.pixels[y * width + x]!);
  const filled = (x: number) => column(x).filter((pixel) => pixel !== 0).length;
  return { merged, labels, column, filled, share };
}

describe("level of detail", () => {
  it("draws a wide bar as a rectangle with a seam before its neighbour", () => {
    const { merged, filled, column } = painted([
      [0, 1],
      [1, 1],
    ]);
    expect(merged).toBe(false);
    expect([0, 8, 9, 10, 18].map(filled)).toEqual([10, 10, 0, 10, 10]);
    expect([column(0)[0], column(10)[0]]).toEqual([0xa, 0xb]);
  });

  it("labels only bars with room for text", () => {
    expect(
      painted([
        [0, 1],
        [1, 2],
      ]).labels.map(({ bar, x, width }) => [bar, x, width]),
    ).toEqual([[1, 10, 20]]);
  });

  it("keeps a lone narrow bar visible at full height", () => {
    const { merged, filled } = painted([
      [0, 0.01],
      [3, 0.01],
    ]);
    expect(merged).toBe(false);
    expect([0, 1, 30, 31].map(filled)).toEqual([10, 0, 10, 0]);
  });

  it("fills merged columns to the share of their time that is busy", () => {
    const halves = Array.from({ length: 40 }, (_, i) => [i * 0.1, 0.05]); // each column busy for half of its time
    const { merged, filled } = painted(halves);
    expect(merged).toBe(true);
    expect([0, 7, 21, 39].map(filled)).toEqual([5, 5, 5, 5]);
  });

  it("splits a merged column between colours by time, from the bottom", () => {
    const { column } = painted(Array.from({ length: 80 }, (_, i) => [i * 0.05, i % 2 ? 0.02 : 0.03])); // a column holds 0.3 + 0.2 of its time
    expect(column(5)).toEqual([0, 0, 0, 0, 0, 0xb, 0xb, 0xa, 0xa, 0xa]);
  });

  it("leaves its scratch columns zero for the next track", () => {
    expect(painted(Array.from({ length: 99 }, (_, i) => [i * 0.04, 0.03])).share.every((part) => part === 0)).toBe(
      true,
    );
  });

  it("paints nothing outside the window", () => {
    expect(painted([[5, 1]]).filled(39)).toBe(0);
  });
});

describe("transfers", () => {
  it("too narrow for rectangles become an outline as high as their share of the tracks", () => {
    const rows: Rows = {
      devices: 2,
      ops: [
        [0, 0.1, 0],
        [3.9, 0.1, 1],
      ],
    };
    rows.transfers = Array.from({ length: 40 }, (_, i) => [i * 0.1, 0.05, 0, 1, 0]);
    const { lanes, bars } = chartOf(rows);
    const picture = raster(40, HEIGHT, 0, 0);
    paintTransfers(picture, lanes, bars, 4, 5, { from: 0, perSecond: 10 }, 0, HEIGHT, 7, shareFor(40, 1));
    const filled = (x: number) =>
      Array.from({ length: HEIGHT }, (_, y) => picture.pixels[y * 40 + x]).filter(Boolean).length;
    expect([1, 20, 38].map(filled)).toEqual([5, 5, 5]);
  });
});
