/** Everything that moves over the bars: outlines, running devices, transfers in flight, the brush. Redrawn alone while playing. */
import type { Held } from "../scene/held.ts";
import { runningAt } from "../scene/lanes.ts";
import { eachRow, linkBox, nearOf, topOf, trackBox, yOf } from "../scene/places.ts";
import { computingAt } from "../scene/rows.ts";
import { type Area, colourOf, type Scene, xOf } from "../scene/scene.ts";
import { isDrawn } from "../scene/sofar.ts";
import type { Candidate } from "../wire/traits.ts";
import { drawHeld } from "./held.ts";
import { drawUsed } from "./usage.ts";

export interface Moving {
  readonly time: number;
  /** Whether the playhead stands inside the schedule, so that something can be running. */
  readonly inside: boolean;
  readonly selection: number;
  /** Transfers that bring the inputs of the selected op. */
  readonly incoming: readonly number[];
  /** Where and when an op might run. */
  readonly candidates: readonly Candidate[];
  /** Ops that were looked for, when they are few enough to be marked one by one. */
  readonly found: ArrayLike<number>;
  /** Ops that a hand moves together. */
  readonly together: Iterable<number>;
  /** Bar under the pointer and the device whose row it was found in, or -1. */
  readonly hover: number;
  /** An op in the hand. */
  readonly held: Held | null;
  /** What is being brushed, or was. */
  readonly area: Area | null;
}

export function drawOverlay(canvas: HTMLCanvasElement, scene: Scene, moving: Moving): void {
  const { width, height, axis, gutter } = scene.layout;
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d")!;
  context.clearRect(0, 0, width, height);
  if (moving.inside) drawRunning(context, scene, moving.time);
  drawUsed(context, scene, moving.inside ? moving.time : null);
  context.save();
  context.beginPath();
  context.rect(gutter, axis, width - gutter, height - axis);
  context.clip();
  if (moving.inside) drawFlights(context, scene, moving.time);
  for (let i = 0; i < moving.found.length; i++) outline(context, scene, moving.found[i]!, 1);
  for (const op of moving.together) outline(context, scene, op, 2, true);
  if (moving.hover >= 0) outline(context, scene, moving.hover, 1);
  if (moving.selection >= 0) drawSelection(context, scene, moving.selection, moving.incoming);
  for (const candidate of moving.candidates) drawCandidate(context, scene, candidate);
  if (moving.held) drawHeld(context, scene, moving.held);
  if (moving.area) drawArea(context, scene, moving.area);
  context.restore();
}

/** A dot beside each device that runs something now, in the colour of what it runs. */
function drawRunning(context: CanvasRenderingContext2D, scene: Scene, time: number): void {
  const { chart, layout, paint } = scene;
  eachRow(scene, (d, top) => {
    const y = top + Math.min(layout.ops / 2, 8 * layout.ratio);
    const bar = d < 0 ? -1 : runningAt(chart.lanes, chart.bars, d * chart.lanes.perDevice, time);
    const runs = d < 0 ? computingAt(chart, layout.rows.hosts[-1 - d]!.devices, time).length > 0 : bar >= 0;
    context.beginPath();
    context.arc(8 * layout.ratio, y, 3.5 * layout.ratio, 0, 2 * Math.PI);
    const colour = d < 0 ? paint.theme.faint : paint.barCss[bar < 0 ? 0 : colourOf(scene, bar)]!;
    context.strokeStyle = context.fillStyle = runs ? colour : paint.theme.line;
    if (runs) context.fill();
    else context.stroke();
  });
}

/** Each transfer in flight as a dot at the playhead, on its way from the row of its source to that of its destination. */
function drawFlights(context: CanvasRenderingContext2D, scene: Scene, time: number): void {
  const { chart, layout, paint } = scene;
  const { bars, lanes, columns } = chart;
  const x = xOf(scene, time);
  context.fillStyle = paint.theme.ink;
  context.strokeStyle = paint.theme.bg;
  context.lineWidth = layout.ratio;
  for (let d = 0; d < lanes.nDevices; d++) {
    for (let j = 1 + lanes.incoming; j < lanes.perDevice; j++) {
      const bar = runningAt(lanes, bars, d * lanes.perDevice + j, time);
      if (bar < 0) continue;
      const done = (time - bars.start[bar]!) / (bars.finish[bar]! - bars.start[bar]!);
      const to = columns.transfers.destination[bar - bars.nOps - bars.nSends]!;
      const [source, destination] = [nearOf(scene, d), nearOf(scene, to)];
      if (source === null || destination === null) continue;
      const y = source * (1 - done) + destination * done + layout.ops / 2;
      context.beginPath();
      context.arc(x, y, 3.5 * layout.ratio, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }
}

/** The selected op, the transfers that carry its outputs, and, dashed, those that bring its inputs. */
function drawSelection(context: CanvasRenderingContext2D, scene: Scene, op: number, incoming: readonly number[]): void {
  const { bars, columns } = scene.chart;
  if (op >= bars.nOps) return;
  if (scene.kept && op < scene.kept.start.length) drawKept(context, scene, op);
  outline(context, scene, op, 2);
  for (const t of incoming) if (t < bars.nTransfers) outline(context, scene, bars.nOps + bars.nSends + t, 1, true);
  columns.transfers.producer.forEach((producer, t) => {
    if (producer === op) outline(context, scene, bars.nOps + bars.nSends + t, 1);
  });
}

/** Where the selected op was in the kept schedule. */
function drawKept(context: CanvasRenderingContext2D, scene: Scene, op: number): void {
  const { start, finish, device, nDevices } = scene.kept!;
  if (device[op]! >= nDevices) return;
  const { layout, paint } = scene;
  const [x0, x1] = [xOf(scene, start[op]!), xOf(scene, finish[op]!)];
  context.strokeStyle = paint.theme.ink;
  context.lineWidth = layout.ratio;
  context.setLineDash([3 * layout.ratio, 2 * layout.ratio]);
  context.strokeRect(x0, yOf(scene, device[op]!) + 0.5, Math.max(x1 - x0, 2), layout.ops - 1);
  context.setLineDash([]);
}

/** A ghost of a bar on a device's lane. */
function drawCandidate(context: CanvasRenderingContext2D, scene: Scene, { device, start, finish }: Candidate): void {
  const { layout, paint } = scene;
  const [x0, x1] = [xOf(scene, start), xOf(scene, finish)];
  const box = [x0, yOf(scene, device) + layout.kept + 1, Math.max(x1 - x0, 3), layout.ops - layout.kept - 2] as const;
  context.fillStyle = context.strokeStyle = paint.theme.accent;
  context.globalAlpha = 0.28;
  context.fillRect(...box);
  context.globalAlpha = 1;
  context.lineWidth = 1.5 * layout.ratio;
  context.setLineDash([4 * layout.ratio, 3 * layout.ratio]);
  context.strokeRect(...box);
  context.setLineDash([]);
}

/** Outlines a bar wherever it is drawn: an op once, a transfer on both of its devices and on its link. */
function outline(context: CanvasRenderingContext2D, scene: Scene, bar: number, thick: number, dashed = false): void {
  const { chart, layout, paint } = scene;
  if (!isDrawn(chart, bar)) return;
  const x0 = Math.max(xOf(scene, chart.bars.start[bar]!), layout.gutter - 10);
  const x1 = Math.min(xOf(scene, chart.bars.finish[bar]!), layout.width + 10);
  if (x1 < layout.gutter || x0 > layout.width) return;
  const line = thick * layout.ratio;
  for (const box of boxesOf(scene, bar)) {
    const { y } = box;
    for (const [colour, w] of [
      [paint.theme.bg, line + 2 * layout.ratio],
      [paint.theme.ink, line],
    ] as const) {
      context.strokeStyle = colour;
      context.lineWidth = w;
      if (dashed && w === line) context.setLineDash([3 * layout.ratio, 2 * layout.ratio]);
      context.strokeRect(x0 - 1, y, Math.max(x1 - x0, 1) + 2, box.height);
      context.setLineDash([]);
    }
  }
}

function boxesOf(scene: Scene, bar: number): { y: number; height: number }[] {
  const { chart, links } = scene;
  const boxes = tracksOf(scene, bar).map((track) => trackBox(scene, track));
  const t = bar - chart.bars.nOps - chart.bars.nSends;
  if (!links || t < 0) return boxes;
  const { source, destination } = chart.columns.transfers;
  const link = links.pairs.findIndex(([from, to]) => from === source[t] && to === destination[t]);
  return [...boxes, linkBox(scene, link)];
}

function tracksOf(scene: Scene, bar: number): number[] {
  const { bars, lanes, columns } = scene.chart;
  if (bar < bars.nOps) return [columns.ops.device[bar]! * lanes.perDevice];
  if (bar < bars.nOps + bars.nSends) return [columns.sends.device[bar - bars.nOps]! * lanes.perDevice];
  const t = bar - bars.nOps - bars.nSends;
  return [columns.transfers.source[t]!, columns.transfers.destination[t]!].flatMap((d) => {
    const track = d * lanes.perDevice;
    for (let k = track + 1; k < track + lanes.perDevice; k++) {
      if (lanes.bar.subarray(lanes.ptr[k], lanes.ptr[k + 1]).includes(bar)) return [k];
    }
    return [];
  });
}

/** A frame around each group of neighbouring rows of an area; devices that were not in it may stand between. */
function drawArea(context: CanvasRenderingContext2D, scene: Scene, { from, to, devices }: Area): void {
  const { row, ratio, rows } = scene.layout;
  const [x0, x1] = [xOf(scene, from), xOf(scene, to)];
  context.fillStyle = context.strokeStyle = scene.paint.theme.accent;
  context.lineWidth = 1.5 * ratio;
  const inside = new Set(devices.map((d) => rows.at[d]!));
  for (const first of inside) {
    if (first < 0 || inside.has(first - 1)) continue;
    let last = first;
    while (inside.has(last + 1)) last++;
    const y = topOf(scene, first);
    const box = [x0, y, x1 - x0, topOf(scene, last) + row - y] as const;
    context.globalAlpha = 0.2;
    context.fillRect(...box);
    context.globalAlpha = 1;
    context.strokeRect(...box);
  }
}
