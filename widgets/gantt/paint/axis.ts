/** The time axis, and above it a bar for the part of the schedule in view. */
import { ticks } from "../../shared/scale.ts";
import { FONT } from "../scene/colours.ts";
import { type Scene, xOf } from "../scene/scene.ts";

/** Ticks at round times, about a finger's width apart; closer where that leaves two or three, and their texts have room. */
export function axisTicks({ layout, span, labels }: Scene) {
  const plot = (layout.width - layout.gutter) / layout.ratio;
  const few = ticks(span, plot / 90);
  const more = ticks(span, plot / 50);
  const text = labels.units.axis(Math.max(span.to, more.step), more.step)(more.values.at(-1) ?? 0);
  const room = (plot * more.step) / (span.to - span.from);
  return few.values.length < 4 && 7 * text.length + 8 < room ? more : few;
}

export function drawAxis(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, paint, span, chart } = scene;
  const { ratio } = layout;
  const { step, values } = axisTicks(scene);
  const text = scene.labels.units.axis(Math.max(span.to, step), step);
  context.fillStyle = paint.theme.bg;
  context.fillRect(0, 0, layout.width, layout.axis);
  context.font = `${11 * ratio}px ${FONT}`;
  context.textBaseline = "middle";
  context.fillStyle = paint.theme.faint;
  for (const t of values) {
    const x = xOf(scene, t);
    const label = text(t);
    const last = x > layout.width - 24 * ratio;
    context.textAlign = t === 0 || x < layout.gutter + 20 * ratio ? "left" : last ? "right" : "center";
    context.fillText(label, last ? x - 8 * ratio : x, layout.axis / 2 + 1); // beside the playhead's grip
    context.fillRect(Math.round(x), layout.axis - 4 * ratio, 1, 4 * ratio);
  }
  context.fillRect(layout.gutter, layout.axis - 1, layout.width - layout.gutter, 1);
  drawMark(context, scene);
  const end = chart.columns.makespan;
  if (span.to - span.from < end * 0.999) {
    const plot = layout.width - layout.gutter; // which part of the schedule is in view
    context.fillStyle = paint.theme.line;
    context.fillRect(layout.gutter, 0, plot, 3 * ratio);
    context.fillStyle = paint.theme.accent;
    context.fillRect(
      layout.gutter + (span.from / end) * plot,
      0,
      Math.max(((span.to - span.from) / end) * plot, 4),
      3 * ratio,
    );
  }
}

/** A dashed line at a time, and its text over the ticks, on the side that has more room. */
function drawMark(context: CanvasRenderingContext2D, scene: Scene): void {
  const { mark, layout, paint } = scene;
  if (!mark) return;
  const { ratio, gutter, width, axis, height } = layout;
  const x = Math.round(xOf(scene, mark.time));
  if (x < gutter || x > width) return;
  context.strokeStyle = context.fillStyle = paint.theme.accent;
  context.lineWidth = 1.5 * ratio;
  context.setLineDash([5 * ratio, 3 * ratio]);
  context.beginPath();
  context.moveTo(x, axis);
  context.lineTo(x, height);
  context.stroke();
  context.setLineDash([]);
  const right = x - gutter < width - x;
  const room = (right ? width - x : x - gutter) - 12 * ratio;
  const wide = Math.min(context.measureText(mark.text).width + 12 * ratio, room);
  const left = right ? x : x - wide;
  context.fillRect(left, 4 * ratio, wide, axis - 6 * ratio);
  context.fillStyle = paint.theme.bg;
  context.textAlign = "left";
  context.fillText(mark.text, left + 6 * ratio, axis / 2 + 1, wide - 12 * ratio);
}
