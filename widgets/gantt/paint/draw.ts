/** Paints a scene: the rows as pixels, then text, axis and arrows on top. */

import { percent } from "../../shared/format.ts";
import { deviceColour } from "../../shared/palette.ts";
import { clamp } from "../../shared/scale.ts";
import { FONT } from "../scene/colours.ts";
import { eachRow, nearOf } from "../scene/places.ts";
import { busySeconds } from "../scene/rows.ts";
import { colourOf, deviceOf, nameOf, type Scene, xOf } from "../scene/scene.ts";
import { CRITICAL } from "../wire/decode.ts";
import { drawAxis } from "./axis.ts";
import { cut, cutInside, shorten } from "./cut.ts";
import { type Label, shareFor } from "./level.ts";
import { drawLinkNames } from "./linklanes.ts";
import { raster } from "./raster.ts";
import { paintRows, underline } from "./rows.ts";
import { drawUsage } from "./usage.ts";

const MAX_ARROWS = 60;

/** Returns a function that draws on `canvas` and returns whether any columns had to be merged. It keeps the pixels between frames. */
export function painter(canvas: HTMLCanvasElement): (scene: Scene) => boolean {
  const context = canvas.getContext("2d", { alpha: false })!;
  let rows = raster(0, 0, 0, 0);
  let share = shareFor(0, 0);
  let image: ImageData | undefined;
  return (scene) => {
    const { width, height, gutter, axis } = scene.layout;
    if (!image || rows.width !== width || rows.height !== height || rows.left !== gutter || rows.top !== axis) {
      [canvas.width, canvas.height] = [width, height];
      rows = raster(width, height, gutter, axis);
      image = new ImageData(new Uint8ClampedArray(rows.pixels.buffer as ArrayBuffer), width, height);
      share = shareFor(width, scene.paint.bars.length);
    }
    const labels: Label[] = [];
    const merged = paintRows(rows, scene, share, labels);
    context.putImageData(image, 0, 0);
    drawBarLabels(context, scene, labels);
    drawUsage(context, scene);
    drawArrows(context, scene);
    drawGutter(context, scene);
    drawAxis(context, scene);
    return merged;
  };
}

const CUT_FROM = 34; // CSS pixels of a bar whose name may be cut; a narrower one has a whole name or none
const SURE = 0.6; // a label that is estimated to need less of its bar has room, whatever its letters

function drawBarLabels(context: CanvasRenderingContext2D, scene: Scene, labels: Label[]): void {
  const { ratio } = scene.layout;
  const size = 11 * ratio;
  if (scene.layout.ops - scene.layout.kept - underline(scene) < size) return;
  context.font = `${size}px ${FONT}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  const perChar = context.measureText("abcdefghij/MW_01").width / 16;
  for (const { bar, x, y, width, height } of labels) {
    if (bar >= scene.chart.bars.nOps) continue;
    const from = Math.max(x, scene.layout.gutter);
    const room = x + width - from - 8 * ratio;
    const short = shorten(nameOf(scene.labels, bar), Math.floor(room / perChar));
    if (width < CUT_FROM * ratio && short.endsWith("…")) continue;
    const text = short.length * perChar < SURE * room ? short : cut(context, short, room); // of few labels the width is asked
    context.fillStyle = scene.paint.inks[colourOf(scene, bar)]!;
    if (text && y >= scene.layout.axis - height / 2) context.fillText(text, from + 4 * ratio, y + height / 2 + 0.5);
  }
}

/** The transfers of the critical path as arrows between rows, when few enough are in view to be read. */
function drawArrows(context: CanvasRenderingContext2D, scene: Scene): void {
  const { kind, row, start, duration } = scene.chart.columns.critical;
  const { transfers } = scene.chart.columns;
  const { ratio, gutter, width, axis, height, ops } = scene.layout;
  const hops: [number, number, number, number][] = [];
  let short = 0;
  for (let i = 0; i < kind.length; i++) {
    const x0 = xOf(scene, start[i]!);
    const x1 = xOf(scene, start[i]! + duration[i]!);
    if (kind[i] !== CRITICAL.transfer || x1 < gutter || x0 > width) continue;
    const y0 = nearOf(scene, transfers.source[row[i]!]!);
    const y1 = nearOf(scene, transfers.destination[row[i]!]!);
    if (y0 === null || y1 === null || y0 === y1) continue;
    if (x1 - x0 < 8 * ratio) short++;
    else hops.push(y0 < y1 ? [x0, y0 + ops, x1, y1] : [x0, y0, x1, y1 + ops]);
  }
  if (hops.length > MAX_ARROWS || short > hops.length) return;
  context.save();
  context.beginPath();
  context.rect(gutter, axis, width - gutter, height - axis);
  context.clip();
  context.strokeStyle = context.fillStyle = scene.paint.theme.critical;
  context.lineWidth = 1.5 * ratio;
  for (const hop of hops) arrow(context, ...hop, 6 * ratio);
  context.restore();
}

function arrow(c: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number, head: number): void {
  const bend = Math.max((x1 - x0) / 2, head);
  c.beginPath();
  c.moveTo(x0, y0);
  c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - head, y1);
  c.stroke();
  c.beginPath();
  c.moveTo(x1, y1);
  c.lineTo(x1 - head, y1 - head / 2);
  c.lineTo(x1 - head, y1 + head / 2);
  c.fill();
}

/** Device names, and how busy each device is over the whole schedule where the row has room for a second line. */
function drawGutter(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, paint, labels } = scene;
  const { ratio, gutter } = layout;
  const two = layout.below >= 30 * ratio;
  const size = clamp(layout.below - 2, 11 * ratio, 12 * ratio);
  const every = Math.ceil((size + 1) / layout.row); // of low rows, some have a name
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(0, layout.axis, gutter, layout.height);
  context.clip();
  eachRow(scene, (which, y, row) => {
    const middle = y + layout.ops / 2;
    const host = which < 0 ? layout.rows.hosts[-1 - which]! : null;
    context.fillStyle = host ? paint.theme.faint : deviceColour(which, paint.theme.dark);
    context.fillRect(6 * ratio, y + ratio, 4 * ratio, layout.ops - 2 * ratio);
    if (row % every) return;
    context.font = `600 ${size}px ${FONT}`;
    context.fillStyle = paint.theme.ink;
    context.textAlign = "left";
    const pin = row < layout.rows.pinned ? "⚲ " : "";
    const name = host ? `▸ ${host.name} (${host.devices.length})` : pin + deviceOf(labels, which);
    const short = cutInside(context, name, gutter - (two ? 22 : 52) * ratio);
    context.fillText(short, 16 * ratio, two ? y + 8 * ratio : middle);
    context.font = `${Math.min(11 * ratio, size)}px ${FONT}`;
    context.fillStyle = paint.theme.faint;
    const busy = busyFraction(scene, host?.devices ?? [which]);
    if (!host) drawDirections(context, scene, y + layout.ops);
    if (two) context.fillText(`${percent(busy)} busy`, 16 * ratio, y + 21 * ratio);
    else {
      context.textAlign = "right"; // in whole percents, beside the name
      context.fillText(busy > 0 && busy < 0.01 ? "< 1 %" : `${Math.round(100 * busy)} %`, gutter - 6 * ratio, middle);
    }
  });
  drawLinkNames(context, scene);
  context.restore();
  if (layout.rows.pinned) {
    context.fillStyle = paint.theme.line; // what is above does not scroll
    context.fillRect(0, layout.axis + layout.rows.pinned * layout.row - 2 * ratio, layout.width, ratio);
  }
}

/** "in" and "out" beside the transfer lanes, where they are high enough to carry a word. */
function drawDirections(context: CanvasRenderingContext2D, { layout, chart }: Scene, y: number): void {
  const size = 11 * layout.ratio;
  const name = (text: string, tracks: number, top: number) => {
    if (tracks * layout.transfer >= size)
      context.fillText(text, layout.gutter - 5 * layout.ratio, top + (tracks * layout.transfer) / 2 + 0.5);
  };
  context.save();
  context.font = `${size}px ${FONT}`;
  context.textAlign = "right";
  name("in", chart.lanes.incoming, y);
  name("out", chart.lanes.outgoing, y + chart.lanes.incoming * layout.transfer);
  context.restore();
}

const busyOf = new WeakMap<object, Float64Array>();

/** The share of the whole schedule in which devices are busy, on average. */
function busyFraction({ chart }: Scene, devices: readonly number[]): number {
  const busy = busyOf.get(chart) ?? busySeconds(chart);
  busyOf.set(chart, busy);
  const { makespan } = chart.columns;
  return makespan ? devices.reduce((sum, d) => sum + busy[d]!, 0) / devices.length / makespan : 0;
}
