/** Read messages of Python: a header, then columns, each starting at a multiple of 8 bytes. */
export const VERSION = 1;

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
