import { expect, it } from "vitest";
import type { Pattern } from "../scene/colours.ts";
import { hatch, raster } from "./raster.ts";

const [SIDE, STEP] = [40, 8];

/** A square hatched from 4 to 36 in both directions: which pixels have the colour. */
function hatched(pattern: Pattern): (x: number, y: number) => boolean {
  const r = raster(SIDE, SIDE, 0, 0);
  hatch(r, 4, 4, 36, 36, 7, pattern, STEP);
  return (x, y) => r.pixels[y * SIDE + x] === 7;
}

function all(test: (x: number, y: number) => boolean, from = 4, to = 36): boolean {
  for (let y = from; y < to; y++) for (let x = from; x < to; x++) if (!test(x, y)) return false;
  return true;
}

it("hatches a bar in lines of its pattern, a step apart, and nothing beside it", () => {
  const patterns: Pattern[] = ["diagonal", "upright", "dots", "cross"];
  for (const pattern of patterns) {
    const on = hatched(pattern);
    const painted = Array.from({ length: SIDE * SIDE }, (_, i) => on(i % SIDE, Math.floor(i / SIDE))).filter(Boolean);
    expect(painted.length, pattern).toBeGreaterThan(20);
    expect(painted.length, pattern).toBeLessThan(32 * 32 * 0.4); // what is below is seen
    expect(
      all((x, y) => on(x, y) === on(x + STEP, y) && on(x, y) === on(x, y + STEP), 4, 36 - STEP),
      pattern,
    ).toBe(true);
    expect(on(3, 8) || on(8, 3) || on(36, 8) || on(8, 36), pattern).toBe(false);
  }
});

it("draws reasons that can be told apart without colours", () => {
  const [diagonal, upright, dots] = (["diagonal", "upright", "dots"] as const).map(hatched);
  expect(all((x, y) => x + 1 > 35 || y < 5 || diagonal!(x, y) === diagonal!(x + 1, y - 1))).toBe(true); // falls to the left
  expect(all((x, y) => upright!(x, y) === upright!(x, 4))).toBe(true);
  expect(all((x, y) => !dots!(x, y) || upright!(x, y))).toBe(true);
  expect(all((x, y) => diagonal!(x, y) === upright!(x, y))).toBe(false);
  expect(all((x, y) => dots!(x, y) === upright!(x, y))).toBe(false);
});

it("paints a solid bar whole, and keeps out of names and axis", () => {
  const r = raster(SIDE, SIDE, 10, 12);
  hatch(r, 0, 0, SIDE, SIDE, 7, "solid", STEP);
  hatch(r, 0, 0, SIDE, SIDE, 9, "diagonal", STEP);
  for (let i = 0; i < SIDE * SIDE; i++) expect(r.pixels[i]! > 0).toBe(i % SIDE >= 10 && i >= 12 * SIDE);
});
