/** What a key does in the chart. */
import type { Bars } from "./bars.js";
import { firstAfter, type Lanes } from "./lanes.js";

export type Action =
  | "previous" | "next" | "up" | "down" | "first" | "last" | "zoom-in" | "zoom-out" | "fit"
  | "pan-left" | "pan-right" | "play" | "step" | "step-back" | "restart" | "clear" | "to-selection";

const KEYS: Record<string, Action> = {
  ArrowLeft: "previous",
  ArrowRight: "next",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "first",
  End: "last",
  "+": "zoom-in",
  "=": "zoom-in",
  "-": "zoom-out",
  _: "zoom-out",
  "0": "fit",
  f: "fit",
  z: "to-selection",
  " ": "play",
  ".": "step",
  ",": "step-back",
  r: "restart",
  Escape: "clear",
};

export const KEY_HELP =
  "arrows: op by op, device by device · Home, End: first, last op · +, −, 0: zoom, fit · z: zoom to the op · " +
  "Shift+arrows: pan · Space: play · . and ,: next, previous event · r: back to the start · Esc: clear";

/** The action of a key event; none for keys that belong to the page (with Ctrl, Alt or Meta). */
export function actionOf(event: Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "altKey" | "metaKey">): Action | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey) return undefined;
  if (event.shiftKey && event.key === "ArrowLeft") return "pan-left";
  if (event.shiftKey && event.key === "ArrowRight") return "pan-right";
  return KEYS[event.key];
}

/**
 * The op that a move of the selection leads to: along its device in order of start, or to the op of the next device
 * that runs at, or first after, the same time. Without a selection, the first op at or after `time` on the first device.
 */
export function moveSelection(tracks: Lanes, all: Bars, device: ArrayLike<number>, op: number, action: Action, time = 0): number {
  if (op < 0 || op >= all.nOps) return seek(tracks, all, 0, time, 1);
  const d = device[op]!;
  const track = d * tracks.perDevice;
  const [from, to] = [tracks.ptr[track]!, tracks.ptr[track + 1]!];
  if (action === "up" || action === "down") {
    const step = action === "up" ? -1 : 1;
    return d + step < 0 || d + step >= tracks.nDevices ? op : seek(tracks, all, d + step, all.start[op]!, step) ?? op;
  }
  const at = tracks.bar.subarray(from, to).indexOf(op);
  const ops = (i: number, step: number) => firstOp(tracks, all, from, to, i, step);
  if (action === "first") return ops(from, 1) ?? op;
  if (action === "last") return ops(to - 1, -1) ?? op;
  return ops(from + at + (action === "next" ? 1 : -1), action === "next" ? 1 : -1) ?? op;
}

/** First op (no Send) of entries [from, to) met from entry `i` on. */
function firstOp(tracks: Lanes, all: Bars, from: number, to: number, i: number, step: number): number | undefined {
  for (; i >= from && i < to; i += step) if (tracks.bar[i]! < all.nOps) return tracks.bar[i]!;
  return undefined;
}

/** The op at or next after `time` on device `d`, or the last one before; empty devices are passed over in direction `step`. */
function seek(tracks: Lanes, all: Bars, d: number, time: number, step: number): number {
  for (; d >= 0 && d < tracks.nDevices; d += step) {
    const track = d * tracks.perDevice;
    const [from, to] = [tracks.ptr[track]!, tracks.ptr[track + 1]!];
    const at = firstAfter(tracks, track, time);
    const op = firstOp(tracks, all, from, to, at, 1) ?? firstOp(tracks, all, from, to, to - 1, -1);
    if (op !== undefined) return op;
  }
  return -1;
}
