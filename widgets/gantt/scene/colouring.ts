/** What the colours of the ops mean: each way to colour gives an index per op, the meaning of the indices, and a palette. */

import { devicePalette, KINDS } from "../../shared/palette.ts";
import { RAMPS } from "../../shared/ramp.ts";
import { type Chart, deviceOf, type Labels } from "./scene.ts";

export const WAYS = [
  "kind",
  "scope",
  "layer",
  "device",
  "op",
  "critical path",
  "slack",
  "micro-batch",
  "replica",
  "phase",
] as const;
export type Way = (typeof WAYS)[number];
/** Ways that only Python can work out: it sends the indices when they are asked for. */
export const SENT: readonly Way[] = ["scope", "layer", "slack", "micro-batch", "replica", "phase"];
/** Ways that only graphs of jobs have; Python says which. */
export const OF_JOBS: readonly Way[] = ["micro-batch", "replica", "phase"];

export interface Colouring {
  /** Colour index per op. */
  readonly index: Uint8Array;
  /** Meaning of each index, "" for those without one. */
  readonly names: readonly string[];
  /** Colours of the indices; null: the critical path's and grey; or those of devices, which depend on the theme. */
  readonly palette: readonly string[] | "devices" | null;
}

const OTHER = KINDS.length - 1;

/** The colours of a chart; `sent` holds the latest indices that Python has sent. Until they fit, ops have the colours of their kinds. */
export function colouring(way: string, chart: Chart, labels: Labels, sent: Omit<Colouring, "palette">): Colouring {
  const { nOps, ops, critical } = chart.columns;
  const asked = SENT.includes(way as Way) && sent.index.length === nOps;
  if (asked) return { ...sent, palette: way === "layer" || way === "slack" ? RAMPS[way] : KINDS };
  if (way === "device") {
    const { length } = devicePalette(false);
    const names = Array.from({ length: Math.min(chart.columns.nDevices, length) }, (_, d) => deviceOf(labels, d));
    const again = chart.columns.nDevices > length ? " …" : "";
    return {
      index: Uint8Array.from(ops.device, (d) => d % length),
      names: names.map((name) => name + again),
      palette: "devices",
    };
  }
  if (way === "op")
    return { index: Uint8Array.from(ops.device, (_, op) => op % OTHER), names: ["each op"], palette: KINDS };
  if (way === "critical path") {
    const index = new Uint8Array(nOps).fill(OTHER);
    critical.row.forEach((row, i) => {
      if (critical.kind[i] === 0) index[row] = 0;
    });
    return { index, names: ["on the critical path", ...Array<string>(OTHER - 1).fill(""), "not"], palette: null };
  }
  return { index: labels.kinds, names: labels.kindNames, palette: KINDS };
}
