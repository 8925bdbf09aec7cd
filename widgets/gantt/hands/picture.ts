/** The chart as it is shown, with a title and the meaning of its colours, as a picture to keep. */
import { download } from "../../shared/download.ts";
import { painter } from "../paint/draw.ts";
import { drawOverlay, type Moving } from "../paint/overlay.ts";
import { escaped, hex, SvgContext } from "../paint/vector.ts";
import { FONT, IDLE_TEXT, isAwaited, TRANSFER } from "../scene/colours.ts";
import type { Scene } from "../scene/scene.ts";
import { IDLE_REASONS } from "../wire/decode.ts";
import type { Board } from "./board.ts";

/** A message from Python: save the chart as `picture`, in a file of this name. */
export interface Wanted {
  picture: "png" | "svg";
  name: string;
  title: string;
}

const HEAD = 30; // CSS pixels above the chart
const LINE = 20; // CSS pixels of a line of the legend
const SWATCH = 11;

interface Entry {
  readonly colour: string;
  readonly text: string;
}
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
}

/** Saves what `board` shows. */
export async function savePicture(board: Board, moving: Moving, { picture, name, title }: Wanted): Promise<void> {
  const scene = board.scene();
  if (!scene) return;
  const sheet = sheetOf(scene, title, entriesOf(board));
  if (picture === "svg") download(name, new Blob([vectors(scene, moving, sheet)], { type: "image/svg+xml" }));
  else download(name, await pixels(scene, moving, sheet));
}

function entriesOf({ colours, look, chart }: Board): Entry[] {
  const { columns } = chart!;
  const present = new Set(colours.index);
  const kinds = colours.names.flatMap((text, i) => (text && present.has(i) ? [{ colour: look.barCss[i]!, text }] : []));
  const moved = columns.nTransfers ? [{ colour: look.barCss[TRANSFER]!, text: "transfer" }] : [];
  const reasons = new Set(columns.idle.reason);
  const idle = IDLE_REASONS.flatMap((reason, i) =>
    isAwaited(reason) && reasons.has(i)
      ? [{ colour: hex(look.idle[reason].mark), text: `idle: ${IDLE_TEXT[reason]}` }]
      : [],
  );
  return [...kinds, ...moved, { colour: look.theme.critical, text: "critical path" }, ...idle];
}

/** Where title, chart and legend are. */
function sheetOf(scene: Scene, title: string, entries: readonly Entry[]): Sheet {
  const { width, height, ratio } = scene.layout;
  const ruler = document.createElement("canvas").getContext("2d")!;
  ruler.font = legendFont(ratio);
  const head = Math.round(HEAD * ratio);
  const line = Math.round(LINE * ratio);
  let [x, y] = [8 * ratio, head + height + line / 2 + 4 * ratio];
  const placed = entries.map((entry) => {
    const wide = (SWATCH + 20) * ratio + ruler.measureText(entry.text).width;
    if (x + wide > width && x > 8 * ratio) [x, y] = [8 * ratio, y + line];
    const at = { ...entry, x, y };
    x += wide;
    return at;
  });
  return { width, height: Math.ceil(y + line / 2 + 4 * ratio), ratio, head, title, entries: placed };
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
  context.fillText(sheet.title, 8 * ratio, sheet.head / 2, sheet.width - 16 * ratio);
  context.font = legendFont(ratio);
  for (const { colour, text, x, y } of sheet.entries) {
    context.fillStyle = colour;
    context.fillRect(x, y - (SWATCH * ratio) / 2, SWATCH * ratio, SWATCH * ratio);
    context.fillStyle = theme.ink;
    context.fillText(text, x + (SWATCH + 5) * ratio, y);
  }
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
  const { width, height, ratio, head, title } = sheet;
  const [around, chart] = [new SvgContext(), new SvgContext()];
  frame(around as unknown as CanvasRenderingContext2D, scene, sheet);
  const canvas = { getContext: () => chart, width: 0, height: 0 } as unknown as HTMLCanvasElement;
  painter(canvas)(scene);
  drawOverlay(canvas, scene, moving);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escaped(title)}" width="${width / ratio}" height="${height / ratio}" viewBox="0 0 ${width} ${height}">`,
    ...around.markup,
    `<g transform="translate(0 ${head})">`,
    ...chart.markup,
    "</g></svg>\n",
  ].join("\n");
}
