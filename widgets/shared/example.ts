/** A curve for the tests of several views. Not part of the bundle. */
import type { Curve } from "./sensitivity.ts";

export const CURVE: Curve = {
  values: [1e8, 1e9, 1e10, 1e11],
  makespans: [4, 2, 1, 1],
  best: [[1e8, "single + fifo", 3]],
  preview: false,
  now: 1e10,
  unit: "B/s",
};
