/** Paints a scene: the rows as pixels, then text, axis and arrows on top. */
import { percent, secondsAxis } from "../shared/format.js";
import { ticks } from "../shared/scale.js";
import { CRITICAL, IDLE_REASONS } from "./decode.js";
import { paintTrack, paintTransfers, shareFor, type Label } from "./level.js";
import { TRANSFER } from "./paint.js";
import { fill, hatch, raster, type Raster } from "./raster.js";
import { colourOf, deviceOf, nameOf, windowOf, xOf, yOf, type Scene } from "./scene.js";

const LABEL_FROM = 34; // CSS pixels that a bar needs to carry text
const MAX_ARROWS = 60;

/** Returns what draws on `canvas`, and says whether any columns had to be merged. It keeps the pixels between frames. */
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
    drawArrows(context, scene);
    drawGutter(context, scene);
    drawAxis(context, scene);
    return merged;
  };
}

function paintRows(r: Raster, scene: Scene, share: Float32Array, labels: Label[]): boolean {
  const { chart, layout, paint } = scene;
  r.pixels.fill(paint.background);
  const first = Math.max(0, Math.floor(scene.scroll / layout.row));
  const last = Math.min(chart.lanes.nDevices, Math.ceil((scene.scroll + layout.height - layout.axis) / layout.row));
  for (let d = first; d < last; d++) paintLane(r, scene, d);
  paintGrid(r, scene);
  paintIdle(r, scene);
  const view = windowOf(scene);
  const { lanes, bars } = chart;
  const style = { colours: paint.bars, colourOf: (bar: number) => colourOf(scene, bar), labelFrom: LABEL_FROM * layout.ratio, share };
  const colour = paint.bars[TRANSFER]!;
  let merged = false;
  for (let d = first; d < last; d++) {
    const y = yOf(scene, d);
    const k = d * lanes.perDevice;
    merged = paintTrack(r, lanes, bars, k, view, y, layout.ops - underline(scene), style, labels) || merged;
    const split = k + 1 + lanes.incoming;
    const middle = y + layout.ops + lanes.incoming * layout.transfer;
    paintTransfers(r, lanes, bars, k + 1, split, view, y + layout.ops, layout.transfer, colour, share);
    paintTransfers(r, lanes, bars, split, k + lanes.perDevice, view, middle, layout.transfer, colour, share);
  }
  paintCritical(r, scene);
  return merged;
}

function paintLane(r: Raster, scene: Scene, device: number): void {
  const { layout, paint } = scene;
  const y = yOf(scene, device);
  fill(r, layout.gutter, y, layout.width, y + layout.ops, paint.lane);
  fill(r, layout.gutter, y + layout.ops, layout.width, y + layout.row - Math.round(3 * layout.ratio), paint.thinLane);
}

function paintGrid(r: Raster, scene: Scene): void {
  for (const t of axisTicks(scene).values) {
    const x = Math.round(xOf(scene, t));
    fill(r, x, scene.layout.axis, x + 1, scene.layout.height, scene.paint.grid);
  }
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
    if (reason === undefined || reason === "end" || x1 - x0 < 2 || x1 < r.left || x0 > r.width || y > height || y + ops < r.top) continue;
    const look = scene.paint.idle[reason];
    fill(r, x0, y, x1, y + ops, look.tint);
    hatch(r, x0, y, x1, y + ops, look.mark, look.pattern, Math.round(8 * ratio));
  }
}

/** Height of the critical path's underline, part of the ops track. */
function underline(scene: Scene): number {
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
      const y = yOf(scene, device) + scene.layout.ops;
      hatch(r, x0, y - thick, x1, y, scene.paint.critical, kind[i] === CRITICAL.wait ? "diagonal" : "solid", 5 * thick);
    };
    const t = row[i]!;
    if (kind[i] === CRITICAL.send) under(columns.transfers.source[t]!);
    else if (kind[i] !== CRITICAL.transfer) under(columns.ops.device[t]!);
    else {
      for (const d of [columns.transfers.source[t]!, columns.transfers.destination[t]!]) {
        const y = yOf(scene, d) + scene.layout.row - Math.round(3 * scene.layout.ratio);
        fill(r, x0, y, x1, y + Math.max(1, thick - 1), scene.paint.critical);
      }
    }
  }
}

function drawBarLabels(context: CanvasRenderingContext2D, scene: Scene, labels: Label[]): void {
  const { ratio } = scene.layout;
  const size = Math.min(11 * ratio, scene.layout.ops - underline(scene));
  if (size < 8 * ratio) return;
  context.font = `${size}px ${FONT}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  const perChar = context.measureText("abcdefghij/MW_01").width / 16;
  for (const { bar, x, y, width, height } of labels) {
    if (bar >= scene.chart.bars.nOps) continue;
    const from = Math.max(x, scene.layout.gutter);
    const text = shorten(nameOf(scene.labels, bar), Math.floor((x + width - from - 8 * ratio) / perChar));
    context.fillStyle = scene.paint.inks[colourOf(scene, bar)]!;
    if (text && y >= scene.layout.axis - height / 2) context.fillText(text, from + 4 * ratio, y + height / 2 + 0.5);
  }
}

/** `name` in at most `room` characters: whole, its last component, or the beginning of that; "" below three. */
export function shorten(name: string, room: number): string {
  if (name.length <= room) return name;
  const last = name.slice(name.lastIndexOf("/") + 1);
  if (last.length <= room) return last;
  return room >= 3 ? `${last.slice(0, room - 1)}…` : "";
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
    const [y0, y1] = [yOf(scene, transfers.source[row[i]!]!), yOf(scene, transfers.destination[row[i]!]!)];
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

const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";

/** Device names, and how busy each device is over the whole schedule where the row has room for a second line. */
function drawGutter(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, paint, chart, labels, scroll } = scene;
  const { ratio, gutter } = layout;
  const two = layout.row >= 30 * ratio;
  const size = Math.min(12 * ratio, layout.row - 2);
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(0, layout.axis, gutter, layout.height);
  context.clip();
  for (let d = Math.floor(scroll / layout.row); d < chart.lanes.nDevices; d++) {
    const y = yOf(scene, d);
    if (y > layout.height) break;
    const middle = y + layout.ops / 2;
    context.font = `600 ${size}px ${FONT}`;
    context.fillStyle = paint.theme.ink;
    context.textAlign = "left";
    context.fillText(deviceOf(labels, d), 16 * ratio, two ? y + 8 * ratio : middle, gutter - (two ? 22 : 52) * ratio);
    context.font = `${Math.min(10.5 * ratio, size)}px ${FONT}`;
    context.fillStyle = paint.theme.faint;
    const busy = percent(busyFraction(scene, d));
    drawDirections(context, scene, y + layout.ops);
    if (two) context.fillText(`${busy} busy`, 16 * ratio, y + 21 * ratio);
    else {
      context.textAlign = "right";
      context.fillText(busy, gutter - 6 * ratio, middle);
    }
  }
  context.restore();
}

/** "in" and "out" beside the transfer lanes, where they are high enough to carry a word. */
function drawDirections(context: CanvasRenderingContext2D, { layout, chart }: Scene, y: number): void {
  const size = 8.5 * layout.ratio;
  const name = (text: string, tracks: number, top: number) => {
    if (tracks * layout.transfer >= size) context.fillText(text, layout.gutter - 5 * layout.ratio, top + (tracks * layout.transfer) / 2 + 0.5);
  };
  context.save();
  context.font = `${size}px ${FONT}`;
  context.textAlign = "right";
  name("in", chart.lanes.incoming, y);
  name("out", chart.lanes.outgoing, y + chart.lanes.incoming * layout.transfer);
  context.restore();
}

const busyOf = new WeakMap<object, Float64Array>();

function busyFraction(scene: Scene, device: number): number {
  const { columns } = scene.chart;
  let busy = busyOf.get(columns);
  if (!busy) {
    busy = new Float64Array(columns.nDevices);
    columns.ops.device.forEach((d, i) => (busy![d]! += columns.ops.duration[i]!));
    columns.sends.device.forEach((d, i) => (busy![d]! += columns.sends.duration[i]!));
    busyOf.set(columns, busy);
  }
  return columns.makespan ? busy[device]! / columns.makespan : 0;
}

function axisTicks(scene: Scene) {
  const { layout, span } = scene;
  return ticks(span, (layout.width - layout.gutter) / (90 * layout.ratio));
}

function drawAxis(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, paint, span, chart } = scene;
  const { ratio } = layout;
  const { step, values } = axisTicks(scene);
  const text = secondsAxis(Math.max(span.to, step), step);
  context.fillStyle = paint.theme.background;
  context.fillRect(0, 0, layout.width, layout.axis);
  context.font = `${10.5 * ratio}px ${FONT}`;
  context.textBaseline = "middle";
  context.fillStyle = paint.theme.faint;
  for (const t of values) {
    const x = xOf(scene, t);
    const label = text(t);
    context.textAlign = t === 0 || x < layout.gutter + 20 * ratio ? "left" : x > layout.width - 24 * ratio ? "right" : "center";
    context.fillText(label, x, layout.axis / 2 + 1);
    context.fillRect(Math.round(x), layout.axis - 4 * ratio, 1, 4 * ratio);
  }
  context.fillRect(layout.gutter, layout.axis - 1, layout.width - layout.gutter, 1);
  const end = chart.columns.makespan;
  if (span.to - span.from < end * 0.999) {
    const plot = layout.width - layout.gutter; // which part of the schedule is in view
    context.fillStyle = paint.theme.line;
    context.fillRect(layout.gutter, 0, plot, 3 * ratio);
    context.fillStyle = paint.theme.accent;
    context.fillRect(layout.gutter + (span.from / end) * plot, 0, Math.max(((span.to - span.from) / end) * plot, 4), 3 * ratio);
  }
}
