/** Everything that a picture of a schedule depends on. */
import type { Span } from "../shared/scale.js";
import { bars, type Bars } from "./bars.js";
import { decode, type Columns } from "./decode.js";
import { lanes, type Lanes } from "./lanes.js";
import type { Layout } from "./layout.js";
import type { Window } from "./level.js";
import type { Memory } from "./memory.js";
import { TRANSFER, type Paint } from "./paint.js";

/** A schedule, indexed for look-ups. */
export interface Chart {
  readonly columns: Columns;
  readonly bars: Bars;
  readonly lanes: Lanes;
}

/** Names and colours of the bars. */
export interface Labels {
  readonly names: readonly string[];
  /** Colour index per op, and what each index stands for. */
  readonly kinds: Uint8Array;
  readonly kindNames: readonly string[];
  readonly devices: readonly string[];
}

export interface Scene {
  readonly chart: Chart;
  /** Of the chart's devices; null when not known. */
  readonly memory: Memory | null;
  readonly labels: Labels;
  readonly layout: Layout;
  readonly paint: Paint;
  readonly span: Span;
  /** Device pixels that the rows are scrolled up by. */
  readonly scroll: number;
}

export function chart(message: DataView): Chart {
  const columns = decode(message);
  const all = bars(columns);
  return { columns, bars: all, lanes: lanes(columns, all) };
}

/** Seconds to pixels of the plot, right of the device names. */
export function windowOf({ layout, span }: Scene): Window {
  return { from: span.from, perSecond: (layout.width - layout.gutter) / (span.to - span.from) };
}

/** Pixel column of time `t` on the canvas. */
export function xOf(scene: Scene, t: number): number {
  const { from, perSecond } = windowOf(scene);
  return scene.layout.gutter + (t - from) * perSecond;
}

/** Top of device `d`'s row on the canvas. */
export function yOf(scene: Scene, device: number): number {
  return scene.layout.axis + device * scene.layout.row - scene.scroll;
}

export function colourOf(scene: Scene, bar: number): number {
  return bar < scene.chart.bars.nOps ? (scene.labels.kinds[bar] ?? TRANSFER - 1) : TRANSFER;
}

export function nameOf(labels: Labels, op: number): string {
  return labels.names[op] ?? `op ${op}`;
}

export function deviceOf(labels: Labels, device: number): string {
  return labels.devices[device] ?? `device ${device}`;
}
