/** Keys in the graph, and where the arrows lead. Pure. */
import { type Key, keyed, VIEW_KEYS, type ViewAction } from "../shared/keys.ts";
import type { Picture } from "./picture.ts";

export type Direction = "left" | "right" | "up" | "down";
export type Action = Direction | "toggle" | "close" | "select" | "search" | "menu" | ViewAction;

const KEYS: Record<string, Action> = {
  ...VIEW_KEYS,
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Enter: "toggle",
  " ": "select",
  Backspace: "close",
  "/": "search",
  p: "menu",
  ContextMenu: "menu",
};

export const KEY_HELP =
  "arrows: along the edges, up and down · Enter: open or close · Backspace: close what is around · p: pin to a device · " +
  "/: find · +, −, 0: zoom, fit · z: zoom to the box · Esc: clear · drag a box onto a device: pin it there";

/** The action of a key event; none for keys that belong to the page (with Ctrl, Alt or Meta). */
export function actionOf(event: Key): Action | undefined {
  return keyed(KEYS, event);
}

/**
 * The box that an arrow leads to: right along the edge that carries most, left back along such a one, else to the nearest box
 * in that direction; from an open scope to the first box in it; from nowhere to the first box.
 */
export function moveFrom(picture: Picture, from: number, direction: Direction): number {
  const start = picture.boxes[from];
  if (!start) return firstIn(picture, -1);
  if (start.open) return firstIn(picture, from);
  if (direction === "right" || direction === "left") {
    const along = direction === "right" ? picture.leaving[from]! : picture.entering[from]!;
    const edges = along
      .map((i) => picture.edges[i]!)
      .sort((a, b) => Number(a.back) - Number(b.back) || b.bytes - a.bytes);
    if (edges.length) return direction === "right" ? edges[0]!.target : edges[0]!.source;
  }
  return nearest(picture, from, direction) ?? from;
}

function firstIn(picture: Picture, around: number): number {
  let best = -1;
  picture.boxes.forEach((box, i) => {
    const other = picture.boxes[best];
    if (box.inside === around && (!other || box.layer < other.layer || (box.layer === other.layer && box.y < other.y)))
      best = i;
  });
  return best >= 0 && picture.boxes[best]!.open ? firstIn(picture, best) : best;
}

function nearest(picture: Picture, from: number, direction: Direction): number | undefined {
  const middle = (i: number) => {
    const box = picture.boxes[i]!;
    return [box.x + box.w / 2, box.y + box.h / 2] as const;
  };
  const [x, y] = middle(from);
  let best: number | undefined;
  let least = Infinity;
  picture.boxes.forEach((box, i) => {
    if (box.open || i === from) return;
    const [u, v] = middle(i);
    const ahead = { left: x - u, right: u - x, up: y - v, down: v - y }[direction];
    const aside = direction === "left" || direction === "right" ? Math.abs(v - y) : Math.abs(u - x);
    const far = ahead + 2 * aside;
    if (ahead > 1 && far < least) [best, least] = [i, far];
  });
  return best;
}
