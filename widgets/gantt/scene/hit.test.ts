import { describe, expect, it } from "vitest";
import { PAIR, sceneOf } from "../example.ts";
import { hit } from "./hit.ts";
import { trackAt, trackBox } from "./places.ts";

const scene = sceneOf(PAIR); // 100 pixels per second, right of a gutter of 100
const { axis, row, ops, transfer } = scene.layout;
const at = (t: number, y: number) => hit(scene, 100 + 100 * t, axis + y);

describe("hit", () => {
  it("finds the op under the pointer", () => {
    expect(at(1, 3)).toMatchObject({ kind: "op", row: 0, device: 0 });
    expect(at(5.5, row + 3)).toMatchObject({ kind: "op", row: 2, device: 1 });
  });

  it("finds a transfer on its source's out lane and its destination's in lane", () => {
    expect(at(3, ops + transfer + 1)).toMatchObject({ kind: "transfer", row: 0, device: 0 });
    expect(at(3, row + ops + 1)).toMatchObject({ kind: "transfer", row: 0, device: 1 });
  });

  it("finds the idle gap where no bar is", () => {
    expect(at(3, 3)).toEqual({ kind: "idle", row: 1, device: 0 });
    expect(at(2, row + 3)).toEqual({ kind: "idle", row: 0, device: 1 });
  });

  it("forgives a miss by three pixels, and takes the nearer bar", () => {
    expect(at(2.02, 3)).toMatchObject({ kind: "op", row: 0 });
    expect(at(2.05, 3)).toMatchObject({ kind: "idle" });
  });

  it("finds nothing on the axis, on the names, between devices and below them", () => {
    expect(hit(scene, 150, 5)).toBeNull();
    expect(hit(scene, 50, axis + 3)).toBeNull();
    expect(at(1, row - 1)).toBeNull();
    expect(at(1, 2 * row + 5)).toBeNull();
  });

  it("takes scrolling into account", () => {
    expect(hit({ ...scene, scroll: row }, 100 + 550, axis + 3)).toMatchObject({ kind: "op", row: 2 });
  });
});

describe("layout", () => {
  it("maps a track to a box and back", () => {
    for (let k = 0; k < scene.chart.lanes.nDevices * scene.chart.lanes.perDevice; k++) {
      const { y, height } = trackBox(scene, k);
      expect(trackAt(scene, y)).toBe(k);
      expect(trackAt(scene, y + height - 1)).toBe(k);
    }
  });

  it("lets the chart of many devices scroll rather than vanish", () => {
    const many = sceneOf({ devices: 50, ops: [[0, 1, 0]] }, 900, 300);
    expect(many.layout.ops).toBeGreaterThanOrEqual(11);
    expect(many.layout.content).toBeGreaterThan(300);
  });
});
