/** A page that recomputes: the kernels in the browser, and controls above the chart. */
export { place } from "../kernels/place.ts";
export { decodeProblem, problemOf } from "../kernels/problem.ts";
export { simulate } from "../kernels/simulate.ts";
export { inWholeCosts } from "../kernels/whole.ts";
export { packRun } from "../kernels/wire.ts";
