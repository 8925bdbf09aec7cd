/** The time axis, and above it a bar for the part of the schedule in view. */
import { ticks } from "../../shared/scale.ts";
import { FONT } from "../scene/colours.ts";
import { type Scene, xOf } from "../scene/scene.ts";

/** Ticks at round times, about a finger's width apart. */
export function axisTicks(scene: Scene) {
  const { layout, span } = scene;
  return ticks(span, (layout.width - layout.gutter) / (90 * layout.ratio));
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
