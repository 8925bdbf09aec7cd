import { describe, expect, it } from "vitest";
import { luminance } from "../shared/palette.ts";
import { endOf, shade, WORST } from "./shade.ts";

const RATIOS = Array.from({ length: 401 }, (_, i) => WORST ** (i / 400));

describe.each([false, true])("the scale (dark: %s)", (dark) => {
  const shades = RATIOS.map((ratio) => shade(ratio, WORST, dark));

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
    expect(shade(100, WORST, dark)).toEqual(shade(WORST, WORST, dark));
    expect(shade(Infinity, WORST, dark)).toEqual(shade(WORST, WORST, dark));
    expect(shade(1.1, WORST, dark).fill).not.toBe(shade(1, WORST, dark).fill);
  });
});

describe("the end of the scale", () => {
  it("is where nine tenths of the values are, within its limits", () => {
    expect(endOf([1, 1.1, 1.12, 1.15, 1.2, 1.21, 1.22, 1.23, 1.24, 90])).toBe(WORST);
    expect(endOf([1, 1.1, 1.12, 1.15, 1.2, 1.21, 1.22, 1.23, 1.24, 1.25, 90])).toBe(1.25);
    expect(endOf([1, 1, 1.001])).toBe(1.05); // ties look alike
    expect(endOf([1, NaN, Infinity])).toBe(1.05);
    expect(endOf([])).toBe(WORST);
  });

  it("tells 103 from 116 where the values go to 120", () => {
    const light = [103, 116].map((value) => luminance(shade(value / 103, 120 / 103, false).fill));
    expect(light[1]! - light[0]!).toBeGreaterThan(0.3);
  });
});
