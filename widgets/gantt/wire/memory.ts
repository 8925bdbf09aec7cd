/**
 * Memory in use on each device over time, as Python sends it beside the schedule (placelab/app/widgets/gantt_wire.py).
 *
 * The columns of the curves hold differences of neighbours: of the bits of the time, which for such floats sort like the
 * numbers, and of the bytes, of which 65535 stand for the peak of the device.
 */
import { reader } from "../../shared/reader.ts";

const FULL = 65535;
const LOW = 1 / 8; // a lane whose peak is below this share of its memory is scaled to its peak

export interface Memory {
  /** Bytes per device; Infinity: unlimited, or not counted. */
  readonly capacity: Float32Array;
  /** Bytes per device in use at most; NaN when not known. */
  readonly peak: Float32Array;
  /** Curve of device d: `bytes[i]` are in use from `time[i]` to `time[i + 1]`, i in ptr[d]:ptr[d + 1]; none when not sent. */
  readonly ptr: Uint32Array;
  readonly time: Float32Array;
  readonly bytes: Float32Array;
  /** When each device first has its peak in use. */
  readonly crest: Float32Array;
  /** Spans out of memory, by device and start: bytes short at most. */
  readonly short: Short;
  /** Bytes per device that a lane is high. */
  readonly top: Float32Array;
}

interface Short {
  readonly device: Uint16Array;
  readonly start: Float32Array;
  readonly duration: Float32Array;
  readonly bytes: Float32Array;
}

/** Nothing is known when the message is empty. */
export function decodeMemory(message: DataView): Memory | null {
  if (!message.byteLength) return null;
  const { header, f32, u32, u16 } = reader(message, 4, "memory");
  const [, nDevices, nPoints, nShort] = header;
  const [capacity, peak] = [f32(nDevices), f32(nDevices)];
  const ptr = Uint32Array.of(...u32(nDevices), nPoints!);
  const bits = u32(nPoints).slice();
  const level = u16(nPoints).slice();
  for (let i = 1; i < bits.length; i++) {
    bits[i]! += bits[i - 1]!;
    level[i]! += level[i - 1]!;
  }
  const time = new Float32Array(bits.buffer);
  const bytes = new Float32Array(bits.length);
  const crest = peak.map((p, d) => {
    let at = ptr[d]!;
    for (let i = at; i < ptr[d + 1]!; i++) {
      bytes[i] = (level[i]! / FULL) * p;
      if (bytes[i]! > bytes[at]!) at = i;
    }
    return time[at] ?? NaN;
  });
  const short = { device: u16(nShort), start: f32(nShort), duration: f32(nShort), bytes: f32(nShort) };
  return { capacity, peak, ptr, time, bytes, crest, short, top: tops(capacity, peak) };
}

/**
 * How high each lane reaches: its capacity, or its peak beyond that. Where nothing comes near a capacity the lane would be
 * empty, and without a capacity it has no height: such lanes reach to the highest peak of all, to be compared.
 */
function tops(capacity: Float32Array, peak: Float32Array): Float32Array {
  const highest = Math.max(...peak) || 1;
  return peak.map((p, d) => (p > LOW * capacity[d]! ? Math.max(p, capacity[d]!) : highest));
}

/** First point of device `d` after time `t`; the one before it holds at `t`. */
export function pointAfter({ ptr, time }: Memory, d: number, t: number): number {
  let low = ptr[d]!;
  let high = ptr[d + 1]!;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle]! > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Bytes in use on device `d` at time `t`; NaN when its curve was not sent. */
export function usedAt(memory: Memory, d: number, t: number): number {
  const at = pointAfter(memory, d, t) - 1;
  return at < memory.ptr[d]! ? NaN : memory.bytes[at]!;
}

/** The span in which device `d` is out of memory some time in [from, to], its number; -1 when there is none. */
export function shortIn({ short }: Memory, d: number, from: number, to = from): number {
  return short.start.findIndex(
    (start, i) => short.device[i] === d && start <= to && (from < start + short.duration[i]! || from === start),
  );
}
