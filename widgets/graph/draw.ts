/** Draws the picture: frames, edges and boxes below; what is selected, found or running above. Pure of state. */
import type { Camera, Size } from "./camera.ts";
import type { Part } from "./colours.ts";
import { type Curve, curveOf } from "./edges.ts";
import { BOLD, FONT, fitted, type Paint } from "./paint.ts";
import { isScope, type Picture } from "./picture.ts";
import type { Box } from "./traits.ts";

type Context = CanvasRenderingContext2D;

export interface Drawing {
  readonly picture: Picture;
  readonly camera: Camera;
  readonly size: Size;
  readonly paint: Paint;
  /** Colours of each box. */
  readonly parts: readonly (readonly Part[])[];
  /** The edges that are drawn, and the line width of each edge. */
  readonly drawn: readonly number[];
  readonly width: readonly number[];
  /** Colour of the pin on each box, "" for none. */
  readonly pins: readonly string[];
}

const READABLE = 10.5; // height in CSS pixels from which a box has its name in it;
const STRIPED = 0.7; // zoom from which its colours are a stripe below the name, not behind it;
const NARROW = 26;
const WIDE = 72;
const LONG = 110; // and the widths from which it has its name, a mark before a short name, and before any
const LETTER = 6.2; // about
const BATCH = 32; // curves in one stroke, see frontend budgets
export const TITLE = 18; // height of a frame's title, as placelab/app/widgets/graph_scene.py leaves room for
export const MARK = 16; // width of the mark that opens or closes

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export const placeOf = ({ x, y, zoom }: Camera, box: Box): Place => ({
  x: (box.x - x) * zoom,
  y: (box.y - y) * zoom,
  w: box.w * zoom,
  h: box.h * zoom,
});

/** Whether a box on the page has room for its name, and for its mark, too. */
const isReadable = (place: Place): boolean => place.h >= READABLE && place.w >= NARROW;
export const hasMark = (place: Place, label: string): boolean =>
  isReadable(place) && (place.w >= LONG || (place.w >= WIDE && place.w - MARK - 5 >= LETTER * label.length));
const hasTitle = (camera: Camera) => TITLE * camera.zoom >= 12;

const visible = ({ x, y, w, h }: Place, size: Size) => x < size.width && y < size.height && x + w > 0 && y + h > 0;

export function drawBase(g: Context, drawing: Drawing): void {
  const { picture, camera, size, paint } = drawing;
  g.fillStyle = paint.theme.bg;
  g.fillRect(0, 0, size.width, size.height);
  g.textBaseline = "middle";
  const text = writer(g);
  picture.boxes.forEach((box) => box.open && drawFrame(g, placeOf(camera, box), box, drawing, text));
  drawEdges(g, drawing);
  picture.boxes.forEach((box, i) => {
    const place = placeOf(camera, box);
    if (!box.open && visible(place, size)) drawBox(g, place, i, drawing, text);
  });
  if (!hasTitle(camera))
    picture.boxes.forEach((box) => box.open && drawName(g, placeOf(camera, box), box, drawing, text));
}

function drawFrame(g: Context, place: Place, box: Box, { camera, size, paint }: Drawing, text: Writer): void {
  if (!visible(place, size)) return;
  g.beginPath();
  g.roundRect(place.x, place.y, place.w, place.h, 6);
  g.fillStyle = paint.frame;
  g.fill();
  g.strokeStyle = paint.theme.line;
  g.lineWidth = 1;
  g.stroke();
  if (!hasTitle(camera)) return;
  const middle = place.y + (TITLE * camera.zoom) / 2 + 1;
  const left = Math.max(place.x, 0);
  mark(g, left + 5, middle, false, paint.theme.ink);
  g.fillStyle = paint.theme.ink;
  text(box.label, left + MARK + 3, middle, place.x + place.w - left - MARK - 8, BOLD);
}

/** The name of a small frame, above its content and, where there is too little room, over its border. */
function drawName(g: Context, place: Place, box: Box, { camera, size, paint }: Drawing, text: Writer): void {
  if (!visible(place, size) || place.w < 30 || place.h < 16) return;
  g.lineWidth = 4;
  g.lineJoin = "round";
  g.strokeStyle = paint.frame;
  g.fillStyle = paint.theme.ink;
  text(box.label, place.x + 4, place.y + Math.max(TITLE * camera.zoom - 6, 0), place.w - 8, BOLD, true);
}

function drawBox(g: Context, place: Place, index: number, drawing: Drawing, text: Writer): void {
  const { picture, paint, parts, pins } = drawing;
  const striped = drawing.camera.zoom >= STRIPED;
  const box = picture.boxes[index]!;
  const scope = isScope(picture, box);
  const mine = parts[index]!;
  const { x, y, w, h } = place;
  const readable = isReadable(place);
  const radius = Math.min(scope ? 3 : h / 2.6, 9, w / 3);
  const outline = () => {
    g.beginPath();
    g.roundRect(x, y, w, h, radius);
  };
  if (scope && h > 7) {
    g.beginPath(); // a second card behind: there is more in it
    g.roundRect(x + 2.5, y + 2.5, w, h, radius);
    g.fillStyle = paint.plate;
    g.fill();
    g.lineWidth = 1;
    g.strokeStyle = paint.border;
    g.stroke();
  }
  const main = mine.reduce<Part | undefined>(
    (best, part) => (best && best.share >= part.share ? best : part),
    undefined,
  );
  outline();
  g.fillStyle = main ? paint.tint(main.colour) : paint.plate;
  g.fill();
  if (mine.length) {
    g.save();
    outline();
    g.clip();
    const tall = readable && striped ? Math.min(Math.max(h * 0.24, 4), 9) : h;
    const behind = readable && !striped;
    stripes(g, mine, x, y + h - tall, w, tall, behind ? (colour) => paint.tint(colour, 2) : undefined);
    g.restore();
  }
  outline();
  g.lineWidth = 1;
  g.strokeStyle = paint.border;
  if (w > 3) g.stroke();
  const middle = y + (mine.length && striped ? h * 0.42 : h / 2) + 0.5;
  if (readable) {
    const marked = scope && hasMark(place, box.label);
    if (marked) mark(g, x + 5, middle, true, paint.theme.ink);
    g.fillStyle = paint.theme.ink;
    const from = marked ? MARK + 1 : Math.min(6, w / 12);
    text(box.label, x + from, middle, w - from - Math.min(4, w / 15), FONT);
  }
  if (pins[index]) pin(g, x + w - 3, y + 3, pins[index]!, paint);
}

function stripes(
  g: Context,
  parts: readonly Part[],
  x: number,
  y: number,
  w: number,
  h: number,
  tint = (colour: string) => colour,
): void {
  const whole = parts.reduce((sum, part) => sum + part.share, 0);
  let at = x;
  for (const { colour, share } of parts) {
    const wide = (w * share) / whole;
    g.fillStyle = tint(colour);
    g.fillRect(at, y, wide + 0.5, h);
    at += wide;
  }
}

/** A + (opens) or − (closes) of 9 pixels. */
function mark(g: Context, x: number, middle: number, plus: boolean, colour: string): void {
  const y = Math.round(middle) - 4.5;
  const left = Math.round(x) + 0.5;
  g.strokeStyle = colour;
  g.lineWidth = 1;
  g.beginPath();
  g.rect(left, y, 9, 9);
  g.moveTo(left + 2, y + 4.5);
  g.lineTo(left + 7, y + 4.5);
  if (plus) {
    g.moveTo(left + 4.5, y + 2);
    g.lineTo(left + 4.5, y + 7);
  }
  g.stroke();
}

/** A drawing pin whose head has the colour of the device. */
function pin(g: Context, x: number, y: number, colour: string, { theme }: Paint): void {
  g.strokeStyle = theme.ink;
  g.lineWidth = 1.5;
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x - 3, y + 8);
  g.stroke();
  g.beginPath();
  g.arc(x, y, 4, 0, 2 * Math.PI);
  g.fillStyle = colour;
  g.fill();
  g.stroke();
}

function drawEdges(g: Context, { picture, camera, size, paint, drawn, width }: Drawing): void {
  g.globalAlpha = Math.min(Math.max(100 / drawn.length, 0.13), 0.6); // many of them are a density
  g.strokeStyle = paint.edge;
  const byWidth = new Map<number, number[]>();
  for (const i of drawn) {
    const key = (picture.edges[i]!.back ? -1 : 1) * Math.max(Math.round(width[i]! * 2) / 2, 0.5);
    const same = byWidth.get(key);
    if (same) same.push(i);
    else byWidth.set(key, [i]);
  }
  for (const [key, edges] of byWidth) {
    g.lineWidth = Math.abs(key) * Math.min(Math.max(camera.zoom, 0.45), 1.3);
    g.setLineDash(key < 0 ? [4, 3] : []);
    for (let i = 0; i < edges.length; i += BATCH) {
      g.beginPath();
      for (const e of edges.slice(i, i + BATCH)) {
        const edge = picture.edges[e]!;
        trace(g, curveOf(picture.boxes[edge.source]!, picture.boxes[edge.target]!), camera, size);
      }
      g.stroke();
    }
  }
  g.setLineDash([]);
  g.globalAlpha = 1;
}

function trace(g: Context, curve: Curve, { x, y, zoom }: Camera, size: Size): void {
  const [a, b, c, d, e, f, p, q] = curve.map((z, i) => (z - (i % 2 ? y : x)) * zoom) as unknown as Curve;
  const off = (u: number, v: number, far: number) => Math.max(u, v) < 0 || Math.min(u, v) > far;
  if (off(a, p, size.width) && off(b, q, size.height)) return;
  g.moveTo(a, b);
  g.bezierCurveTo(c, d, e, f, p, q);
}

export interface Marks {
  /** Box under the pointer and box in focus, -1 for none. */
  readonly hover: number;
  readonly focus: number;
  /** Number of ops of each box that run now. */
  readonly running: ReadonlyMap<number, number>;
  /** Boxes in which something was found. */
  readonly found: ReadonlySet<number>;
}

export function drawMarks(g: Context, drawing: Drawing, marks: Marks): void {
  const { picture, camera, size, paint } = drawing;
  g.clearRect(0, 0, size.width, size.height);
  for (const box of new Set([marks.focus, marks.hover])) if (box >= 0) highlightEdges(g, drawing, box);
  for (const box of marks.running.keys()) ring(g, placeOf(camera, picture.boxes[box]!), paint.theme.accent, 3, 0.28);
  for (const box of marks.found) ring(g, placeOf(camera, picture.boxes[box]!), "#E69F00", 3, 0.2);
  const at = (box: number) => placeOf(camera, picture.boxes[box]!);
  if (marks.hover >= 0) ring(g, at(marks.hover), paint.theme.ink, 1.5, 0);
  if (marks.focus >= 0) ring(g, at(marks.focus), paint.theme.accent, 2.5, 0);
}

function highlightEdges(g: Context, { picture, camera, size, paint, width }: Drawing, box: number): void {
  g.strokeStyle = g.fillStyle = paint.theme.accent;
  g.lineCap = "round";
  const lit = [...picture.leaving[box]!, ...picture.entering[box]!].slice(0, 200);
  for (const i of lit) {
    const edge = picture.edges[i]!;
    const curve = curveOf(picture.boxes[edge.source]!, picture.boxes[edge.target]!);
    g.lineWidth = Math.max(width[i]! * Math.min(camera.zoom, 1.3), 1.2);
    g.beginPath();
    trace(g, curve, camera, size);
    g.stroke();
    arrow(g, curve, camera);
  }
}

function arrow(g: Context, curve: Curve, { x, y, zoom }: Camera): void {
  const [, , , , cx, cy, ex, ey] = curve;
  const turn = Math.atan2(ey - cy, ex - cx);
  const [px, py] = [(ex - x) * zoom, (ey - y) * zoom];
  const side = (angle: number) => [px - 8 * Math.cos(turn + angle), py - 8 * Math.sin(turn + angle)] as const;
  g.beginPath();
  g.moveTo(px, py);
  g.lineTo(...side(0.45));
  g.lineTo(...side(-0.45));
  g.fill();
}

function ring(g: Context, { x, y, w, h }: Place, colour: string, width: number, fill: number): void {
  g.beginPath();
  g.roundRect(x - 1, y - 1, w + 2, h + 2, 4);
  if (fill) {
    g.globalAlpha = fill;
    g.fillStyle = colour;
    g.fill();
    g.globalAlpha = 1;
  }
  g.strokeStyle = colour;
  g.lineWidth = width;
  g.stroke();
}

type Writer = (text: string, x: number, y: number, width: number, font: string, halo?: boolean) => void;

/** Writes texts cut to a width; what was measured once is remembered. */
function writer(g: Context): Writer {
  return (text, x, y, width, font, halo) => {
    g.font = font;
    const key = `${font}\n${Math.floor(width)}\n${text}`;
    let short = cuts.get(key);
    if (short === undefined) {
      if (cuts.size > 4000) cuts.clear();
      short = fitted(text, width, (part) => g.measureText(part).width);
      cuts.set(key, short);
    }
    if (!short) return;
    if (halo) g.strokeText(short, x, y);
    g.fillText(short, x, y);
  };
}

const cuts = new Map<string, string>();
