/** The part of a schedule that a partitioner has decided so far. Pure. */
import { reach } from "./lanes.ts";
import type { Chart } from "./scene.ts";

const NO_PATH = {
  kind: new Uint8Array(),
  row: new Uint32Array(),
  start: new Float32Array(),
  duration: new Float32Array(),
};
const NO_GAPS = {
  device: new Uint16Array(),
  start: new Float32Array(),
  duration: new Float32Array(),
  reason: new Uint8Array(),
  op: new Uint32Array(),
};

/**
 * The chart with what is decided alone: no critical path and no idle time, which tell of the future. `decided` has an entry per
 * op, then per transfer; one that does not fit the chart, or is empty, leaves it as it is.
 */
export function soFar(chart: Chart, decided: Uint8Array): Chart {
  const { columns, bars, lanes } = chart;
  const { nOps, nSends, nTransfers, sends } = columns;
  if (decided.length !== nOps + nTransfers || !decided.length) return chart;
  const drawn = new Uint8Array(nOps + nSends + nTransfers);
  drawn.set(decided.subarray(0, nOps));
  for (let i = 0; i < nSends; i++) drawn[nOps + i] = decided[nOps + sends.transfer[i]!]!;
  drawn.set(decided.subarray(nOps), nOps + nSends);
  const ptr = new Uint32Array(lanes.ptr.length);
  const bar = new Uint32Array(lanes.bar.length);
  let n = 0;
  for (let track = 0; track + 1 < ptr.length; track++) {
    for (let i = lanes.ptr[track]!; i < lanes.ptr[track + 1]!; i++) {
      if (drawn[lanes.bar[i]!]) bar[n++] = lanes.bar[i]!;
    }
    ptr[track + 1] = n;
  }
  const left = bar.subarray(0, n);
  return {
    columns: { ...columns, critical: NO_PATH, idle: NO_GAPS },
    bars,
    lanes: { ...lanes, ptr, bar: left, reach: reach(ptr, left, bars) },
    drawn,
  };
}

/** Whether a bar is part of what is shown. */
export function isDrawn({ drawn }: Chart, bar: number): boolean {
  return !drawn || drawn[bar] === 1;
}
