import { describe, expect, it } from "vitest";
import { CURVE } from "./example.ts";
import { SI } from "./format.ts";
import { at, powers, told } from "./sensitivity.ts";

describe("the curve of a value", () => {
  it("is read between two values on a scale of powers of ten", () => {
    expect(at(CURVE, 1e9)).toBe(2);
    expect(at(CURVE, Math.sqrt(1e9 * 1e10))).toBeCloseTo(1.5);
    expect(at(CURVE, 1e7)).toBe(4);
    expect(at(CURVE, 1e12)).toBe(1);
  });

  it("has marks at powers of ten that do not meet", () => {
    expect(powers(3e7, 2e9, (value) => 60 * Math.log10(value))).toEqual([1e8, 1e9]);
    expect(powers(1, 1e6, (value) => 20 * Math.log10(value))).toEqual([1, 100, 1e4, 1e6]);
  });

  it("says its ends, and the quicker pair nearest to the present value", () => {
    expect(told(CURVE, SI)).toBe("4 s at 100 MB/s, 1 s at 100 GB/s · single + fifo is quicker at 100 MB/s: 3 s");
    expect(told({ ...CURVE, best: [], preview: true }, SI)).toMatch(/^preview: .* GB\/s$/);
  });
});
