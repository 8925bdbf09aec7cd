/** When and where ops run, and what that makes of each box. Pure. */
import { reader } from "../shared/reader.ts";
import type { Picture } from "./picture.ts";

export interface Values {
  readonly makespan: number;
  /** Seconds. */
  readonly start: Float32Array;
  readonly duration: Float32Array;
  readonly device: Uint16Array;
  /** For the colours "critical" and "slack", see placelab/app/widgets/graph_view.py; else empty. */
  readonly mark: Uint8Array;
}

export function decodeValues(message: DataView): Values | null {
  if (!message.byteLength) return null;
  const { header, f64, f32, u16, u8 } = reader(message, 4, "graph");
  const [, nOps, nMarks] = header;
  const makespan = f64(1)[0]!;
  return { makespan, start: f32(nOps), duration: f32(nOps), device: u16(nOps), mark: u8(nMarks) };
}

export const SEVERAL = 32767;
export const NOWHERE = 65535; // device of an op that is not placed
export const EIGHTHS = 8;

/** What the ops of each box add up to; boxes by number, open ones hold what is in them. */
export interface Sums {
  /** Seconds of work. */
  readonly time: Float64Array;
  /** Seconds on each device, and of each kind: `byDevice[box * nDevices + d]`. Ops of no time count a little, those not placed nothing. */
  readonly byDevice: Float64Array;
  readonly byKind: Float64Array;
  readonly nDevices: number;
  readonly nKinds: number;
  /** Seconds of the ops of each eighth of the marks, `byMark[box * 8 + eighth]`: of "critical" the first and the last. */
  readonly byMark: Float64Array;
  /** Number of pinned ops, and their device: -1 for none, SEVERAL for more than one. */
  readonly pins: Int32Array;
  readonly pinnedTo: Int16Array;
}

export function sumsOf(
  picture: Picture,
  values: Values | null,
  kinds: Uint8Array,
  pinned: ArrayLike<number>,
  nKinds: number,
): Sums {
  const n = picture.boxes.length;
  const { owner, nOps } = picture;
  const fits = values?.start.length === nOps ? values : null;
  const nDevices = fits ? fits.device.reduce((a, d) => (d === NOWHERE ? a : Math.max(a, d)), 0) + 1 : 0;
  const time = new Float64Array(n);
  const byMark = new Float64Array(n * EIGHTHS);
  const byDevice = new Float64Array(n * nDevices);
  const byKind = new Float64Array(n * nKinds);
  const pins = new Int32Array(n);
  const pinnedTo = new Int16Array(n).fill(-1);
  const little = (fits?.makespan || 1) * 1e-9;
  for (let v = 0; v < nOps; v++) {
    const box = owner[v]!;
    const seconds = fits ? fits.duration[v]! : 0;
    time[box]! += seconds;
    if (nKinds) byKind[box * nKinds + (kinds[v] ?? 0)]! += seconds + little;
    const placed = fits && fits.device[v] !== NOWHERE;
    if (placed) byDevice[box * nDevices + fits.device[v]!]! += seconds + little;
    const mark = fits?.mark[v];
    if (placed && mark !== undefined) byMark[box * EIGHTHS + (mark >> 5)]! += seconds + little;
    const to = pinned[v];
    if (to !== undefined && to >= 0) {
      pins[box]!++;
      pinnedTo[box] = pinnedTo[box] === -1 || pinnedTo[box] === to ? to : SEVERAL;
    }
  }
  for (let box = n - 1; box >= 0; box--) {
    const around = picture.boxes[box]!.inside;
    if (around < 0) continue;
    time[around]! += time[box]!;
    for (const [column, width] of [
      [byDevice, nDevices],
      [byKind, nKinds],
      [byMark, EIGHTHS],
    ] as const)
      for (let i = 0; i < width; i++) column[around * width + i]! += column[box * width + i]!;
    pins[around]! += pins[box]!;
    const to = pinnedTo[box]!;
    if (to >= 0) pinnedTo[around] = pinnedTo[around] === -1 || pinnedTo[around] === to ? to : SEVERAL;
  }
  return { time, byDevice, byKind, byMark, nDevices, nKinds, pins, pinnedTo };
}

/** Number of ops of each closed box that run at a time; nothing before the first and after the last op. */
export function runningAt(picture: Picture, values: Values | null, time: number): Map<number, number> {
  const running = new Map<number, number>();
  if (!values || values.start.length !== picture.nOps || time >= values.makespan) return running;
  const { start, duration } = values;
  for (let v = 0; v < picture.nOps; v++) {
    const begun = start[v]!;
    if (begun <= time && time < begun + duration[v]!) {
      const box = picture.owner[v]!;
      running.set(box, (running.get(box) ?? 0) + 1);
    }
  }
  return running;
}

/** The boxes that say what is pinned: whole ones pinned to one device, and closed ones of which some ops are pinned. */
export function pinnedBoxes(picture: Picture, sums: Sums): number[] {
  const found: number[] = [];
  const covered = new Set<number>();
  picture.boxes.forEach((box, i) => {
    if (covered.has(box.inside)) covered.add(i);
    else if (sums.pins[i] && (!box.open || (sums.pins[i] === box.ops && sums.pinnedTo[i] !== SEVERAL))) {
      found.push(i);
      covered.add(i);
    }
  });
  return found;
}
