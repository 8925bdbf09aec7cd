/** Where things are on the canvas, and what is at a height of it. Device pixels. */
import { clamp } from "../../shared/scale.ts";
import type { Scene } from "./scene.ts";

const NOWHERE = -1e6; // above every canvas: what is there is never seen

export interface Extent {
  readonly y: number;
  readonly height: number;
}

/** Top of a row; above the canvas where it is scrolled under the pinned ones, which `Board.scene` scrolls by whole rows. */
export function topOf({ layout, scroll }: Scene, row: number): number {
  const { pinned } = layout.rows;
  const y = layout.axis + row * layout.row - (row < pinned ? 0 : scroll);
  return row >= pinned && pinned && y < layout.axis + pinned * layout.row ? NOWHERE : y;
}

/** Top of device `d`'s own row; above the canvas where it has none. */
export function yOf(scene: Scene, device: number): number {
  const { at, within } = scene.layout.rows;
  return at[device]! < 0 || within[device] ? NOWHERE : topOf(scene, at[device]!);
}

/** Top of the row in which device `d` is, be it alone or with others of its host; null where it is hidden. */
export function nearOf(scene: Scene, device: number): number | null {
  const row = scene.layout.rows.at[device]!;
  return row < 0 ? null : topOf(scene, row);
}

/** Calls `act` for each row in view with its device, -1 - h for folded host h, and its top. */
export function eachRow(scene: Scene, act: (which: number, y: number, row: number) => void): void {
  const { layout, scroll } = scene;
  const { of, pinned } = layout.rows;
  for (let row = 0; row < pinned; row++) act(of[row]!, topOf(scene, row), row);
  const first = Math.max(pinned, Math.floor(scroll / layout.row));
  for (let row = first; row < of.length; row++) {
    const y = topOf(scene, row);
    if (y > layout.height) return;
    if (y > NOWHERE) act(of[row]!, y, row);
  }
}

/** The row at height `y`, or the one that would be there were there more. */
function rowAt({ layout, scroll }: Scene, y: number): number {
  const row = Math.floor((y - layout.axis) / layout.row);
  return row < layout.rows.pinned ? row : Math.floor((y - layout.axis + scroll) / layout.row);
}

/** What has the row at height `y`: a device, -1 - h for folded host h; null for none. */
export function whoseAt(scene: Scene, y: number): number | null {
  return scene.layout.rows.of[rowAt(scene, y)] ?? null;
}

/** The row at height `y` of the canvas, or the nearest one. */
export function nearestRow(scene: Scene, y: number): number {
  return clamp(rowAt(scene, y), 0, scene.layout.rows.of.length - 1);
}

/** The devices of the rows from `first` to `last`, those of folded hosts included. */
export function devicesOf({ layout }: Scene, first: number, last: number): number[] {
  const { at } = layout.rows;
  return Array.from({ length: at.length }, (_, d) => d).filter((d) => at[d]! >= first && at[d]! <= last);
}

/** Top and height of track `k`. */
export function trackBox(scene: Scene, k: number): Extent {
  const { layout: lay, chart } = scene;
  const device = Math.floor(k / chart.lanes.perDevice);
  const j = k - device * chart.lanes.perDevice;
  const y = yOf(scene, device);
  return j === 0
    ? { y: y + lay.kept, height: lay.ops - lay.kept }
    : { y: y + lay.ops + (j - 1) * lay.transfer, height: lay.transfer };
}

/** The track at height `y`; -1 between devices and outside. */
export function trackAt(scene: Scene, y: number): number {
  const { layout: lay, chart } = scene;
  const device = whoseAt(scene, y) ?? -1;
  if (device < 0) return -1;
  const inside = y - yOf(scene, device);
  const j = inside < lay.ops ? 0 : 1 + Math.floor((inside - lay.ops) / Math.max(lay.transfer, 1));
  return j < chart.lanes.perDevice ? device * chart.lanes.perDevice + j : -1;
}

/** The device whose memory is at height `y`; -1 elsewhere. */
export function memoryAt(scene: Scene, y: number): number {
  const device = whoseAt(scene, y) ?? -1;
  if (device < 0) return -1;
  const inside = y - yOf(scene, device) - scene.layout.below;
  return inside >= 0 && inside < scene.layout.memory ? device : -1;
}

/** Top and height of link `k`'s lane; above the canvas where it is scrolled under pinned rows. */
export function linkBox({ layout: lay, scroll }: Scene, k: number): Extent {
  const y = lay.axis + lay.linksTop + k * (lay.link + lay.apart) - scroll;
  return { y: y < lay.axis + lay.rows.pinned * lay.row && lay.rows.pinned ? NOWHERE : y, height: lay.link };
}

/** The link of the first `n` whose lane is at height `y`; -1 elsewhere. */
export function linkAt(scene: Scene, n: number, y: number): number {
  const { layout: lay, scroll } = scene;
  const k = Math.floor((y - lay.axis + scroll - lay.linksTop) / (lay.link + lay.apart));
  if (k < 0 || k >= n) return -1;
  const box = linkBox(scene, k);
  return y >= box.y && y < box.y + box.height ? k : -1;
}
