/** Lanes of memory: curve, capacity and peak; spans out of memory are red, also on the ops. */

import { FONT } from "../scene/colours.ts";
import { eachRow, yOf } from "../scene/places.ts";
import { type Scene, windowOf, xOf } from "../scene/scene.ts";
import { type Memory, pointAfter, shortIn, usedAt } from "../wire/memory.ts";
import { fill, hatch, type Raster } from "./raster.ts";

const HEADROOM = 0.9; // of a lane's height is its top

/** Paints the lanes in view: bytes over time, each column from its least to its greatest; red where memory is short. */
export function paintUsage(r: Raster, scene: Scene): void {
  const { memory, layout, paint } = scene;
  const { gutter, width } = layout;
  eachLane(scene, (d, y) => {
    fill(r, gutter, y, width, y + layout.memory, paint.thinLane);
    if (memory) paintCurve(r, scene, memory, d, gutter, width, paint.memory);
  });
  if (!memory || !layout.memory) return;
  eachShort(scene, (row, x0, x1) => paintCurve(r, scene, memory, memory.short.device[row]!, x0, x1, paint.short));
  eachLane(scene, (d, y) => {
    const line = Math.round(levelOf(scene, memory, d, memory.capacity[d]!));
    if (line >= y) fill(r, gutter, line, width, line + Math.max(1, Math.floor(layout.ratio)), paint.line);
  });
}

/** Paints red over the ops of all devices where their memory is short. */
export function paintShort(r: Raster, scene: Scene): void {
  const { layout, paint, memory } = scene;
  const strip = Math.max(2, Math.round(layout.ops / 8));
  eachShort(scene, (row, x0, x1) => {
    const y = yOf(scene, memory!.short.device[row]!);
    hatch(r, x0, y, x1, y + layout.ops, paint.short[0], "diagonal", Math.round(10 * layout.ratio));
    fill(r, x0, y, x1, y + strip, paint.short[0]);
  });
}

/** Calls `act` for each span out of memory in view with the columns it takes, two at least. */
function eachShort(scene: Scene, act: (row: number, x0: number, x1: number) => void): void {
  const { start, duration } = scene.memory?.short ?? { start: [], duration: [] };
  for (let row = 0; row < start.length; row++) {
    const x0 = Math.floor(xOf(scene, start[row]!));
    const x1 = Math.max(Math.round(xOf(scene, start[row]! + duration[row]!)), x0 + 2);
    if (x1 > scene.layout.gutter && x0 < scene.layout.width) act(row, x0, x1);
  }
}

/** The height on the canvas at which `size` bytes of device `d` stand. */
function levelOf(scene: Scene, memory: Memory, d: number, size: number): number {
  const { below, memory: height } = scene.layout;
  return yOf(scene, d) + below + height * (1 - (HEADROOM * size) / memory.top[d]!);
}

/** Paints the columns [left, right) of a curve in two colours: below the least in use in a column, and up to the most. */
function paintCurve(
  r: Raster,
  scene: Scene,
  memory: Memory,
  d: number,
  left: number,
  right: number,
  [all, some]: readonly [number, number],
): void {
  const { from, perSecond } = windowOf(scene);
  const { layout } = scene;
  const bottom = yOf(scene, d) + layout.below + layout.memory;
  if (bottom < r.top || bottom - layout.memory > r.height) return;
  const y = (size: number) => Math.round(levelOf(scene, memory, d, size));
  let x = Math.max(left, layout.gutter);
  const end = Math.min(right, r.width);
  let at = pointAfter(memory, d, from + (x - layout.gutter) / perSecond);
  const last = memory.ptr[d + 1]!;
  if (at === memory.ptr[d]) return;
  let [low, high, now] = [memory.bytes[at - 1]!, memory.bytes[at - 1]!, memory.bytes[at - 1]!];
  for (; x < end; at++) {
    const next = at < last ? Math.min(Math.floor(layout.gutter + (memory.time[at]! - from) * perSecond), end) : end;
    if (next > x) {
      fill(r, x, y(high), x + 1, y(low), some);
      fill(r, x, y(low), x + 1, bottom, all);
      fill(r, x + 1, y(now), next, bottom, all);
      [x, low, high] = [next, now, now];
    }
    now = memory.bytes[at]!;
    [low, high] = [Math.min(low, now), Math.max(high, now)];
  }
}

/** A dot at each peak, and what the capacity is, on its line. */
export function drawUsage(context: CanvasRenderingContext2D, scene: Scene): void {
  const { memory, layout, paint } = scene;
  if (!memory) return;
  const { ratio, gutter, width, axis, height } = layout;
  context.save();
  context.beginPath();
  context.rect(gutter, axis, width - gutter, height - axis);
  context.clip();
  context.font = `${11 * ratio}px ${FONT}`;
  context.textAlign = "right";
  context.textBaseline = "top";
  eachLane(scene, (d, y) => {
    const line = levelOf(scene, memory, d, memory.capacity[d]!);
    context.fillStyle = paint.theme.ink;
    const roomy = layout.memory > 20 * ratio;
    const label = Math.min(line + 2 * ratio, y + layout.memory - 11 * ratio);
    if (line >= y && roomy) context.fillText(scene.labels.units.bytes(memory.capacity[d]!), width - 20 * ratio, label);
    dot(context, scene, d, memory.crest[d]!, memory.peak[d]!);
  });
  context.restore();
}

/** Beside each lane, what is in use at `time`, or at most when that is null; on its curve, a dot there. */
export function drawUsed(context: CanvasRenderingContext2D, scene: Scene, time: number | null): void {
  const { memory, layout, paint } = scene;
  if (!memory) return;
  const { ratio, gutter } = layout;
  context.font = `${11 * ratio}px ${FONT}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  eachLane(scene, (d, y) => {
    const used = time === null ? memory.peak[d]! : usedAt(memory, d, time);
    const over = used > memory.capacity[d]! && shortIn(memory, d, time ?? memory.crest[d]!) >= 0;
    context.fillStyle = over ? paint.theme.critical : paint.theme.faint;
    const text = `${time === null ? "peak " : ""}${scene.labels.units.bytes(used)}`;
    const middle = y + layout.memory / 2;
    if (middle > layout.axis && layout.memory >= 9 * ratio)
      context.fillText(text, 16 * ratio, middle, gutter - 20 * ratio);
    if (time !== null) dot(context, scene, d, time, used);
  });
}

/** Calls `act` for each lane in view, if there are lanes, with its top on the canvas. */
function eachLane(scene: Scene, act: (d: number, y: number) => void): void {
  const { below, memory } = scene.layout;
  if (memory) eachRow(scene, (d, y) => d >= 0 && act(d, y + below));
}

function dot(context: CanvasRenderingContext2D, scene: Scene, d: number, time: number, size: number): void {
  const x = xOf(scene, time);
  if (!scene.memory!.time.length || x < scene.layout.gutter) return;
  context.beginPath();
  context.arc(x, levelOf(scene, scene.memory!, d, size), 2.5 * scene.layout.ratio, 0, 2 * Math.PI);
  context.fillStyle = scene.paint.theme.ink;
  context.fill();
}
