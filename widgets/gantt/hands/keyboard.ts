/** Actions of keys in the chart. */
import { type Key, keyed, VIEW_KEYS, type ViewAction } from "../../shared/keys.ts";
import { firstAfter } from "../scene/lanes.ts";
import { allRows, type Rows } from "../scene/rows.ts";
import type { Chart } from "../scene/scene.ts";

export type Action =
  | "previous"
  | "next"
  | "up"
  | "down"
  | "first"
  | "last"
  | ViewAction
  | "pan-left"
  | "pan-right"
  | "play"
  | "step"
  | "step-back"
  | "restart"
  | "memory"
  | "links"
  | "keep-axis"
  | "details"
  | "proof"
  | "by-hand"
  | "pin"
  | "find"
  | "find-next"
  | "find-previous";

const KEYS: Record<string, Action> = {
  ...VIEW_KEYS,
  ArrowLeft: "previous",
  ArrowRight: "next",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "first",
  End: "last",
  " ": "play",
  ".": "step",
  ",": "step-back",
  r: "restart",
  m: "memory",
  l: "links",
  k: "keep-axis",
  w: "zoom-in",
  s: "zoom-out",
  a: "pan-left",
  d: "pan-right",
  Enter: "details",
  i: "details",
  y: "proof",
  p: "pin",
  b: "by-hand",
  "/": "find",
  n: "find-next",
  N: "find-previous",
};

export const KEY_HELP =
  "arrows: op by op, device by device · Home, End: first, last op · w, s or +, −: zoom, 0: fit · z: zoom to the op or the area · " +
  "a, d or Shift+arrows: pan · Space: play · . and ,: next, previous event · r: back to the start · / and n: find, next match · " +
  "m: memory · l: links · k: hold the axis · Enter or i: details · y: why not faster · p: pin or release the lane · b: by hand, then arrows move the op, Alt+arrows let it change places, x: it moves with others, Enter sets, Esc returns, h: best move · Esc: clear · Ctrl+wheel: zoom · drag: pan · Shift+drag: what is in an area · " +
  "double-click: zoom to the op";

/** The action of a key event; none for keys that belong to the page (with Ctrl, Alt or Meta). */
export function actionOf(event: Key & Pick<KeyboardEvent, "shiftKey">): Action | undefined {
  return keyed(event.shiftKey ? { ...KEYS, ArrowLeft: "pan-left", ArrowRight: "pan-right" } : KEYS, event);
}

/**
 * The op that a move of the selection leads to: along its device in order of start, or to the op of the next device
 * that runs at, or first after, the same time. Without a selection, the first op at or after `time` in the first row.
 */
export function moveSelection(
  chart: Chart,
  op: number,
  action: Action,
  time = 0,
  rows = allRows(chart.lanes.nDevices),
): number {
  const { bars, lanes, columns } = chart;
  if (op < 0 || op >= bars.nOps) return seek(chart, rows, 0, time, 1) ?? -1;
  const device = columns.ops.device[op]!;
  if (action === "up") return seek(chart, rows, rows.at[device]! - 1, bars.start[op]!, -1) ?? op;
  if (action === "down") return seek(chart, rows, rows.at[device]! + 1, bars.start[op]!, 1) ?? op;
  const track = device * lanes.perDevice;
  const [from, to] = [lanes.ptr[track]!, lanes.ptr[track + 1]!];
  const at = lanes.bar.indexOf(op, from);
  if (action === "first") return firstOp(chart, track, from, 1)!;
  if (action === "last") return firstOp(chart, track, to - 1, -1)!;
  return (action === "next" ? firstOp(chart, track, at + 1, 1) : firstOp(chart, track, at - 1, -1)) ?? op;
}

/** The first op (no Send) of a track met from entry `i` on in direction `step`. */
function firstOp({ bars, lanes }: Chart, track: number, i: number, step: 1 | -1): number | undefined {
  for (; i >= lanes.ptr[track]! && i < lanes.ptr[track + 1]!; i += step)
    if (lanes.bar[i]! < bars.nOps) return lanes.bar[i]!;
  return undefined;
}

/** The op at or next after `time` in a row, else the last one before; rows without ops, and folded hosts, are passed over. */
function seek(chart: Chart, rows: Rows, row: number, time: number, step: 1 | -1): number | undefined {
  const { lanes } = chart;
  for (; row >= 0 && row < rows.of.length; row += step) {
    const d = rows.of[row]!;
    if (d < 0) continue;
    const track = d * lanes.perDevice;
    const op =
      firstOp(chart, track, firstAfter(lanes, track, time), 1) ?? firstOp(chart, track, lanes.ptr[track + 1]! - 1, -1);
    if (op !== undefined) return op;
  }
  return undefined;
}
