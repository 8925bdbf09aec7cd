/** Everything that a picture of a schedule depends on. */
import type { Units } from "../../shared/format.ts";
import type { Span } from "../../shared/scale.ts";
import { type Columns, decode } from "../wire/decode.ts";
import type { Memory } from "../wire/memory.ts";
import type { Mark, SharedLink } from "../wire/traits.ts";
import { type Bars, bars } from "./bars.ts";
import { FADED, type Paint, TRANSFER } from "./colours.ts";
import type { Kept } from "./kept.ts";
import { type Lanes, lanes } from "./lanes.ts";
import type { Layout } from "./layout.ts";
import type { Links } from "./links.ts";

/** A schedule, indexed for look-ups. */
export interface Chart {
  readonly columns: Columns;
  readonly bars: Bars;
  readonly lanes: Lanes;
  /** 1 for each bar that is part of the picture; absent: all are. */
  readonly drawn?: Uint8Array;
}

/** Names and colours of the bars. */
export interface Labels {
  readonly names: readonly string[];
  /** Colour index per op, and what each index stands for. */
  readonly kinds: Uint8Array;
  readonly kindNames: readonly string[];
  readonly devices: readonly string[];
  /** How times and sizes are written. */
  readonly units: Units;
  /** The host of each device; absent in pages of old. */
  readonly hosts?: readonly string[];
  /** Links that several pairs of devices share; absent where transfers do not share links. */
  readonly shared?: readonly SharedLink[];
}

export interface Scene {
  readonly chart: Chart;
  /** Of the chart's devices; null when not known. */
  readonly memory: Memory | null;
  readonly labels: Labels;
  /** Drawn behind the chart; null for none. */
  readonly kept: Kept | null;
  /** With lanes of their own; null when these are not shown. */
  readonly links: Links | null;
  /** Colour index per op. */
  readonly colours: Uint8Array;
  /** 1 for each op that is looked for; null when none is. */
  readonly match: Uint8Array | null;
  readonly layout: Layout;
  readonly paint: Paint;
  /** A line at a time with a text on the axis. */
  readonly mark?: Mark | null;
  readonly span: Span;
  /** Device pixels that the rows are scrolled up by. */
  readonly scroll: number;
}

/** Seconds, and devices by number. */
export interface Area extends Span {
  readonly devices: readonly number[];
}

export interface Window {
  /** Time at the raster's left edge of the plot, in seconds, and pixels per second. */
  readonly from: number;
  readonly perSecond: number;
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

export function colourOf(scene: Scene, bar: number): number {
  if (bar >= scene.chart.bars.nOps) return TRANSFER;
  return scene.match && !scene.match[bar] ? FADED : (scene.colours[bar] ?? TRANSFER - 1);
}

export function nameOf(labels: Labels, op: number): string {
  return labels.names[op] ?? `op ${op}`;
}

export function deviceOf(labels: Labels, device: number): string {
  return labels.devices[device] ?? `device ${device}`;
}
