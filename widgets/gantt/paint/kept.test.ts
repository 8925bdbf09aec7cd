import { describe, expect, it } from "vitest";
import { SI } from "../../shared/format.ts";
import { encodeKept, PAIR, sceneOf } from "../example.ts";
import type { Paint } from "../scene/colours.ts";
import { keptNote } from "../scene/describe.ts";
import { decodeKept } from "../scene/kept.ts";
import { layout } from "../scene/layout.ts";
import { shareFor } from "./level.ts";
import { raster } from "./raster.ts";
import { paintKept } from "./rows.ts";

// Ops 0 and 1 one after the other on device 1; op 2 on a device that is gone.
const kept = decodeKept(
  encodeKept(10, 2, [
    [1, 0, 2],
    [1, 2, 6],
    [65535, 6, 10],
  ]),
)!;

describe("a kept schedule", () => {
  it("is read back, by device", () => {
    expect(kept.makespan).toBe(10);
    expect(Array.from(kept.tracks.ptr)).toEqual([0, 0, 2]);
    expect(Array.from(kept.tracks.bar)).toEqual([0, 1]);
    expect(decodeKept(new DataView(new ArrayBuffer(0)))).toBeNull();
  });

  it("says where an op was", () => {
    const labels = { names: [], kinds: new Uint8Array(), kindNames: [], devices: ["gpu:0", "gpu:1"], units: SI };
    expect(keptNote(kept, labels, 1)).toEqual(["kept", "gpu:1, 2 s to 6 s"]);
    expect(keptNote(kept, labels, 2)[1]).toContain("a device that is gone");
  });

  it("has a strip of its own along the lane, and outlines behind the bars", () => {
    const bare = sceneOf(PAIR);
    const lay = layout(bare.chart.lanes, 900, 200, 1, 100, false, 0, true);
    const paint = { kept: Uint32Array.of(5, 6) } as unknown as Paint;
    const scene = { ...bare, kept, layout: lay, paint };
    const picture = raster(900, 200, 100, lay.axis);
    paintKept(picture, scene, 1, shareFor(900, 1));
    const at = (t: number, y: number) => picture.pixels[(lay.axis + lay.row + y) * 900 + 100 + Math.round(100 * t)];
    expect(lay.kept).toBeGreaterThanOrEqual(3);
    expect([at(1, 1), at(1, lay.kept + 2), at(7, 1)]).toEqual([5, 0, 0]);
    expect([at(2, lay.kept + 2), at(4, lay.ops - 1)]).toEqual([6, 6]);
    paintKept(picture, scene, 0, shareFor(900, 1));
    expect(picture.pixels.slice(0, (lay.axis + lay.row) * 900).every((pixel) => pixel === 0)).toBe(true);
  });
});
