/**
 * The playhead and its moves. Pure; hands/playing.ts calls it on animation frames.
 *
 * Playback is paced by the whole schedule, not by real time: at speed 1 it takes `DURATION` wall seconds from 0 to the
 * makespan, be that a microsecond or an hour.
 */
import type { Bars } from "./bars.ts";

export const DURATION = 12; // seconds of watching at speed 1
export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8] as const;
const LONGEST_FRAME = 0.1; // in seconds: a tab that slept must not leap

export interface Playhead {
  readonly time: number;
  readonly playing: boolean;
  readonly speed: number;
}

/** Starts, from 0 when the end was reached; or pauses. */
export function toggle(head: Playhead, makespan: number): Playhead {
  return head.playing
    ? { ...head, playing: false }
    : { ...head, playing: true, time: head.time >= makespan ? 0 : head.time };
}

/** The playhead `elapsed` wall seconds later; it stops at the makespan. */
export function advance(head: Playhead, elapsed: number, makespan: number): Playhead {
  if (!head.playing) return head;
  const time = head.time + (Math.min(elapsed, LONGEST_FRAME) * head.speed * makespan) / DURATION;
  return time < makespan ? { ...head, time } : { ...head, time: makespan, playing: false };
}

/** Puts the playhead somewhere and pauses there. */
export function scrub(head: Playhead, time: number, makespan: number): Playhead {
  return { ...head, playing: false, time: Math.min(Math.max(time, 0), makespan) };
}

/** For a new schedule: a playhead at the end stays at the end, any other keeps its time. */
export function carry(head: Playhead, oldMakespan: number, makespan: number): Playhead {
  return { ...head, time: head.time >= oldMakespan ? makespan : Math.min(head.time, makespan) };
}

/** All instants at which something starts or finishes, in order, rounding twins merged. */
export function eventTimes(all: Bars, makespan: number): Float64Array {
  const times = new Float32Array(2 * all.start.length + 2);
  times.set(all.start, 0);
  times.set(all.finish, all.start.length);
  times[times.length - 1] = makespan;
  times.sort();
  const same = makespan * 2 ** -22;
  const distinct: number[] = [];
  for (const t of times) if (!distinct.length || t - distinct[distinct.length - 1]! > same) distinct.push(t);
  distinct[distinct.length - 1] = makespan;
  return Float64Array.from(distinct);
}

/** The event after (`direction` 1) or before (-1) time `t`; `t`'s own event is passed over. */
export function stepEvent(times: Float64Array, t: number, direction: 1 | -1): number {
  const same = (times[times.length - 1] ?? 0) * 2 ** -22;
  if (direction > 0) return times.find((time) => time > t + same) ?? times[times.length - 1] ?? 0;
  return times.findLast((time) => time < t - same) ?? 0;
}

/** What starts and what finishes at `t`: bars, by number. */
export function happeningsAt(all: Bars, t: number, makespan: number): { start: number[]; finish: number[] } {
  const near = makespan * 2 ** -21;
  const at = (times: Float32Array) => {
    const found: number[] = [];
    for (let i = 0; i < times.length; i++) if (Math.abs(times[i]! - t) <= near) found.push(i);
    return found;
  };
  return { start: at(all.start), finish: at(all.finish) };
}
