/** An op in the hand: where it was, where it would run, where its inputs let it, what is forbidden, and its bar under the pointer. */

import { FONT } from "../scene/colours.ts";
import type { Held, Was } from "../scene/held.ts";
import { yOf } from "../scene/places.ts";
import { colourOf, nameOf, type Scene, xOf } from "../scene/scene.ts";
import { isDrawn } from "../scene/sofar.ts";
import type { Hand } from "../wire/traits.ts";

type Box = readonly [x: number, y: number, width: number, height: number];

export function drawHeld(context: CanvasRenderingContext2D, scene: Scene, held: Held): void {
  const { op, was, others, at, hand } = held;
  const { paint, layout, chart } = scene;
  if (op >= chart.bars.nOps) return;
  if (hand?.offer && was) return offer(context, scene, op, was, hand);
  hand?.refused.forEach((why, device) => why && forbid(context, scene, device));
  if (hand) forbidBeside(context, scene, hand.barred);
  for (const { device, start, finish } of was ? [was, ...others] : others)
    dashed(context, scene, boxOf(scene, device, start, finish), paint.theme.faint);
  for (const v of hand?.moving ?? []) if (v !== op) dashed(context, scene, placeOf(scene, v), paint.theme.accent, 2);
  const [start, finish] = [chart.bars.start[op]!, chart.bars.finish[op]!];
  const place = placeOf(scene, op);
  if (isDrawn(chart, op)) mark(context, scene, place);
  if (hand && isDrawn(chart, op) && hand.ready < start) {
    const [x, y, width] = boxOf(scene, hand.device, hand.ready, hand.ready + finish - start);
    dashed(context, scene, [x, y + layout.ops, width, 4 * layout.ratio], paint.theme.accent);
  }
  if (at)
    carry(context, scene, held, [at.x * layout.ratio, at.y * layout.ratio - layout.ops / 4, place[2], layout.ops]);
}

/** A ghost where the op would run with the move that is proposed, and an arrow to it. */
function offer(context: CanvasRenderingContext2D, scene: Scene, op: number, was: Was, hand: Hand): void {
  const { layout, paint, labels } = scene;
  const { good } = paint.theme;
  const from = boxOf(scene, was.device, was.start, was.finish);
  const to = boxOf(scene, hand.device, hand.start, hand.finish);
  const [x, y, width, height] = to;
  context.fillStyle = paint.theme.bg;
  context.globalAlpha = 0.85;
  context.fillRect(...to);
  context.globalAlpha = 0.15;
  context.fillStyle = context.strokeStyle = good;
  context.fillRect(...to);
  context.globalAlpha = 1;
  dashed(context, scene, to, good, 2);
  context.beginPath();
  const [x0, y0] = [from[0] + from[2] / 2, from[1] + (y < from[1] ? 0 : from[3])];
  const [x1, y1] = [x + Math.min(width / 2, 12 * layout.ratio), y + (y < from[1] ? height : 0)];
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
  context.stroke();
  context.fillStyle = paint.theme.ink;
  context.font = `${12 * layout.ratio}px ${FONT}`;
  context.textBaseline = "middle";
  const name = nameOf(labels, op).split("/").at(-1)!;
  if (context.measureText(name).width < width - 10 * layout.ratio)
    context.fillText(name, x + 6 * layout.ratio, y + height / 2);
}

/** The line between two bars at which the op would stand, with a knob. */
function mark(context: CanvasRenderingContext2D, { layout, paint }: Scene, [x, y, width, height]: Box): void {
  context.strokeStyle = context.fillStyle = paint.theme.accent;
  context.lineWidth = 2 * layout.ratio;
  context.strokeRect(x, y, width, height);
  context.fillRect(x - 1.5 * layout.ratio, y - 4 * layout.ratio, 3 * layout.ratio, height + 8 * layout.ratio);
  context.beginPath();
  context.arc(x, y - 4 * layout.ratio, 4 * layout.ratio, 0, 2 * Math.PI);
  context.fill();
}

function carry(context: CanvasRenderingContext2D, scene: Scene, { op, ops }: Held, [x, y, width, height]: Box): void {
  const { layout, paint, labels } = scene;
  context.save();
  context.shadowColor = "rgb(0 0 0 / 45%)";
  context.shadowBlur = 10 * layout.ratio;
  context.shadowOffsetY = 3 * layout.ratio;
  context.fillStyle = paint.barCss[colourOf(scene, op)]!;
  context.fillRect(x, y, width, height);
  context.restore();
  context.strokeStyle = paint.theme.bg;
  context.lineWidth = 2 * layout.ratio;
  context.strokeRect(x, y, width, height);
  context.fillStyle = paint.inks[colourOf(scene, op)]!;
  context.font = `600 ${12 * layout.ratio}px ${FONT}`;
  context.textBaseline = "middle";
  const more = ops.length > 1 ? ` + ${ops.length - 1}` : "";
  const name = nameOf(labels, op).split("/").at(-1)! + more;
  const room = width - 10 * layout.ratio;
  if (room > context.measureText(name).width) context.fillText(name, x + 6 * layout.ratio, y + height / 2);
}

/** Hatches the part of a lane in which an op forbids to stand. */
function forbidBeside(context: CanvasRenderingContext2D, scene: Scene, [op, side]: readonly number[]): void {
  const { bars, columns } = scene.chart;
  if (op === undefined || !isDrawn(scene.chart, op)) return;
  const from = side! < 0 ? 0 : xOf(scene, bars.start[op]!);
  forbid(context, scene, columns.ops.device[op]!, from, side! > 0 ? Infinity : xOf(scene, bars.finish[op]!));
}

/** Hatches the lane of a device that may not run the op, or a part of it. */
function forbid(context: CanvasRenderingContext2D, scene: Scene, device: number, from = 0, to = Infinity): void {
  const { layout, paint } = scene;
  const { ops, ratio, gutter, width } = layout;
  const [left, right, top] = [Math.max(from, gutter), Math.min(to, width), yOf(scene, device)];
  if (left >= right) return;
  const box = [left, top, right - left, ops] as const;
  context.save();
  context.beginPath();
  context.rect(...box);
  context.clip();
  context.fillStyle = context.strokeStyle = paint.theme.critical;
  context.globalAlpha = 0.15;
  context.fillRect(...box);
  context.globalAlpha = 1;
  context.lineWidth = ratio;
  context.beginPath();
  for (let x = left - ops; x < right; x += 12 * ratio) {
    context.moveTo(x, top + ops);
    context.lineTo(x + ops, top);
  }
  context.stroke();
  context.strokeRect(...box);
  context.restore();
}

function dashed(context: CanvasRenderingContext2D, { layout }: Scene, box: Box, colour: string, thick = 1): void {
  context.strokeStyle = colour;
  context.lineWidth = thick * layout.ratio;
  context.setLineDash([4 * layout.ratio, 3 * layout.ratio]);
  context.strokeRect(...box);
  context.setLineDash([]);
}

/** Where an op's bar is now. */
function placeOf(scene: Scene, op: number): Box {
  const { bars, columns } = scene.chart;
  return boxOf(scene, columns.ops.device[op]!, bars.start[op]!, bars.finish[op]!);
}

function boxOf(scene: Scene, device: number, start: number, finish: number): Box {
  const { layout } = scene;
  const x = xOf(scene, start);
  return [x, yOf(scene, device) + layout.kept, Math.max(xOf(scene, finish) - x, 3), layout.ops - layout.kept];
}
