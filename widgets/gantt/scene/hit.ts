/** Find what is under the pointer. Coordinates are device pixels of the canvas. */
import { type BarKind, barOf } from "./bars.ts";
import { firstAfter } from "./lanes.ts";
import { linkAt, memoryAt, trackAt, whoseAt } from "./places.ts";
import { type Scene, windowOf } from "./scene.ts";

export type Hit =
  | { readonly kind: BarKind; readonly bar: number; readonly row: number; readonly device: number }
  | { readonly kind: "idle"; readonly row: number; readonly device: number }
  | { readonly kind: "memory"; readonly device: number }
  | { readonly kind: "link"; readonly link: number }
  | { readonly kind: "host"; readonly host: number };

const NEAR = 3; // pixels around a bar that still count as on it

/** The bar at (x, y), the nearest one within `NEAR` pixels, else the idle gap or the memory there, else nothing. */
export function hit(scene: Scene, x: number, y: number): Hit | null {
  const { layout, chart } = scene;
  if (x < layout.gutter || y < layout.axis) return null;
  const track = trackAt(scene, y);
  if (track < 0) return besides(scene, y);
  const device = Math.floor(track / chart.lanes.perDevice);
  const { from, perSecond } = windowOf(scene);
  const t = from + (x - layout.gutter) / perSecond;
  const bar = nearest(scene, track, t, (NEAR * layout.ratio) / perSecond);
  if (bar >= 0) return { ...barOf(chart.bars, bar), bar, device };
  const row = track % chart.lanes.perDevice === 0 ? idleAt(scene, device, t) : -1;
  return row < 0 ? null : { kind: "idle", row, device };
}

/** The memory, the link or the folded host at height `y`. */
function besides(scene: Scene, y: number): Hit | null {
  const link = scene.links ? linkAt(scene, scene.links.pairs.length, y) : -1;
  if (link >= 0) return { kind: "link", link };
  const which = whoseAt(scene, y) ?? 0;
  if (which < 0) return { kind: "host", host: -1 - which };
  const device = memoryAt(scene, y);
  return device < 0 ? null : { kind: "memory", device };
}

/** What has its name at (x, y): a device, -1 - h for folded host h; null elsewhere. */
export function namedAt(scene: Scene, x: number, y: number): number | null {
  return x >= scene.layout.gutter || y < scene.layout.axis ? null : whoseAt(scene, y);
}

/** The bar of the track that holds `t`, the last to start if several do; else the closest within `reach` seconds; else -1. */
function nearest(scene: Scene, track: number, t: number, reach: number): number {
  const { bars, lanes } = scene.chart;
  let best = -1;
  let distance = reach;
  for (let i = firstAfter(lanes, track, t - reach); i < lanes.ptr[track + 1]!; i++) {
    const bar = lanes.bar[i]!;
    const away = Math.max(bars.start[bar]! - t, t - bars.finish[bar]!, 0);
    if (bars.start[bar]! > t + reach) break;
    if (away <= distance) [best, distance] = [bar, away];
  }
  return best;
}

function idleAt(scene: Scene, device: number, t: number): number {
  const { idle } = scene.chart.columns;
  for (let i = 0; i < idle.start.length; i++) {
    if (idle.device[i] === device && idle.start[i]! <= t && t < idle.start[i]! + idle.duration[i]!) return i;
  }
  return -1;
}
