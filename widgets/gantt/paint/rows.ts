/** The rows of a scene as pixels: lanes, memory, grid, idle gaps, bars, and the critical path's underline. */

import { isAwaited, TRANSFER } from "../scene/colours.ts";
import { eachRow, nearOf, yOf } from "../scene/places.ts";
import { colourOf, type Scene, windowOf, xOf } from "../scene/scene.ts";
import { CRITICAL, IDLE_REASONS } from "../wire/decode.ts";
import { axisTicks } from "./axis.ts";
import { type Label, paintShare, paintTrack, paintTransfers } from "./level.ts";
import { paintLinks } from "./linklanes.ts";
import { fill, hatch, type Raster } from "./raster.ts";
import { paintShort, paintUsage } from "./usage.ts";

const LABEL_FROM = 14; // CSS pixels that a bar needs to carry text

/** Paints all rows in view, reports bars with room for text, and says whether any columns had to be merged. */
export function paintRows(r: Raster, scene: Scene, share: Float32Array, labels: Label[]): boolean {
  const { chart, layout, paint } = scene;
  r.pixels.fill(paint.background);
  eachRow(scene, (_, y) => paintLane(r, scene, y));
  paintLinks(r, scene);
  paintUsage(r, scene);
  paintGrid(r, scene);
  paintIdle(r, scene);
  const view = windowOf(scene);
  const { lanes, bars } = chart;
  const style = {
    colours: paint.bars,
    colourOf: (bar: number) => colourOf(scene, bar),
    labelFrom: LABEL_FROM * layout.ratio,
    share,
  };
  const colour = paint.bars[TRANSFER]!;
  let merged = false;
  eachRow(scene, (d, y) => {
    if (d < 0) return paintHost(r, scene, -1 - d, y, share);
    const k = d * lanes.perDevice;
    paintKept(r, scene, d, share);
    const high = layout.ops - layout.kept - underline(scene);
    merged = paintTrack(r, lanes, bars, k, view, y + layout.kept, high, style, labels) || merged;
    const split = k + 1 + lanes.incoming;
    const middle = y + layout.ops + lanes.incoming * layout.transfer;
    paintTransfers(r, lanes, bars, k + 1, split, view, y + layout.ops, layout.transfer, colour, share);
    paintTransfers(r, lanes, bars, split, k + lanes.perDevice, view, middle, layout.transfer, colour, share);
  });
  paintShort(r, scene);
  paintCritical(r, scene);
  paintEnds(r, scene);
  return merged;
}

function paintLane(r: Raster, scene: Scene, y: number): void {
  const { layout, paint } = scene;
  fill(r, layout.gutter, y, layout.width, y + layout.ops, paint.lane);
  fill(r, layout.gutter, y + layout.ops, layout.width, y + layout.tracks, paint.thinLane);
}

/** Paints the share of a folded host's devices that are busy. */
function paintHost(r: Raster, scene: Scene, host: number, y: number, share: Float32Array): void {
  const { layout, paint, chart } = scene;
  const { devices } = layout.rows.hosts[host]!;
  const tracks = devices.map((d) => d * chart.lanes.perDevice);
  paintShare(r, chart.lanes, chart.bars, tracks, windowOf(scene), y, layout.ops - underline(scene), paint.host, share);
}

function paintGrid(r: Raster, scene: Scene): void {
  for (const t of axisTicks(scene).values) {
    const x = Math.round(xOf(scene, t));
    fill(r, x, scene.layout.axis, x + 1, scene.layout.height, scene.paint.grid);
  }
}

/** The end of the schedule where the axis goes on, and that of the kept one. */
function paintEnds(r: Raster, scene: Scene): void {
  const { layout, paint, kept, chart } = scene;
  const end = (t: number, colour: number, step: number) => {
    const x = Math.round(xOf(scene, t));
    for (let y = layout.axis; y < layout.height; y += step) fill(r, x, y, x + 2, y + Math.ceil(step / 2), colour);
  };
  if (kept) end(kept.makespan, paint.kept[1]!, Math.round(6 * layout.ratio));
  if (scene.span.to > 1.02 * chart.columns.makespan) end(chart.columns.makespan, paint.line, 2);
}

/** Idle gaps at least a pixel wide; narrower ones show as the missing height of merged columns. */
function paintIdle(r: Raster, scene: Scene): void {
  const { idle } = scene.chart.columns;
  const { ratio, ops, height } = scene.layout;
  for (let i = 0; i < idle.start.length; i++) {
    const x0 = Math.round(xOf(scene, idle.start[i]!));
    const x1 = Math.round(xOf(scene, idle.start[i]! + idle.duration[i]!));
    const y = yOf(scene, idle.device[i]!);
    const reason = IDLE_REASONS[idle.reason[i]!];
    if (!isAwaited(reason) || x1 - x0 < 2 || x1 < r.left || x0 > r.width || y > height || y + ops < r.top) continue;
    const look = scene.paint.idle[reason];
    fill(r, x0, y, x1, y + ops, look.tint);
    hatch(r, x0, y, x1, y + ops, look.mark, look.pattern, Math.round(8 * ratio));
  }
}

/** Height of the critical path's underline, part of the ops track. */
export function underline(scene: Scene): number {
  return Math.max(2, Math.round(scene.layout.ops / 11));
}

function paintCritical(r: Raster, scene: Scene): void {
  const { columns } = scene.chart;
  const { kind, row, start, duration } = columns.critical;
  const thick = underline(scene);
  for (let i = 0; i < kind.length; i++) {
    const x0 = Math.round(xOf(scene, start[i]!));
    const x1 = Math.max(Math.round(xOf(scene, start[i]! + duration[i]!)), x0 + 1);
    if (x1 < r.left || x0 > r.width) continue;
    const under = (device: number) => {
      const top = nearOf(scene, device);
      if (top === null) return;
      const y = top + scene.layout.ops;
      hatch(r, x0, y - thick, x1, y, scene.paint.critical, kind[i] === CRITICAL.wait ? "diagonal" : "solid", 5 * thick);
    };
    const t = row[i]!;
    if (kind[i] === CRITICAL.send) under(columns.transfers.source[t]!);
    else if (kind[i] !== CRITICAL.transfer) under(columns.ops.device[t]!);
    else {
      for (const d of [columns.transfers.source[t]!, columns.transfers.destination[t]!]) {
        const y = yOf(scene, d) + scene.layout.tracks;
        fill(r, x0, y, x1, y + Math.max(1, thick - 1), scene.paint.critical);
      }
    }
  }
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
