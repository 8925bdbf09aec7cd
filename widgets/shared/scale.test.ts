import { describe, expect, it } from "vitest";
import { clampSpan, snap, ticks, toPixel, toTime, zoomAround } from "./scale.ts";

const SPAN = { from: 2, to: 6 };

describe("the time scale", () => {
  it("maps time to pixels and back", () => {
    expect(toPixel(SPAN, 400, 3)).toBe(100);
    expect(toTime(SPAN, 400, toPixel(SPAN, 400, 5.5))).toBeCloseTo(5.5);
  });

  it("zooms around a time that stays where it is", () => {
    const closer = zoomAround(SPAN, 3, 0.5);
    expect(closer).toEqual({ from: 2.5, to: 4.5 });
    expect(toPixel(closer, 400, 3)).toBe(toPixel(SPAN, 400, 3));
  });

  it("is kept inside what there is", () => {
    expect(clampSpan({ from: -1, to: 3 }, 10, 1)).toEqual({ from: 0, to: 4 });
    expect(clampSpan({ from: 9, to: 13 }, 10, 1)).toEqual({ from: 6, to: 10 });
    expect(clampSpan({ from: 3, to: 3.1 }, 10, 1)).toEqual({ from: 3, to: 4 });
    expect(clampSpan({ from: -9, to: 99 }, 10, 1)).toEqual({ from: 0, to: 10 });
  });

  it("has round ticks, no more than asked for", () => {
    expect(ticks({ from: 0, to: 10 }, 5).values).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticks({ from: 0.13, to: 0.38 }, 5).step).toBe(0.05);
    for (const to of [1e-9, 0.37, 4288]) expect(ticks({ from: 0, to }, 8).values.length).toBeLessThanOrEqual(9);
  });
});

describe("a dragged quantity", () => {
  it("snaps to round numbers", () => {
    expect(snap(12.345e9)).toBe(12e9);
  });
});
