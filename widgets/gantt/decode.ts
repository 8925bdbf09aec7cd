/**
 * The schedule as Python sends it: little-endian columns without any per-op object.
 *
 * uint32 × 8 header (version, ops, transfers, sends, devices, critical, idle, reserved), then the makespan and the
 * columns below in this order, each starting at a multiple of 8 bytes. Written by placelab/widgets/gantt/wire.py.
 */
export const VERSION = 1;

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
export const IDLE_REASONS = ["transfer", "upstream", "memory", "end"] as const;

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

/** Reads a message that begins with `words` uint32, the wire version first: columns, one after the other. */
export function reader(message: DataView, words: number, what: string) {
  const { buffer, offset } = aligned(message);
  const end = message.byteLength;
  if (end < 4 * words) throw new Error(`a ${what} of ${end} bytes has no header`);
  let at = 0;
  const column =
    <T>(type: new (b: ArrayBuffer, o: number, n: number) => T, bytes: number) =>
    (n = 0): T => {
      if (at + bytes * n > end) throw new Error(`the ${what} ends at byte ${end}, a column needs ${at + bytes * n}`);
      const read = new type(buffer, offset + at, n);
      at += (bytes * n + 7) & ~7;
      return read;
    };
  const u32 = column(Uint32Array, 4);
  const header = u32(words);
  if (header[0] !== VERSION)
    throw new Error(`the ${what} has wire version ${header[0]}, this view reads ${VERSION}: reload the page`);
  const [f64, f32] = [column(Float64Array, 8), column(Float32Array, 4)];
  return { header, f64, f32, u32, u16: column(Uint16Array, 2), u8: column(Uint8Array, 1) };
}

/** The message's buffer and offset, copied once when a websocket frame put it at an odd address. */
function aligned(message: DataView): { buffer: ArrayBuffer; offset: number } {
  const { buffer, byteOffset, byteLength } = message;
  if (byteOffset % 8 === 0 && buffer instanceof ArrayBuffer) return { buffer, offset: byteOffset };
  const copy = new Uint8Array(byteLength);
  copy.set(new Uint8Array(buffer, byteOffset, byteLength));
  return { buffer: copy.buffer, offset: 0 };
}
