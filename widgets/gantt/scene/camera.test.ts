import { describe, expect, it } from "vitest";
import { bounded, carried, closeUp, isWhole, showing, turned, whole } from "./camera.ts";

describe("the view", () => {
  it("stays at the whole when the schedule changes, and where it was otherwise", () => {
    expect(carried(whole(8), 8, 20)).toEqual(whole(20));
    expect(carried({ from: 2, to: 4 }, 8, 20)).toEqual({ from: 2, to: 4 });
    expect(carried({ from: 6, to: 8 }, 8, 4)).toEqual({ from: whole(4).to - 2, to: whole(4).to });
  });

  it("never leaves the schedule nor zooms beyond single precision", () => {
    expect(bounded({ from: -5, to: 5 }, 8).from).toBe(0);
    expect(isWhole(bounded({ from: -5, to: 50 }, 8), 8)).toBe(true);
    const least = bounded({ from: 3, to: 3 }, 8);
    expect(least.to - least.from).toBeGreaterThan(8e-5);
  });

  it("moves to what is out of view and rests on what is in view", () => {
    expect(showing({ from: 0, to: 2 }, 1, 5)).toEqual({ from: 0, to: 2 });
    expect(showing({ from: 0, to: 2 }, 5, 6)).toEqual({ from: 4, to: 6 });
  });

  it("turns the page under a playhead", () => {
    expect(turned({ from: 0, to: 2 }, 1)).toEqual({ from: 0, to: 2 });
    expect(turned({ from: 0, to: 2 }, 2.5)).toEqual({ from: 2.5, to: 4.5 });
  });

  it("shows an op with room around it", () => {
    expect(closeUp(4, 5, 8)).toEqual({ from: 2, to: 7 });
  });
});
