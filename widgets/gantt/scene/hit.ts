/** Find what is under the pointer. Coordinates are device pixels of the canvas. */
import { type BarKind, barOf } from "./bars.ts";
import { firstAfter } from "./lanes.ts";
import { linkAt, memoryAt, trackAt } from "./layout.ts";
import { type Scene, windowOf } from "./scene.ts";

export type Hit =
  | { readonly kind: BarKind; readonly bar: number; readonly row: number; readonly device: number }
  | { readonly kind: "idle"; readonly row: number; readonly device: number }
  | { readonly kind: "memory"; readonly device: number }
  | { readonly kind: "link"; readonly link: number };

const NEAR = 3; // pixels around a bar that still count as on it

/** The bar at (x, y), the nearest one within `NEAR` pixels, else the idle gap or the memory there, else nothing. */
export function hit(scene: Scene, x: number, y: number): Hit | null {
  const { layout, chart } = scene;
  if (x < layout.gutter || y < layout.axis) return null;
  const track = trackAt(layout, chart.lanes, y - layout.axis + scene.scroll);
  if (track < 0) {
    const inside = y - layout.axis + scene.scroll;
    const link = scene.links ? linkAt(layout, scene.links.pairs.length, inside) : -1;
    if (link >= 0) return { kind: "link", link };
    const device = memoryAt(layout, chart.lanes.nDevices, inside);
    return device < 0 ? null : { kind: "memory", device };
  }
  const device = Math.floor(track / chart.lanes.perDevice);
  const { from, perSecond } = windowOf(scene);
  const t = from + (x - layout.gutter) / perSecond;
  const bar = nearest(scene, track, t, (NEAR * layout.ratio) / perSecond);
  if (bar >= 0) return { ...barOf(chart.bars, bar), bar, device };
  const row = track % chart.lanes.perDevice === 0 ? idleAt(scene, device, t) : -1;
  return row < 0 ? null : { kind: "idle", row, device };
}

/** The device whose name is at (x, y), -1 elsewhere. */
export function laneAt({ layout, chart, scroll }: Scene, x: number, y: number): number {
  if (x >= layout.gutter || y < layout.axis) return -1;
  const device = Math.floor((y - layout.axis + scroll) / layout.row);
  return device < chart.lanes.nDevices ? device : -1;
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
