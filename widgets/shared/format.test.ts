import { describe, expect, it } from "vitest";
import { bandwidth, bytes, count, PLAIN, parseSi, percent, SI, seconds, secondsAxis, si, speed } from "./format.ts";

describe("quantities", () => {
  it("have up to three digits and the unit that keeps them between 1 and 1000", () => {
    expect([seconds(0.0123), bandwidth(12e9), bytes(86.4e6), speed(9.3e12)]).toEqual([
      "12.3 ms",
      "12 GB/s",
      "86.4 MB",
      "9.3 TFLOP/s",
    ]);
    expect([seconds(0), seconds(4.2e-7), seconds(99)]).toEqual(["0 s", "420 ns", "99 s"]);
  });

  it("carry when rounding reaches the next unit", () => {
    expect([si(999.96e3, "B"), si(0.0009999, "s")]).toEqual(["1 MB", "1 ms"]);
  });

  it("know no kiloseconds, infinity and what is missing", () => {
    expect([seconds(4288), si(Infinity, "B"), si(NaN, "B"), si(-0.5, "s")]).toEqual(["4,290 s", "∞", "–", "−500 ms"]);
  });

  it("are read back with their unit, its prefix, or neither", () => {
    expect([parseSi("12 GB/s", "B/s"), parseSi("50 µs", "s"), parseSi("1.5T", "FLOP/s"), parseSi("3", "s")]).toEqual([
      12e9, 50e-6, 1.5e12, 3,
    ]);
    expect([parseSi("fast", "s"), parseSi("3 parsecs", "B")]).toEqual([NaN, NaN]);
  });

  it("as shares and counts", () => {
    expect([percent(0.713), percent(0), percent(NaN), count(22000), count(999)]).toEqual([
      "71 %",
      "0 %",
      "–",
      "22,000",
      "999",
    ]);
  });

  it("as Python writes shares: of two equally near the even one", () => {
    expect([percent(0.0009), percent(0.001)]).toEqual(["< 0.1 %", "0.1 %"]);
    expect([percent(0.225), percent(0.235), percent(0.125), percent(0.2251)]).toEqual(["22 %", "24 %", "12 %", "23 %"]);
    expect([percent(0.0096), percent(0.0994), percent(0.0996), percent(43.21)]).toEqual([
      "1.0 %",
      "9.9 %",
      "10 %",
      "4,321 %",
    ]);
  });

  it("share one unit and just enough decimals on an axis", () => {
    const text = secondsAxis(0.0124, 0.002);
    expect([0, 0.002, 0.012].map(text)).toEqual(["0 ms", "2 ms", "12 ms"]);
    expect(secondsAxis(0.0124, 1e-6)(0.012001)).toBe("12.001 ms");
    expect(secondsAxis(2000, 0.5)(1000)).toBe("1,000.0 s");
  });
});

describe("units of a problem", () => {
  it("are SI units, or none", () => {
    expect([SI.time(80), SI.time(0.08), SI.bytes(140)]).toEqual(["80 s", "80 ms", "140 B"]);
    expect([PLAIN.time(80), PLAIN.time(1 / 3), PLAIN.bytes(12345), PLAIN.time(-2.5)]).toEqual([
      "80",
      "0.3333",
      "12,350",
      "−2.5",
    ]);
    expect([PLAIN.time(NaN), PLAIN.bytes(Infinity), PLAIN.time(0)]).toEqual(["–", "∞", "0"]);
  });
  it("are not on the axis of plain numbers, which has just enough decimals", () => {
    expect([0, 10, 20].map(PLAIN.axis(80, 10))).toEqual(["0", "10", "20"]);
    expect([0, 0.2].map(PLAIN.axis(1, 0.2))).toEqual(["0.0", "0.2"]);
    expect([PLAIN.axis(1008, 500)(1000), PLAIN.time(1008), PLAIN.time(-1234.5)]).toEqual(["1,000", "1,008", "−1,235"]);
  });
});
