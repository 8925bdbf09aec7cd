/** Links that carry something, and what each carries when. */

import type { Columns } from "../wire/decode.ts";
import type { Bars } from "./bars.ts";
import { firstAfter, grouped, runningAt, type Tracks } from "./lanes.ts";
import type { Chart } from "./scene.ts";

export interface Links extends Tracks {
  /** Source and destination of each link, by number. Transfers of link i are track i. */
  readonly pairs: readonly (readonly [number, number])[];
  /** Most transfers at once on any link. */
  readonly most: number;
  /** Seconds in which each link carries something. */
  readonly busy: Float64Array;
}

export function links(columns: Columns, all: Bars): Links {
  const { source, destination } = columns.transfers;
  const [k, first] = [columns.nDevices, all.nOps + all.nSends];
  const used = Array.from(new Set(Array.from(source, (s, t) => s * k + destination[t]!))).sort((a, b) => a - b);
  const number = new Map(used.map((key, i) => [key, i]));
  const linkOf = (bar: number) =>
    bar < first ? -1 : number.get(source[bar - first]! * k + destination[bar - first]!)!;
  const tracks = grouped(used.length, all.order, linkOf, all);
  const pairs = used.map((key) => [Math.floor(key / k), key % k] as const);
  const busy = new Float64Array(used.length);
  let most = 0;
  for (let i = 0; i < used.length; i++) {
    busy[i] = busyTime(tracks, all, i);
    most = Math.max(most, together(tracks, all, i));
  }
  return { ...tracks, pairs, most, busy };
}

/** Seconds that the bars of track `k` cover. */
function busyTime(tracks: Tracks, all: Bars, k: number): number {
  let [covered, until] = [0, 0];
  for (let i = tracks.ptr[k]!; i < tracks.ptr[k + 1]!; i++) {
    const bar = tracks.bar[i]!;
    covered += Math.max(0, all.finish[bar]! - Math.max(all.start[bar]!, until));
    until = Math.max(until, all.finish[bar]!);
  }
  return covered;
}

/** Most bars of track `k` at one time. One that begins as another ends, but for a rounding, does not overlap it. */
function together(tracks: Tracks, all: Bars, k: number): number {
  const bars = tracks.bar.subarray(tracks.ptr[k], tracks.ptr[k + 1]);
  const finish = Float32Array.from(bars, (bar) => all.finish[bar]!).sort();
  let [most, over] = [0, 0];
  bars.forEach((bar, begun) => {
    while (finish[over]! <= all.start[bar]! * (1 + 1e-6)) over++;
    most = Math.max(most, begun + 1 - over);
  });
  return most;
}

/** What is busy at one time: devices that compute, links that carry. */
export interface Activity {
  readonly devices: number[];
  readonly links: (readonly [number, number])[];
}

export function activityAt({ lanes, bars }: Chart, all: Links, time: number): Activity {
  const computes = (d: number) => runningAt(lanes, bars, d * lanes.perDevice, time) >= 0;
  return {
    devices: Array.from({ length: lanes.nDevices }, (_, d) => d).filter(computes),
    links: all.pairs.filter((_, i) => runningAt(all, bars, i, time) >= 0),
  };
}

/** Transfers of link `k` at `time`: bars, by start. */
export function carriedAt(all: Links, bars: Bars, k: number, time: number): number[] {
  const found: number[] = [];
  for (let i = firstAfter(all, k, time); i < all.ptr[k + 1]! && bars.start[all.bar[i]!]! <= time; i++)
    if (bars.finish[all.bar[i]!]! > time) found.push(all.bar[i]!);
  return found;
}
