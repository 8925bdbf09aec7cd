/** Which lanes there are, from top to bottom: pinned ones first, in the order that was chosen, idle ones left out, hosts folded. Pure. */
import type { LaneChoice } from "../wire/traits.ts";
import { runningAt } from "./lanes.ts";
import type { Chart } from "./scene.ts";

export interface Rows {
  /** The device of each row; -1 - h for the row of folded host number h. */
  readonly of: Int32Array;
  /** The row of each device, that of its host if it is folded; -1: it is hidden. */
  readonly at: Int32Array;
  /** Devices that are shown with others of their host in one row: 1. */
  readonly within: Uint8Array;
  /** Rows at the top that do not scroll. */
  readonly pinned: number;
  /** Names of the folded hosts, and their devices. */
  readonly hosts: readonly { readonly name: string; readonly devices: readonly number[] }[];
}

const MANY = 24; // devices; of more, the busiest come first

/** A row per device, by number. */
export function allRows(nDevices: number): Rows {
  const numbers = Int32Array.from({ length: nDevices }, (_, d) => d);
  return { of: numbers, at: numbers, within: new Uint8Array(nDevices), pinned: 0, hosts: [] };
}

export function orderOf(choice: LaneChoice, nDevices: number): "number" | "busy" {
  return choice.order ?? (nDevices > MANY ? "busy" : "number");
}

/** Seconds that each device runs something, Send ops included. */
export function busySeconds({ lanes, bars }: Chart): Float64Array {
  return Float64Array.from({ length: lanes.nDevices }, (_, d) => {
    let sum = 0;
    for (let i = lanes.ptr[d * lanes.perDevice]!; i < lanes.ptr[d * lanes.perDevice + 1]!; i++)
      sum += bars.finish[lanes.bar[i]!]! - bars.start[lanes.bar[i]!]!;
    return sum;
  });
}

/** Whether device `d` runs or moves nothing. */
export function isIdle({ lanes }: Chart, d: number): boolean {
  return lanes.ptr[d * lanes.perDevice] === lanes.ptr[(d + 1) * lanes.perDevice];
}

/** The rows that `choice` asks for. Ties in the order go by number. `busy`: seconds per device; `hosts`: a name per device. */
export function rowsOf(choice: LaneChoice, chart: Chart, busy: Float64Array, hosts: readonly string[]): Rows {
  const n = chart.lanes.nDevices;
  const key = orderOf(choice, n) === "busy" ? (d: number) => -(busy[d] ?? 0) : (d: number) => d;
  const sorted = Array.from({ length: n }, (_, d) => d).sort((a, b) => key(a) - key(b) || a - b);
  const pinned = (choice.pinned ?? []).filter((d) => d < n);
  const folded = [...new Set(choice.folded)].map((name) => ({
    name,
    devices: sorted.filter((d) => hosts[d] === name && !pinned.includes(d)),
  }));
  const hostOf = (d: number) => folded.findIndex(({ name }) => hosts[d] === name);
  const rest = sorted.filter((d) => !pinned.includes(d) && !(choice.hides && isIdle(chart, d)));
  const rows = rest.map((d) => (hostOf(d) < 0 ? d : -1 - hostOf(d)));
  const of = Int32Array.from(new Set([...pinned, ...rows])); // a host stands where its first device would
  const at = new Int32Array(n).fill(-1);
  const within = new Uint8Array(n);
  of.forEach((which, row) => {
    const devices = which < 0 ? folded[-1 - which]!.devices : [which];
    for (const d of devices) [at[d], within[d]] = [row, which < 0 ? 1 : 0];
  });
  return { of, at, within, pinned: pinned.length, hosts: folded };
}

/** Of `devices`, those that compute or send at `time`. */
export function computingAt({ lanes, bars }: Chart, devices: readonly number[], time: number): number[] {
  return devices.filter((d) => runningAt(lanes, bars, d * lanes.perDevice, time) >= 0);
}
