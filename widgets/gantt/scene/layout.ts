/** Heights and places of lanes, from the number of devices and the space available. Device pixels throughout. */
import { clamp } from "../../shared/scale.ts";
import type { Lanes } from "./lanes.ts";
import { allRows, type Rows } from "./rows.ts";

export interface Layout {
  /** Which lanes there are, from top to bottom. */
  readonly rows: Rows;
  /** Width of the column of device names, and height of the time axis. */
  readonly gutter: number;
  readonly axis: number;
  /** The canvas. */
  readonly width: number;
  readonly height: number;
  /** Height of one device's row, its ops track, one track of transfers, and all tracks. */
  readonly row: number;
  readonly ops: number;
  readonly transfer: number;
  readonly tracks: number;
  /** Top of the lane of memory in its row, and its height, 0 where there is none. */
  readonly below: number;
  readonly memory: number;
  /** Height of the strip along the top of the ops track that a kept schedule has for itself, 0 without one. */
  readonly kept: number;
  /** Height of a link's lane and the gap below it, and the top of the first: below all devices. */
  readonly link: number;
  readonly apart: number;
  readonly linksTop: number;
  /** Height of all rows; more than `height - axis` means that the chart scrolls. */
  readonly content: number;
  /** Device pixels per CSS pixel. */
  readonly ratio: number;
}

/** CSS height of the time axis. */
export const AXIS = 24;

const MIN_OPS = 11;
const MAX_OPS = 52;
const MAX_TRANSFER = 7;
const MIN_MEMORY = 12;
const MAX_MEMORY = 34;
const GAP = 3; // below the tracks
const APART = 6; // below the memory: it belongs to the row above
const LINK = 13; // height of a link's lane
const LINKS = 10; // between the last device and the first link
const MOST_LINKS = 0.4; // share of the height that lanes of links take from those of devices

/** Lays out `tracks`, with or without lanes of memory, and lanes of `links`, on a canvas of CSS size `width` × `height`. */
export function layout(
  tracks: Lanes,
  width: number,
  height: number,
  ratio: number,
  gutter: number,
  withMemory = false,
  links = 0,
  kept = false,
  rows: Rows = allRows(tracks.nDevices),
): Layout {
  const nRows = rows.of.length;
  const px = (css: number) => Math.round(css * ratio);
  const n = tracks.incoming + tracks.outgoing;
  const forLinks = Math.min(linksHeight(links), MOST_LINKS * (height - AXIS));
  const whole = (height - AXIS - forLinks) / Math.max(nRows, 1);
  const each = whole - GAP;
  const memory = withMemory ? clamp(Math.floor((each - APART) * 0.4), MIN_MEMORY, MAX_MEMORY) : 0;
  const room = each - (withMemory ? memory + APART : 0);
  const transfer = n ? Math.min(Math.max(Math.floor((room * 0.45) / n), n > 4 ? 1 : 2), n > 4 ? 4 : MAX_TRANSFER) : 0;
  // What rounding has made higher, as at 150 %, the ops lack: rows that fit do so to the pixel.
  const rest = px(transfer) * n + px(GAP);
  const under = withMemory ? px(memory) + px(APART) : 0;
  const ops = clamp(Math.floor(whole * ratio) - rest - under, px(MIN_OPS), px(MAX_OPS));
  const below = ops + rest;
  const row = below + under;
  return {
    rows,
    gutter: px(gutter),
    axis: px(AXIS),
    width: px(width),
    height: px(height),
    row,
    ops,
    transfer: px(transfer),
    tracks: below - px(GAP),
    below,
    memory: px(memory),
    kept: kept ? Math.max(px(3), Math.round(ops / 4)) : 0,
    link: px(LINK),
    apart: px(GAP),
    linksTop: row * nRows + px(LINKS),
    content: row * nRows + (links ? px(LINKS) + links * (px(LINK) + px(GAP)) : 0),
    ratio,
  };
}

/** A layout whose rows are where they were in another one, however many transfers there are now: a hand aims at them. */
export function steady(now: Layout, before: Layout, tracks: Lanes): Layout {
  if (now.rows.of.length > before.rows.of.length) return now; // a lane that was hidden has something to show
  const n = tracks.incoming + tracks.outgoing;
  const { rows, row, ops, below, memory, linksTop, kept } = before;
  const transfer = n ? Math.max(Math.floor((before.tracks - ops) / n), 1) : 0;
  return { ...now, rows, row, ops, below, memory, linksTop, kept, transfer, tracks: before.tracks };
}

/** Preferred CSS height of the chart: comfortable rows for a few devices, bounded for many. */
export function preferredHeight(tracks: Lanes, withMemory: boolean, links = 0, nRows = tracks.nDevices): number {
  const n = tracks.incoming + tracks.outgoing;
  const row = 30 + n * (n > 4 ? 3 : 5) + GAP + (withMemory ? MAX_MEMORY + APART : 0);
  return clamp(AXIS + row * nRows, 96, withMemory ? 560 : 440) + Math.min(linksHeight(links), 160);
}

/** CSS height of the lanes of links. */
function linksHeight(links: number): number {
  return links ? LINKS + links * (LINK + GAP) : 0;
}

/** CSS width of the column of device names. */
export function gutterWidth(devices: readonly string[]): number {
  const longest = Math.max(0, ...devices.map((name) => name.length));
  const share = devices.length > 6 ? 44 : 0; // narrow rows show the busy share beside the name, high ones below it
  return Math.round(Math.min(Math.max(26 + 7.4 * longest + share, 98), 210));
}
