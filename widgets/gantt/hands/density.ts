/** The resolution of a PNG, which a canvas does not write. */

const HEAD = 33; // bytes of a PNG's signature and of its first chunk, IHDR
const INCH = 0.0254; // m

/** The bytes of a PNG with a chunk `pHYs`, so that it has its width on paper without being scaled. */
export function withDensity(png: ArrayBuffer, dpi: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(png);
  const chunk = new DataView(new ArrayBuffer(21));
  chunk.setUint32(0, 9); // bytes of its contents
  [0x70, 0x48, 0x59, 0x73].forEach((letter, i) => chunk.setUint8(4 + i, letter));
  const perMetre = Math.round(dpi / INCH);
  chunk.setUint32(8, perMetre);
  chunk.setUint32(12, perMetre);
  chunk.setUint8(16, 1); // the unit is the metre
  chunk.setUint32(17, checksum(new Uint8Array(chunk.buffer, 4, 13)));
  const made = new Uint8Array(bytes.length + 21);
  made.set(bytes.subarray(0, HEAD));
  made.set(new Uint8Array(chunk.buffer), HEAD);
  made.set(bytes.subarray(HEAD), HEAD + 21);
  return made;
}

/** CRC-32 as in the PNG specification, annex D. */
export function checksum(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
