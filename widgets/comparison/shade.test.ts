import { describe, expect, it } from "vitest";
import { luminance } from "../shared/palette.ts";
import { shade, WORST } from "./shade.ts";

const RATIOS = Array.from({ length: 401 }, (_, i) => WORST ** (i / 400));

describe.each([false, true])("the scale (dark: %s)", (dark) => {
  const shades = RATIOS.map((ratio) => shade(ratio, dark));

  it("has text of contrast 4.5 or more everywhere", () => {
    for (const { fill, ink } of shades) {
      const [a, b] = [luminance(fill) + 0.05, luminance(ink === "#fff" ? "#ffffff" : "#000000") + 0.05];
      expect(Math.max(a / b, b / a)).toBeGreaterThanOrEqual(4.5);
    }
  });

  it("goes one way in lightness, away from the best, so that every colour vision can order it", () => {
    const light = shades.map(({ fill }) => luminance(fill));
    for (let i = 1; i < light.length; i++)
      expect(dark ? light[i - 1]! - light[i]! : light[i]! - light[i - 1]!).toBeGreaterThanOrEqual(-1e-3);
    expect(Math.abs(light[0]! - light.at(-1)!)).toBeGreaterThan(0.6);
  });

  it("ends at its worst", () => {
    expect(shade(100, dark)).toEqual(shade(WORST, dark));
    expect(shade(Infinity, dark)).toEqual(shade(WORST, dark));
    expect(shade(1.1, dark).fill).not.toBe(shade(1, dark).fill);
  });
});
