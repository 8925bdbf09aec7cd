/**
 * Level of detail: draw a track whose screen columns hold more than one bar.
 *
 * A bar at least `WIDE` pixels wide, or with no close neighbour, is a rectangle. A run of narrower bars with less than a
 * pixel between them is merged: each column is filled to the fraction of its time that is busy, split by colour in
 * proportion to time. So the overview shows how busy a device is and with what, never which bar came first.
 */
import type { Times } from "../scene/bars.ts";
import { firstAfter, type Tracks } from "../scene/lanes.ts";
import type { Window } from "../scene/scene.ts";
import { fill, type Raster } from "./raster.ts";

export const WIDE = 2;

/** A bar that was drawn as a rectangle wide enough for a label. */
export interface Label {
  readonly bar: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface TrackStyle {
  /** Pixel value per colour index. */
  readonly colours: Uint32Array;
  /** Colour index of a bar. */
  readonly colourOf: (bar: number) => number;
  /** Bars at least this wide are reported for labelling. */
  readonly labelFrom: number;
  /** Room for a number per column and colour; all zero before and after. */
  readonly share: Float32Array;
}

/** The `share` of a style with `colours` colours on a raster `width` wide. */
export function shareFor(width: number, colours: number): Float32Array {
  return new Float32Array((width + 2) * colours);
}

/** Paints track `k` into [y, y + height) and returns whether any columns were merged. */
export function paintTrack(
  r: Raster,
  tracks: Tracks,
  all: Times,
  k: number,
  view: Window,
  y: number,
  height: number,
  style: TrackStyle,
  labels: Label[],
): boolean {
  const merge = merger(r, y, height, style);
  const width = r.width - r.left;
  const until = view.from + width / view.perSecond;
  let edge = r.left; // pixels before it are taken by a rectangle
  for (let i = firstAfter(tracks, k, view.from), end = tracks.ptr[k + 1]!; i < end; i++) {
    const bar = tracks.bar[i]!;
    const start = all.start[bar]!;
    if (start > until) break;
    const x0 = r.left + (start - view.from) * view.perSecond;
    const x1 = r.left + (all.finish[bar]! - view.from) * view.perSecond;
    if (x1 < r.left) continue;
    if (x1 - x0 < WIDE) {
      merge.add(x0, x1, style.colourOf(bar), edge);
      continue;
    }
    merge.flush();
    const a = Math.round(Math.max(x0, r.left - 1));
    const b = Math.max(Math.round(Math.min(x1, r.width + 1)), a + 1);
    const seam = b - a > 4 ? 1 : 0; // neighbours of one colour stay two bars
    fill(r, Math.max(a, edge), y, b - seam, y + height, style.colours[style.colourOf(bar)]!);
    if (b - a >= style.labelFrom) labels.push({ bar, x: a, y, width: b - a, height });
    edge = b;
  }
  merge.flush();
  return merge.merged;
}

/**
 * Paints the transfers of one direction, tracks [from, to) each `height` high from `y` down. Those too narrow for a rectangle
 * become one outline at the bottom of all tracks: as high as the share of the tracks that is busy on average in each column.
 */
export function paintTransfers(
  r: Raster,
  tracks: Tracks,
  all: Times,
  from: number,
  to: number,
  view: Window,
  y: number,
  height: number,
  colour: number,
  share: Float32Array,
): void {
  const until = view.from + (r.width - r.left) / view.perSecond;
  const seam = height > 2 ? 1 : 0;
  for (let k = from; k < to; k++) {
    const top = y + (k - from) * height;
    for (let i = firstAfter(tracks, k, view.from), end = tracks.ptr[k + 1]!; i < end; i++) {
      const bar = tracks.bar[i]!;
      if (all.start[bar]! > until) break;
      const x0 = r.left + (all.start[bar]! - view.from) * view.perSecond;
      const x1 = r.left + (all.finish[bar]! - view.from) * view.perSecond;
      if (x1 - x0 >= WIDE)
        fill(
          r,
          Math.round(Math.max(x0, r.left - 1)),
          top,
          Math.round(Math.min(x1, r.width + 1)),
          top + height - seam,
          colour,
        );
      else spread(share, 1, 0, x0, x1, r.left, r.width - 1);
    }
  }
  const lane = (to - from) * height;
  for (let x = r.left; x < r.width; x++) {
    const busy = share[x]!;
    if (busy > 0)
      fill(
        r,
        x,
        y + lane - Math.max(Math.round((Math.min(busy, to - from) * lane) / (to - from)), 1),
        x + 1,
        y + lane,
        colour,
      );
  }
  share.fill(0, 0, r.width);
}

/** Paints several tracks into one, [y, y + height): each column as high as the share of the tracks that is busy in it. */
export function paintShare(
  r: Raster,
  tracks: Tracks,
  all: Times,
  which: readonly number[],
  view: Window,
  y: number,
  height: number,
  colour: number,
  share: Float32Array,
): void {
  const until = view.from + (r.width - r.left) / view.perSecond;
  for (const k of which) {
    for (let i = firstAfter(tracks, k, view.from), end = tracks.ptr[k + 1]!; i < end; i++) {
      const bar = tracks.bar[i]!;
      if (all.start[bar]! > until) break;
      const x0 = r.left + (all.start[bar]! - view.from) * view.perSecond;
      const x1 = r.left + (all.finish[bar]! - view.from) * view.perSecond;
      spread(share, 1, 0, x0, x1, r.left, r.width - 1);
    }
  }
  for (let x = r.left; x < r.width; x++) {
    const busy = Math.min(share[x]! / which.length, 1);
    if (busy > 0) fill(r, x, y + height - Math.max(Math.round(busy * height), 1), x + 1, y + height, colour);
  }
  share.fill(0, 0, r.width);
}

/** Adds to each column in [low, high] the part of it that [x0, x1) covers, under colour `c` of `n`. */
function spread(share: Float32Array, n: number, c: number, x0: number, x1: number, low: number, high: number): void {
  for (let x = Math.max(Math.floor(x0), low), end = Math.min(Math.floor(x1), high); x <= end; x++) {
    share[x * n + c]! += Math.max(0, Math.min(x1, x + 1) - Math.max(x0, x));
  }
}

/** Collects a run of narrow bars and paints it when it ends. */
function merger(r: Raster, y: number, height: number, style: TrackStyle) {
  const n = style.colours.length;
  const { share } = style; // pixels of each column taken by each colour
  let from = 0; // columns of the run
  let last = -1;
  let bars = 0;
  let end = 0; // where the run's last bar ends
  let only = 0; // colour of its first bar
  let taken = 0;
  const run = {
    merged: false,
    add(x0: number, x1: number, colour: number, edge: number) {
      if (bars && x0 - end >= 1) run.flush();
      if (!bars) {
        from = Math.max(Math.floor(x0), r.left);
        last = from - 1;
        only = colour;
        taken = edge;
        end = x1;
      }
      bars++;
      end = Math.max(end, x1);
      spread(share, n, colour, x0, x1, from, r.width - 1);
      last = Math.max(last, Math.min(Math.floor(x1), r.width - 1));
    },
    flush() {
      if (bars === 1) {
        const a = Math.max(from, taken);
        fill(r, a, y, Math.max(Math.round(end), from + 1), y + height, style.colours[only]!);
        share.fill(0, from * n, (last + 1) * n);
      } else if (bars > 1) {
        run.merged = true;
        for (let x = from; x <= last; x++) column(x, x >= taken);
      }
      bars = 0;
    },
  };
  return run;

  function column(x: number, free: boolean) {
    const base = x * n;
    let busy = 0;
    for (let c = 0; c < n; c++) busy += share[base + c]!;
    const scale = height / Math.max(busy, 1); // overlapping transfers can be busier than the column
    let sum = 0;
    let bottom = y + height;
    for (let c = 0; c < n; c++) {
      const part = share[base + c]!;
      if (!part) continue;
      sum += part;
      const top = y + height - Math.max(Math.round(sum * scale), 1);
      if (free && top < bottom) fill(r, x, top, x + 1, bottom, style.colours[c]!);
      bottom = Math.min(bottom, top);
    }
    share.fill(0, base, base + n);
  }
}
