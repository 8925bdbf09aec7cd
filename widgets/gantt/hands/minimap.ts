/** The whole schedule in a strip above the axis, with a frame around what is in view: drag it, or one of its edges. */
import { h, listen, set } from "../../shared/dom.ts";
import { clamp, type Span } from "../../shared/scale.ts";
import { inside } from "../../shared/zoom.ts";
import { paintShare, paintTrack, shareFor } from "../paint/level.ts";
import { raster } from "../paint/raster.ts";
import { isWhole, whole } from "../scene/camera.ts";
import { colourOf, type Scene } from "../scene/scene.ts";
import type { Board } from "./board.ts";

const HEIGHT = 24; // CSS pixels
const TALL = HEIGHT + 4; // with the gap below
const ROOM = 330; // of a chart that has room for it
const LEAST_LANE = 1; // and of a device in it; of more devices, the share that is busy is drawn
const EDGE = 6; // within which an edge is taken

export interface Minimap {
  readonly element: HTMLElement;
  /** Shows it in a chart that fills what it is given, where lanes do not miss the room. */
  fit(fills: boolean): void;
  /** Draws what has changed. */
  draw(scene: Scene, board: Board): void;
}

export function minimap(board: () => Board): Minimap {
  const name = h("span.name", {}, "whole run");
  const canvas = h("canvas");
  const frame = h("div.view");
  const plot = h("div.plot", {}, canvas, frame);
  const title = "The whole run; the frame is what the chart shows: drag it or its edges, click to go there";
  const element = h("div.minimap", { hidden: true, "aria-hidden": "true", title }, name, plot); // keys pan and zoom the chart
  let drawn: readonly unknown[] = [];
  dragging(plot, board);
  return {
    element,
    fit(fills) {
      const { surface } = board();
      const room = surface.room + (element.hidden ? 0 : TALL);
      const shown = fills && room >= ROOM && board().chart !== null;
      if (shown !== element.hidden) return;
      element.hidden = !shown;
      surface.measure();
    },
    draw(scene, { extent }) {
      if (element.hidden) return;
      const { ratio, gutter, width } = scene.layout;
      name.style.width = `${gutter / ratio}px`;
      const wide = (width - gutter) / ratio;
      const per = wide / whole(extent).to;
      const from = clamp(scene.span.from * per, 0, wide);
      frame.style.left = `${from}px`;
      frame.style.width = `${Math.max(clamp(scene.span.to * per, 0, wide) - from, 2)}px`;
      set(frame, { "data-whole": isWhole(scene.span, extent) });
      const now = [scene.chart, scene.paint, scene.colours, scene.match, scene.layout.rows, extent, wide, ratio];
      if (now.every((value, i) => value === drawn[i])) return;
      drawn = now;
      paintAll(canvas, scene, whole(extent));
    },
  };
}

/** Paints the ops of all rows. */
function paintAll(canvas: HTMLCanvasElement, scene: Scene, span: Span): void {
  const { layout, paint, chart } = scene;
  const [width, height] = [layout.width - layout.gutter, Math.round(HEIGHT * layout.ratio)];
  if (width <= 0) return;
  [canvas.width, canvas.height] = [width, height];
  canvas.style.width = `${width / layout.ratio}px`;
  const r = raster(width, height, 0, 0);
  r.pixels.fill(paint.lane);
  const view = { from: span.from, perSecond: width / (span.to - span.from) };
  const share = shareFor(width, paint.bars.length);
  const style = { colours: paint.bars, colourOf: (bar: number) => colourOf(scene, bar), labelFrom: Infinity, share };
  const { lanes, bars } = chart;
  const tracksOf = (devices: readonly number[]) => devices.map((d) => d * lanes.perDevice);
  const lane = Math.floor(height / Math.max(layout.rows.of.length, 1));
  const high = lane > 2 * layout.ratio ? lane - 1 : lane; // lanes apart, where there is room for that
  if (lane < LEAST_LANE * layout.ratio) {
    const all = tracksOf(Array.from({ length: lanes.nDevices }, (_, d) => d));
    paintShare(r, lanes, bars, all, view, 0, height, paint.host, share);
  } else
    layout.rows.of.forEach((which, i) => {
      const host = which < 0 ? tracksOf(layout.rows.hosts[-1 - which]!.devices) : null;
      if (host) paintShare(r, lanes, bars, host, view, i * lane, high, paint.host, share);
      else paintTrack(r, lanes, bars, which * lanes.perDevice, view, i * lane, high, style, []);
    });
  const image = new ImageData(new Uint8ClampedArray(r.pixels.buffer as ArrayBuffer), width, height);
  canvas.getContext("2d")!.putImageData(image, 0, 0);
}

/** Where the frame goes when the pointer is moved by `by` seconds, held at its left edge, its right one, or between. */
export function framed(span: Span, by: number, held: "from" | "to" | "all"): Span {
  const from = held === "to" ? span.from : span.from + by;
  const to = held === "from" ? span.to : span.to + by;
  return from <= to ? { from, to } : { from: to, to: from };
}

function dragging(plot: HTMLElement, board: () => Board): void {
  let drag: { x: number; span: Span; held: "from" | "to" | "all" } | null = null;
  const perPixel = () => whole(board().extent).to / plot.clientWidth;
  const at = (event: PointerEvent) => inside(event, plot)[0];
  listen(plot, "pointerdown", (event) => {
    if (event.button !== 0) return;
    const x = at(event);
    let span = board().seen;
    const [left, right] = [span.from / perPixel(), span.to / perPixel()];
    const held = Math.abs(x - left) < EDGE ? "from" : Math.abs(x - right) < EDGE ? "to" : "all";
    if (held === "all" && (x < left || x > right)) {
      const half = (span.to - span.from) / 2;
      span = { from: x * perPixel() - half, to: x * perPixel() + half };
      board().setSpan(span);
    }
    drag = { x, span: held === "all" ? board().seen : span, held };
    plot.setPointerCapture(event.pointerId);
  });
  listen(plot, "pointermove", (event) => {
    if (drag) board().setSpan(framed(drag.span, (at(event) - drag.x) * perPixel(), drag.held));
  });
  for (const end of ["pointerup", "pointercancel"] as const) listen(plot, end, () => (drag = null));
}
