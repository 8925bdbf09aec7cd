import { describe, expect, it } from "vitest";
import { SI } from "../../shared/format.ts";
import { encodeMemory, PAIR, sceneOf } from "../example.ts";
import { memorySummary, shortLine, usageLine, usageNow } from "../scene/describe.ts";
import { hit } from "../scene/hit.ts";
import { layout } from "../scene/layout.ts";
import { decodeMemory, shortIn, usedAt } from "../wire/memory.ts";
import { raster } from "./raster.ts";
import { paintShort, paintUsage } from "./usage.ts";

// On device 0: 8 GB from 0 s, 16 GB from 2 s, nothing from 6 s; device 1 is unlimited and holds 4 GB from 1 s on.
const memory = decodeMemory(
  encodeMemory(
    [12e9, Infinity],
    [16e9, 4e9],
    [
      [
        [0, 32768],
        [2, 65535],
        [6, 0],
      ],
      [
        [0, 0],
        [1, 65535],
      ],
    ],
    [[0, 2, 4, 4e9]],
  ),
)!;
const labels = { names: [], kinds: new Uint8Array(), kindNames: [], devices: ["gpu:0", "gpu:1"], units: SI };

describe("memory", () => {
  it("is read back from the differences it travels as", () => {
    expect(Array.from(memory.time)).toEqual([0, 2, 6, 0, 1]);
    expect(memory.bytes[1]).toBe(16e9);
    expect(memory.bytes[0]! / 8e9).toBeCloseTo(1, 4);
    expect(Array.from(memory.crest)).toEqual([2, 1]);
  });

  it("holds from a step on, until the next", () => {
    expect([1.9, 2, 5.9, 6, 99].map((t) => Math.round(usedAt(memory, 0, t) / 1e9))).toEqual([8, 16, 16, 0, 0]);
    expect(usedAt(memory, 1, 0.5)).toBe(0);
  });

  it("is unknown without a message, and without curves", () => {
    expect(decodeMemory(new DataView(new ArrayBuffer(0)))).toBeNull();
    const bare = decodeMemory(encodeMemory([12e9], [16e9], [[]], [[0, 2, 4, 4e9]]))!;
    expect(usedAt(bare, 0, 3)).toBeNaN();
    expect(shortIn(bare, 0, 3)).toBe(0);
  });

  it("refuses a message that ends early", () => {
    const message = encodeMemory([1], [1], [[[0, 1]]]);
    expect(() => decodeMemory(new DataView(message.buffer, 0, message.byteLength - 8))).toThrow(/memory ends at byte/);
  });

  it("is short in half-open spans of its own device", () => {
    expect([1.9, 2, 5.9, 6].map((t) => shortIn(memory, 0, t))).toEqual([-1, 0, 0, -1]);
    expect(shortIn(memory, 1, 3)).toBe(-1);
    expect(shortIn(memory, 0, 0, 2)).toBe(0);
  });

  it("is scaled to its capacity, to the peak beyond it, or, where nothing comes near, to what is in use", () => {
    expect(Array.from(memory.top)).toEqual([16e9, 16e9]);
    const roomy = decodeMemory(encodeMemory([80e9, 80e9], [1e9, 2e9], [[], []]))!;
    expect(Array.from(roomy.top)).toEqual([2e9, 2e9]);
    const mixed = decodeMemory(encodeMemory([800e9, 80e9], [1e9, 32e9], [[], []]))!;
    expect(Array.from(mixed.top)).toEqual([32e9, 80e9]);
  });

  it("is said with units", () => {
    expect(usageLine(memory, labels, 0, 3)).toBe("gpu:0: 16 GB of 12 GB");
    expect(usageLine(memory, labels, 1)).toBe("gpu:1: 4 GB");
    expect(shortLine(memory, labels, 0)).toBe("4 GB short from 2 to 6 s");
    expect(memorySummary(memory, labels)).toBe(
      "gpu:0 out of memory, 4 GB short from 2 to 6 s · peak memory gpu:0: 16 GB of 12 GB, gpu:1: 4 GB",
    );
    expect(usageNow(memory, labels, 0)).toBe("gpu:0: 8 GB of 12 GB, gpu:1: 0 B");
  });
});

describe("a lane of memory", () => {
  const scene = sceneOf(PAIR, 900, 200, memory);
  const { axis, row, below, memory: height } = scene.layout;

  it("stands below the tracks of its device, and takes no room when it is not shown", () => {
    expect(hit(scene, 300, axis + below)).toEqual({ kind: "memory", device: 0 });
    expect(hit(scene, 300, axis + row + below + height - 1)).toEqual({ kind: "memory", device: 1 });
    expect(hit(scene, 300, axis + below + height)).toBeNull();
    expect(hit(scene, 300, axis + 2 * row + below)).toBeNull();
    expect(layout(scene.chart.lanes, 900, 200, 1, 100).memory).toBe(0);
  });

  it("stays usable with fifty devices", () => {
    const many = layout({ ...scene.chart.lanes, nDevices: 50 }, 900, 560, 1, 100, true);
    expect(many.memory).toBeGreaterThanOrEqual(12);
    expect(many.content).toBe(50 * many.row);
  });

  it("is filled up to what is in use, column by column, red where it is short, on the ops, too", () => {
    const paint = { thinLane: 1, line: 9, memory: [2, 3], short: [4, 5] };
    const colours = { ...scene, paint: paint as unknown as typeof scene.paint };
    const picture = raster(900, 200, 100, axis);
    paintUsage(picture, colours);
    paintShort(picture, colours);
    const column = (t: number, top: number, high: number) =>
      Array.from({ length: high }, (_, i) => picture.pixels[(top + i) * 900 + 100 + 100 * t]!);
    const share = (t: number, colour: number, device = 0) =>
      column(t, axis + device * row + below, height).filter((p) => p === colour).length / height;
    expect(share(1.5, 2)).toBeCloseTo(0.45, 1); // half of the 0.9 that the peak takes
    expect(share(3, 4)).toBeCloseTo(0.9, 1);
    expect(share(3, 2)).toBe(0);
    expect(share(7, 2) + share(7, 4)).toBe(0);
    expect(share(3, 2, 1)).toBeCloseTo(0.225, 1);
    expect(column(3, axis, 1)).toEqual([4]);
    expect(column(7, axis, 1)).toEqual([0]);
  });

  it("shows the least and the most of a column that holds many steps", () => {
    const steps = Array.from({ length: 8000 }, (_, i) => [i / 1000, i % 2 ? 65535 : 13107]);
    const busy = decodeMemory(encodeMemory([Infinity, Infinity], [1e9, 0], [steps, []]))!;
    const paint = { thinLane: 1, line: 9, memory: [2, 3], short: [4, 5] };
    const picture = raster(900, 200, 100, axis);
    paintUsage(picture, { ...scene, memory: busy, paint: paint as unknown as typeof scene.paint });
    const column = Array.from({ length: height }, (_, i) => picture.pixels[(axis + below + i) * 900 + 500]!);
    expect(column.filter((p) => p === 2).length / height).toBeCloseTo(0.18, 1);
    expect(column.filter((p) => p === 3).length / height).toBeCloseTo(0.72, 1);
  });
});
