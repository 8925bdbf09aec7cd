/**
 * The track of each bar: per device one track of ops, then tracks of incoming and of outgoing transfers.
 *
 * Transfers of one device may overlap (the `parallel` model): each takes the first free track of its direction, and
 * beyond `MAX_TRACKS` at once they share the one that frees first.
 */

import type { Columns } from "../wire/decode.ts";
import type { Bars, Times } from "./bars.ts";

export const MAX_TRACKS = 4;

/** Bars on tracks. */
export interface Tracks {
  /** Bars of track k: bar[ptr[k]:ptr[k+1]], by start. */
  readonly ptr: Uint32Array;
  readonly bar: Uint32Array;
  /** Latest finish up to here in the track, per entry: not decreasing, so that a search by time works. */
  readonly reach: Float32Array;
}

export interface Lanes extends Tracks {
  readonly nDevices: number;
  /** Tracks of incoming and of outgoing transfers, the same for all devices; 0 when nothing travels. */
  readonly incoming: number;
  readonly outgoing: number;
  /** Tracks per device: 1 + incoming + outgoing. */
  readonly perDevice: number;
}

export function lanes(columns: Columns, all: Bars): Lanes {
  const { nDevices, nOps, nSends, nTransfers, makespan, ops, sends, transfers } = columns;
  const incoming = stack(transfers.destination, all, nDevices, makespan);
  const outgoing = stack(transfers.source, all, nDevices, makespan);
  const perDevice = 1 + incoming.tracks + outgoing.tracks;
  const first = nOps + nSends;
  const trackOf = (bar: number) => (bar < nOps ? ops.device[bar]! * perDevice : sends.device[bar - nOps]! * perDevice);
  const inTrack = (t: number) => transfers.destination[t]! * perDevice + 1 + incoming.track[t]!;
  const outTrack = (t: number) => transfers.source[t]! * perDevice + 1 + incoming.tracks + outgoing.track[t]!;

  const ptr = new Uint32Array(nDevices * perDevice + 1);
  for (let bar = 0; bar < first; bar++) ptr[trackOf(bar) + 1]!++;
  for (let t = 0; t < nTransfers; t++) {
    ptr[inTrack(t) + 1]!++;
    ptr[outTrack(t) + 1]!++;
  }
  for (let k = 0; k + 1 < ptr.length; k++) ptr[k + 1]! += ptr[k]!;

  const at = ptr.slice();
  const bar = new Uint32Array(ptr[ptr.length - 1]!);
  for (let i = 0; i < all.order.length; i++) {
    const b = all.order[i]!;
    if (b < first) bar[at[trackOf(b)]!++] = b;
    else {
      bar[at[inTrack(b - first)]!++] = b;
      bar[at[outTrack(b - first)]!++] = b;
    }
  }
  return {
    nDevices,
    incoming: incoming.tracks,
    outgoing: outgoing.tracks,
    perDevice,
    ptr,
    bar,
    reach: reach(ptr, bar, all),
  };
}

/** Bars on `n` tracks, each on the one that `trackOf` names, on none for -1; `order` is by start. */
export function grouped(n: number, order: Uint32Array, trackOf: (bar: number) => number, all: Times): Tracks {
  const ptr = new Uint32Array(n + 1);
  const track = Int32Array.from(order, trackOf);
  for (const k of track) if (k >= 0) ptr[k + 1]!++;
  for (let k = 0; k < n; k++) ptr[k + 1]! += ptr[k]!;
  const at = ptr.slice();
  const bar = new Uint32Array(ptr[n]!);
  order.forEach((b, i) => {
    if (track[i]! >= 0) bar[at[track[i]!]!++] = b;
  });
  return { ptr, bar, reach: reach(ptr, bar, all) };
}

/** First entry of track `k` that finishes after `t`. */
export function firstAfter(tracks: Tracks, k: number, t: number): number {
  let low = tracks.ptr[k]!;
  let high = tracks.ptr[k + 1]!;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tracks.reach[middle]! > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The bar of track `k` that is running at `t` (start ≤ t < finish), -1 when none is. */
export function runningAt(tracks: Tracks, all: Times, k: number, t: number): number {
  for (let i = firstAfter(tracks, k, t); i < tracks.ptr[k + 1]!; i++) {
    const bar = tracks.bar[i]!;
    if (all.start[bar]! > t) return -1;
    if (all.finish[bar]! > t) return bar;
  }
  return -1;
}

/** Puts the transfers of each device on tracks: first fit in order of start. */
function stack(device: Uint16Array, all: Bars, nDevices: number, makespan: number) {
  const first = all.nOps + all.nSends;
  const track = new Uint8Array(device.length);
  const free = new Float64Array(nDevices * MAX_TRACKS).fill(-Infinity); // when each track of each device is free
  const slack = makespan * 1e-6; // single precision may let neighbours overlap by a rounding
  let tracks = 0;
  for (let i = 0; i < all.order.length; i++) {
    const bar = all.order[i]!;
    if (bar < first) continue;
    const base = device[bar - first]! * MAX_TRACKS;
    let k = 0;
    while (k < MAX_TRACKS && free[base + k]! > all.start[bar]! + slack) k++;
    if (k === MAX_TRACKS) {
      k = 0;
      for (let j = 1; j < MAX_TRACKS; j++) if (free[base + j]! < free[base + k]!) k = j;
    }
    free[base + k] = Math.max(free[base + k]!, all.finish[bar]!);
    track[bar - first] = k;
    tracks = Math.max(tracks, k + 1);
  }
  return { track, tracks };
}

/** Latest finish up to each entry of its track. */
export function reach(ptr: Uint32Array, bar: Uint32Array, all: Times): Float32Array {
  const latest = new Float32Array(bar.length);
  for (let k = 0; k + 1 < ptr.length; k++) {
    let most = 0;
    for (let i = ptr[k]!; i < ptr[k + 1]!; i++) latest[i] = most = Math.max(most, all.finish[bar[i]!]!);
  }
  return latest;
}
