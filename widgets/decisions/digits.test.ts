import { expect, it, describe as suite } from "vitest";
import { align, runnerUp } from "./digits.ts";

const marked = (values: number[], best: number, unit = "s") =>
  align(values, best, unit).map(({ same, differs, unit }) => `${same}[${differs}] ${unit}`.replaceAll("\u2007", "_"));

suite("scores", () => {
  it("are written with as many digits as tell them apart, and those are marked", () => {
    expect(marked([4.26e-3, 4.31e-3, 4.33e-3], 0)).toEqual(["4.[26] ms", "4.[31] ms", "4.[33] ms"]);
    expect(marked([1.00001, 1.00002, 2], 0)).toEqual(["1.0000[1] s", "1.0000[2] s", "[2.00000] s"]);
  });

  it("are whole numbers where all are", () => {
    expect(marked([32, 34, 28], 2)).toEqual(["[32] s", "[34] s", "[28] s"]);
    expect(marked([14, 16, 9], 2)).toEqual(["[14] s", "[16] s", "[_9] s"]);
    expect(marked([100, 200], 0)).toEqual(["[100] s", "[200] s"]);
  });

  it("keep one unit and one decimal point", () => {
    expect(marked([0.5, 12.25], 0)).toEqual(["[_0.5] s", "[12.3] s"]);
    expect(marked([999e-6, 1.2e-3], 0)).toEqual(["1.[0] ms", "1.[2] ms"]);
  });

  it("mark nothing where they are equal, up to rounding", () => {
    expect(marked([0.1 + 0.2, 0.3], 0)).toEqual(["300[] ms", "300[] ms"]);
    expect(marked([3, 3, 4], 1)).toEqual(["3[] s", "[3] s", "[4] s"]);
  });

  it("leave out devices that were no candidates", () => {
    expect(marked([NaN, 2, 3], 1)).toEqual(["[] ", "[2] s", "[3] s"]);
    expect(marked([NaN, 2], 1)).toEqual(["[] ", "2[] s"]);
  });

  it("that span many orders of magnitude have exponents", () => {
    expect(marked([1, 1e-6, 1.5e-12], 2, "")).toEqual(["[_1.00e+0] ", "[_1.00e-6] ", "[1.50e-12] "]);
    expect(marked([0, 1e-15], 0, "")).toEqual(["[_0.00e+0] ", "[1.00e-15] "]);
  });

  it("need no more digits than a double has", () => {
    expect(align([1, 1 + 1e-11], 0, "s").map((w) => w.differs.length > 0)).toEqual([true, true]);
  });

  it("of zero are zero", () => {
    expect(marked([0, 0], 0)).toEqual(["0[] s", "0[] s"]);
  });
});

suite("the runner-up", () => {
  it("is the nearest that differs", () => {
    expect(runnerUp([5, 3, 4, 3], 1)).toBe(2);
    expect(runnerUp([3, NaN, 3], 0)).toBe(-1);
  });
});
