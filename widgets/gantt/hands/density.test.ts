import { expect, it } from "vitest";
import { checksum, withDensity } from "./density.ts";

it("has the checksum of the PNG specification", () => {
  expect(checksum(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
  expect(checksum(new TextEncoder().encode("IEND"))).toBe(0xae426082);
});

it("puts the resolution behind the first chunk and keeps the rest", () => {
  const png = Uint8Array.from({ length: 50 }, (_, i) => i);
  const made = withDensity(png.buffer, 300);
  expect([...made.subarray(0, 33), ...made.subarray(54)]).toEqual([...png]);
  const chunk = new DataView(made.buffer, 33, 21);
  expect([chunk.getUint32(0), chunk.getUint32(8), chunk.getUint32(12), chunk.getUint8(16)]).toEqual([
    9, 11811, 11811, 1,
  ]);
});
