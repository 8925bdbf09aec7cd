/** The space for elements that float over the drawing: inside the panel, below its buttons, and in its visible part. */
import { clamp } from "../shared/scale.ts";
import { boxOf, zoomOf } from "../shared/zoom.ts";
import type { Rect } from "./geometry.ts";

const EDGE = 4; // pixels kept free

/** The part of `body`, inside `root`, that no scrolled or clipping element around it hides; in coordinates of `root`. */
export function roomIn(root: HTMLElement, body: Element): Rect {
  const zoom = zoomOf(root);
  const own = boxOf(root);
  let left = Math.max(own.left, 0);
  let top = Math.max(boxOf(body).top, 0);
  let right = Math.min(own.right, innerWidth / zoom);
  let bottom = Math.min(own.bottom, innerHeight / zoom);
  for (let around = root.parentElement; around; around = around.parentElement) {
    if (getComputedStyle(around).overflow === "visible") continue;
    const clip = boxOf(around, zoom);
    [left, top, right, bottom] = [
      Math.max(left, clip.left),
      Math.max(top, clip.top),
      Math.min(right, clip.right),
      Math.min(bottom, clip.bottom),
    ];
  }
  return { x: left - own.left + EDGE, y: top - own.top + EDGE, w: right - left - 2 * EDGE, h: bottom - top - 2 * EDGE };
}

/** Where a length from `at` begins so that it lies between `from` and `from + room`; at `from` when it is longer. */
export function fit(at: number, length: number, from: number, room: number): number {
  return clamp(at, from, Math.max(from, from + room - length));
}

/** The same, for something `height` high that shall not hide what reaches from `above` to `below`: above it, or else below. */
export function beside(above: number, below: number, height: number, from: number, room: number): number {
  return above - height >= from ? fit(above - height, height, from, room) : fit(below, height, from, room);
}
