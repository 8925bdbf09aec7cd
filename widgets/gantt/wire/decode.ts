/**
 * The schedule as Python sends it: little-endian columns without any per-op object.
 *
 * uint32 × 8 header (version, ops, transfers, sends, devices, critical, idle, reserved), then the makespan and the
 * columns below in this order, each starting at a multiple of 8 bytes. Written by placelab/app/widgets/gantt_wire.py.
 */
import { reader } from "../../shared/reader.ts";

export interface Columns {
  readonly nOps: number;
  readonly nTransfers: number;
  readonly nSends: number;
  readonly nDevices: number;
  /** Seconds, as every time here. */
  readonly makespan: number;
  /** Rows are op indices. */
  readonly ops: { readonly start: Float32Array; readonly duration: Float32Array; readonly device: Uint16Array };
  readonly transfers: {
    readonly start: Float32Array;
    readonly duration: Float32Array;
    readonly source: Uint16Array;
    readonly destination: Uint16Array;
    /** The op whose output travels. */
    readonly producer: Uint32Array;
  };
  readonly sends: {
    readonly start: Float32Array;
    readonly duration: Float32Array;
    readonly device: Uint16Array;
    /** The transfer this Send op feeds. */
    readonly transfer: Uint32Array;
  };
  /** The realised critical path; row is an op (kinds op, wait) or a transfer (kinds transfer, send). */
  readonly critical: {
    readonly kind: Uint8Array;
    readonly row: Uint32Array;
    readonly start: Float32Array;
    readonly duration: Float32Array;
  };
  readonly idle: {
    readonly device: Uint16Array;
    readonly start: Float32Array;
    readonly duration: Float32Array;
    readonly reason: Uint8Array;
    /** The op the device waited for. */
    readonly op: Uint32Array;
  };
}

export const CRITICAL = { op: 0, transfer: 1, wait: 2, send: 3 } as const;
export const IDLE_REASONS = ["transfer", "upstream", "memory", "end", "left", "never"] as const;

/** Reads the columns, as views on the message where its alignment allows it. */
export function decode(message: DataView): Columns {
  const { header, f32, f64, u32, u16, u8 } = reader(message, 8, "schedule");
  const [, nOps, nTransfers, nSends, nDevices, nCritical, nIdle] = header;
  // Arguments and properties are evaluated in the order written, which is the order on the wire.
  const makespan = f64(1)[0]!;
  const ops = { start: f32(nOps), duration: f32(nOps), device: u16(nOps) };
  const [delay, n] = [f32(nTransfers), nTransfers];
  const transfers = { duration: f32(n), source: u16(n), destination: u16(n), producer: u32(n) };
  return {
    nOps: nOps!,
    nTransfers: nTransfers!,
    nSends: nSends!,
    nDevices: nDevices!,
    makespan,
    ops,
    transfers: { ...transfers, start: after(ops, transfers.producer, delay) },
    sends: { start: f32(nSends), duration: f32(nSends), device: u16(nSends), transfer: u32(nSends) },
    critical: { kind: u8(nCritical), row: u32(nCritical), start: f32(nCritical), duration: f32(nCritical) },
    idle: { device: u16(nIdle), start: f32(nIdle), duration: f32(nIdle), reason: u8(nIdle), op: u32(nIdle) },
  };
}

/** Start of each transfer, from its delay after its producer's finish. */
function after(ops: Columns["ops"], producer: Uint32Array, delay: Float32Array): Float32Array {
  const start = new Float32Array(delay.length);
  for (let t = 0; t < start.length; t++) start[t] = ops.start[producer[t]!]! + ops.duration[producer[t]!]! + delay[t]!;
  return start;
}

/** The names of the ops; an empty message has none. */
export function decodeNames(message: DataView): string[] {
  return message.byteLength ? new TextDecoder().decode(message).split("\n") : [];
}
