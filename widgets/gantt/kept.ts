/** A schedule that was kept, to be drawn behind the one on show: when and where its ops ran. Written by placelab/widgets/gantt/wire.py. */
import { orderByStart } from "./bars.ts";
import { reader } from "./decode.ts";
import { grouped, type Tracks } from "./lanes.ts";
import { type Label, paintTrack } from "./level.ts";
import { fill, type Raster } from "./raster.ts";
import { type Scene, windowOf, yOf } from "./scene.ts";

export interface Kept {
  /** Seconds, as every time here. */
  readonly makespan: number;
  readonly nDevices: number;
  /** Rows are ops; a device that is no longer there has a number beyond the others. */
  readonly device: Uint16Array;
  readonly start: Float32Array;
  readonly finish: Float32Array;
  /** One track per device. */
  readonly tracks: Tracks;
}

/** Nothing is kept when the message is empty. */
export function decodeKept(message: DataView): Kept | null {
  if (!message.byteLength) return null;
  const { header, f64, f32, u16 } = reader(message, 4, "kept schedule");
  const [, nOps, nDevices] = header;
  const makespan = f64(1)[0]!;
  const [device, start, finish] = [u16(nOps), f32(nOps), f32(nOps)];
  const place = (op: number) => (device[op]! < nDevices! ? device[op]! : -1);
  const tracks = grouped(nDevices!, orderByStart(start), place, { start, finish });
  return { makespan, nDevices: nDevices!, device, start, finish, tracks };
}

/** Paints device `d`'s kept ops: a strip along the top of the lane, which no bar covers, and outlines behind the bars. */
export function paintKept(r: Raster, scene: Scene, d: number, share: Float32Array): void {
  const { kept, layout, paint } = scene;
  if (!kept || d >= kept.nDevices) return;
  const boxes: Label[] = [];
  const style = { colours: paint.kept, colourOf: () => 0, labelFrom: 3 * layout.ratio, share };
  const [y, line] = [yOf(scene, d), Math.max(1, Math.round(layout.ratio))];
  paintTrack(r, kept.tracks, kept, d, windowOf(scene), y, layout.kept, style, boxes);
  const bottom = y + layout.ops;
  for (const { x, width } of boxes) {
    const right = x + width - 1;
    fill(r, x, y, x + line, bottom, paint.kept[1]!);
    fill(r, right - line, y, right, bottom, paint.kept[1]!);
    fill(r, x, bottom - line, right, bottom, paint.kept[1]!);
  }
}
