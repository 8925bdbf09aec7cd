import { describe, expect, it } from "vitest";
import { encode, PAIR } from "../example.ts";
import { decode, decodeNames } from "./decode.ts";

describe("decode", () => {
  it("reads every column back", () => {
    const columns = decode(encode(PAIR));
    expect(columns.makespan).toBe(8);
    expect([columns.nOps, columns.nTransfers, columns.nSends, columns.nDevices]).toEqual([4, 1, 0, 2]);
    expect(Array.from(columns.ops.device)).toEqual([0, 1, 1, 0]);
    expect(Array.from(columns.transfers.destination)).toEqual([1]);
    expect(Array.from(columns.critical.kind)).toEqual([0, 1, 0, 0]);
    expect(Array.from(columns.idle.op)).toEqual([0, 1, 0xffffffff]);
  });

  it("reads a message at an odd address, as websocket frames put it", () => {
    const message = encode(PAIR);
    const shifted = new Uint8Array(message.byteLength + 3);
    shifted.set(new Uint8Array(message.buffer), 3);
    expect(decode(new DataView(shifted.buffer, 3)).ops.start).toEqual(decode(message).ops.start);
  });

  it("says what is wrong with another version", () => {
    const message = encode(PAIR);
    message.setUint32(0, 9, true);
    expect(() => decode(message)).toThrow(/version 9.*reads 1/);
  });

  it("refuses a message that ends early instead of reading past it", () => {
    const message = encode(PAIR);
    expect(() => decode(new DataView(message.buffer, 0, message.byteLength - 16))).toThrow(/ends at byte/);
  });

  it("splits names, and has none for an empty message", () => {
    const view = (text: string) => new DataView(new TextEncoder().encode(text).buffer);
    expect(decodeNames(view("a/b\nµ"))).toEqual(["a/b", "µ"]);
    expect(decodeNames(new DataView(new ArrayBuffer(0)))).toEqual([]);
  });
});
