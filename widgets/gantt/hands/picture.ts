/** The chart with the meaning of its colours as a picture to keep: as it is shown, or for a page of paper. */
import { h } from "../../shared/dom.ts";
import { download } from "../../shared/download.ts";
import { painter } from "../paint/draw.ts";
import { shareFor } from "../paint/level.ts";
import { drawOverlay, type Moving } from "../paint/overlay.ts";
import { raster } from "../paint/raster.ts";
import { paintRows } from "../paint/rows.ts";
import { escaped, hex, SvgContext } from "../paint/vector.ts";
import { FONT, IDLE_TEXT, isAwaited, MEANING, type Pattern, TRANSFER } from "../scene/colours.ts";
import type { Scene } from "../scene/scene.ts";
import { CRITICAL, IDLE_REASONS } from "../wire/decode.ts";
import type { Board } from "./board.ts";
import { withDensity } from "./density.ts";

/** A message from Python: save the chart as `picture`, in a file of this name, `width` mm wide (0: as it is shown). */
export interface Wanted {
  picture: "png" | "svg" | "pdf";
  name: string;
  title: string;
  width: number;
}

const HEAD = 30; // CSS pixels above the chart
const LINE = 20; // CSS pixels of a line of the legend
const SWATCH = 11;
const DPI = 300; // of pictures for paper
const INCH = 25.4; // mm
const CSS = 96; // CSS pixels per inch

interface Entry {
  readonly colour: string;
  readonly text: string;
  /** Drawn in the swatch; solid where none is given. */
  readonly pattern?: Look;
}
type Look = Pattern | "line" | "waits" | "merged";
interface Placed extends Entry {
  readonly x: number;
  readonly y: number;
}
/** Everything in device pixels. */
interface Sheet {
  readonly width: number;
  readonly height: number;
  readonly ratio: number;
  readonly head: number;
  readonly title: string;
  readonly entries: readonly Placed[];
  /** Width on paper; 0: none. */
  readonly mm: number;
}

export type Save = typeof savePicture;

/** Saves what `board` shows. */
export async function savePicture(board: Board, moving: Moving, wanted: Wanted): Promise<void> {
  const { picture, name, title, width } = wanted;
  const scene = width ? board.onPaper((width / INCH) * CSS, DPI / CSS) : board.scene();
  if (!scene) return;
  const sheet = sheetOf(scene, title, entriesOf(board, scene), width);
  if (picture === "png") {
    const png = await pixels(scene, moving, sheet);
    return download(name, width ? new Blob([withDensity(await png.arrayBuffer(), DPI)], { type: png.type }) : png);
  }
  const svg = vectors(scene, moving, sheet);
  if (picture === "svg") download(name, new Blob([svg], { type: "image/svg+xml" }));
  else print(pageOf(svg, name, sheet));
}

/** A page of the picture's size in mm, for the browser's print dialog, which saves it as PDF. */
function pageOf(svg: string, name: string, { width, height, mm }: Sheet): string {
  const size = `${mm}mm ${Math.ceil((mm * height) / width)}mm`;
  const css = `@page{size:${size};margin:0}body{margin:0}svg{display:block}`;
  return `<!doctype html><title>${escaped(name)}</title><style>${css}</style>${svg}`;
}

function print(page: string): void {
  const frame = h("iframe.pl-printed", { "aria-hidden": "true", tabindex: -1 });
  frame.style.cssText = "position:fixed;left:-9999px;border:0";
  frame.srcdoc = page;
  frame.onload = () => {
    frame.contentWindow!.onafterprint = () => frame.remove();
    frame.contentWindow!.print();
  };
  document.querySelector("iframe.pl-printed")?.remove();
  document.body.append(frame);
}

/** The meaning of what the picture shows: its pixels tell which colours these are. */
function entriesOf({ colours }: Board, scene: Scene): Entry[] {
  const { paint, layout, chart, span, memory } = scene;
  const rows = raster(layout.width, layout.height, layout.gutter, layout.axis);
  const merged = paintRows(rows, scene, shareFor(layout.width, paint.bars.length), []);
  const pixels = new Set(rows.pixels);
  const entries: Entry[] = [];
  const add = (shown: unknown, colour: string, text: string, pattern?: Look) => {
    if (shown) entries.push(pattern ? { colour, text, pattern } : { colour, text });
  };
  const { kind, start, duration } = chart.columns.critical;
  const waits = (_: number, i: number) =>
    kind[i] === CRITICAL.wait && start[i]! < span.to && start[i]! + duration[i]! > span.from;
  colours.names.forEach((text, i) => add(text && pixels.has(paint.bars[i]!), paint.barCss[i]!, text));
  add(pixels.has(paint.bars[TRANSFER]!), paint.barCss[TRANSFER]!, MEANING.transfer);
  add(pixels.has(paint.critical) && kind.length, paint.theme.critical, MEANING.critical, "line");
  add(kind.some(waits), paint.theme.critical, MEANING.waits, "waits");
  for (const reason of IDLE_REASONS) {
    if (!isAwaited(reason)) continue;
    const { mark, pattern } = paint.idle[reason];
    add(pixels.has(mark), hex(mark), `idle: ${IDLE_TEXT[reason]}`, pattern);
  }
  add(pixels.has(paint.kept[0]!), hex(paint.kept[0]!), MEANING.kept);
  const used = pixels.has(paint.line) ? MEANING.memory : MEANING.used;
  add(
    paint.memory.some((colour) => pixels.has(colour)),
    hex(paint.memory[0]),
    used,
  );
  add(memory?.short.start.length, paint.theme.critical, MEANING.short, "diagonal");
  add(merged, paint.theme.faint, MEANING.merged, "merged");
  return entries;
}

/** Where title, chart and legend are. */
function sheetOf(scene: Scene, title: string, entries: readonly Entry[], mm: number): Sheet {
  const { width, height, ratio } = scene.layout;
  const ruler = document.createElement("canvas").getContext("2d")!;
  ruler.font = legendFont(ratio);
  const head = mm ? 0 : Math.round(HEAD * ratio); // a paper has a caption
  const line = Math.round(LINE * ratio);
  let [x, y] = [8 * ratio, head + height + line / 2 + 4 * ratio];
  const placed = entries.map((entry) => {
    const wide = (SWATCH + 20) * ratio + ruler.measureText(entry.text).width;
    if (x + wide > width && x > 8 * ratio) [x, y] = [8 * ratio, y + line];
    const at = { ...entry, x, y };
    x += wide;
    return at;
  });
  return { width, height: Math.ceil(y + line / 2 + 4 * ratio), ratio, head, title, entries: placed, mm };
}

const legendFont = (ratio: number) => `${12 * ratio}px ${FONT}`;

/** Ground, title and legend, on either kind of canvas. */
function frame(context: CanvasRenderingContext2D, scene: Scene, sheet: Sheet): void {
  const { theme } = scene.paint;
  const { ratio } = sheet;
  context.fillStyle = theme.bg;
  context.fillRect(0, 0, sheet.width, sheet.height);
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = theme.ink;
  context.font = `600 ${14 * ratio}px ${FONT}`;
  if (sheet.head) context.fillText(sheet.title, 8 * ratio, sheet.head / 2, sheet.width - 16 * ratio);
  context.font = legendFont(ratio);
  for (const entry of sheet.entries) {
    swatch(context, entry, SWATCH * ratio, ratio);
    context.fillStyle = theme.ink;
    context.fillText(entry.text, entry.x + (SWATCH + 5) * ratio, entry.y);
  }
}

/** Colour and pattern of an entry, as the chart has them. */
function swatch(
  context: CanvasRenderingContext2D,
  { colour, pattern, x, y }: Placed,
  size: number,
  ratio: number,
): void {
  const top = y - size / 2;
  context.fillStyle = context.strokeStyle = colour;
  context.lineWidth = ratio;
  if (pattern === undefined || pattern === "solid") return context.fillRect(x, top, size, size);
  if (pattern === "line") return context.fillRect(x, y + size / 2 - 2 * ratio, size, 2 * ratio);
  if (pattern === "merged") {
    context.fillRect(x, y, size / 2, size / 2);
    return context.fillRect(x + size / 2, top, size / 2, size);
  }
  context.beginPath();
  if (pattern === "waits") {
    for (let at = 0; at < size; at += size / 3) line(context, x + at, y + size / 2, x + at + size / 4, y + size / 4);
    return context.stroke();
  }
  context.strokeRect(x, top, size, size);
  for (let at = size / 4; at < size; at += size / 4) {
    if (pattern === "dots")
      for (let down = size / 4; down < size; down += size / 4) dot(context, x + at, top + down, ratio);
    if (pattern === "upright") line(context, x + at, top, x + at, top + size);
    if (pattern === "diagonal" || pattern === "cross") {
      line(context, x, top + at, x + at, top);
      line(context, x + at, top + size, x + size, top + at);
    }
    if (pattern === "cross") {
      line(context, x, top + size - at, x + at, top + size);
      line(context, x + at, top, x + size, top + size - at);
    }
  }
  context.stroke();
}

const dot = (context: CanvasRenderingContext2D, x: number, y: number, ratio: number) =>
  context.fillRect(x - ratio / 2, y - ratio / 2, ratio, ratio);

function line(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
}

function pixels(scene: Scene, moving: Moving, sheet: Sheet): Promise<Blob> {
  const [canvas, chart, over] = [0, 1, 2].map(() => document.createElement("canvas")) as [
    HTMLCanvasElement,
    HTMLCanvasElement,
    HTMLCanvasElement,
  ];
  [canvas.width, canvas.height] = [sheet.width, sheet.height];
  const context = canvas.getContext("2d")!;
  frame(context, scene, sheet);
  painter(chart)(scene);
  drawOverlay(over, scene, moving);
  context.drawImage(chart, 0, sheet.head);
  context.drawImage(over, 0, sheet.head);
  return new Promise((done, failed) =>
    canvas.toBlob(
      (blob) => (blob ? done(blob) : failed(new Error("the picture is too large for this browser"))),
      "image/png",
    ),
  );
}

function vectors(scene: Scene, moving: Moving, sheet: Sheet): string {
  const { width, height, ratio, head, title, mm } = sheet;
  const size = mm
    ? `width="${mm}mm" height="${Math.round((1e3 * mm * height) / width) / 1e3}mm"`
    : `width="${width / ratio}" height="${height / ratio}"`;
  const [around, chart] = [new SvgContext(), new SvgContext()];
  frame(around as unknown as CanvasRenderingContext2D, scene, sheet);
  const canvas = { getContext: () => chart, width: 0, height: 0 } as unknown as HTMLCanvasElement;
  painter(canvas)(scene);
  drawOverlay(canvas, scene, moving);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escaped(title)}" ${size} viewBox="0 0 ${width} ${height}">`,
    ...around.markup,
    `<g transform="translate(0 ${head})">`,
    ...chart.markup,
    "</g></svg>\n",
  ].join("\n");
}
