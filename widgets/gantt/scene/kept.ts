/** A schedule that was kept, to be drawn behind the one on show: when and where its ops ran. Written by placelab/app/widgets/gantt_wire.py. */
import { reader } from "../../shared/reader.ts";
import { orderByStart } from "./bars.ts";
import { grouped, type Tracks } from "./lanes.ts";

export interface Kept {
  /** Seconds, as every time here. */
  readonly makespan: number;
  readonly nDevices: number;
  /** Rows are ops; a device that is no longer there has a number beyond the others. */
  readonly device: Uint16Array;
  readonly start: Float32Array;
  readonly finish: Float32Array;
  /** One track per device. */
  readonly tracks: Tracks;
}

/** Nothing is kept when the message is empty. */
export function decodeKept(message: DataView): Kept | null {
  if (!message.byteLength) return null;
  const { header, f64, f32, u16 } = reader(message, 4, "kept schedule");
  const [, nOps, nDevices] = header;
  const makespan = f64(1)[0]!;
  const [device, start, finish] = [u16(nOps), f32(nOps), f32(nOps)];
  const place = (op: number) => (device[op]! < nDevices! ? device[op]! : -1);
  const tracks = grouped(nDevices!, orderByStart(start), place, { start, finish });
  return { makespan, nDevices: nDevices!, device, start, finish, tracks };
}
