import { describe, expect, it } from "vitest";
import { PAIR, sceneOf } from "../example.ts";
import type { Paint } from "../scene/colours.ts";
import type { Held } from "../scene/held.ts";
import { xOf } from "../scene/scene.ts";
import type { Hand } from "../wire/traits.ts";
import { drawHeld } from "./held.ts";

const scene = { ...sceneOf(PAIR), paint: { theme: { critical: "red" } } as unknown as Paint };

/** Spans of the lanes that are hatched, by the left and right edge and the top of what is clipped. */
function hatched(hand: Partial<Hand>): [left: number, right: number, top: number][] {
  const found: [number, number, number][] = [];
  const rect = (x: number, y: number, width: number) => found.push([x, x + width, y]);
  const context = new Proxy({ rect }, { get: (calls, name) => Reflect.get(calls, name) ?? (() => undefined) });
  const held: Held = {
    op: 0,
    ops: [0],
    was: null,
    others: [],
    at: null,
    hand: { ready: 0, refused: [], ...hand } as Hand,
  };
  drawHeld(context as unknown as CanvasRenderingContext2D, scene, held);
  return found;
}

describe("what is forbidden to an op in the hand", () => {
  const { layout, chart } = scene;
  const { start, finish } = chart.bars;
  const [one, other] = [layout.axis, layout.axis + layout.row];
  const last = chart.columns.ops.device.indexOf(1);

  it("is the lane of a device that refuses it", () => {
    expect(hatched({ refused: ["", "no room"], barred: [] })).toEqual([[layout.gutter, layout.width, other]]);
  });

  it("ends where the op ends that must run first, and begins with the one that must run later", () => {
    expect(hatched({ barred: [0, -1] })).toEqual([[layout.gutter, xOf(scene, finish[0]!), one]]);
    expect(hatched({ barred: [last, 1] })).toEqual([[xOf(scene, start[last]!), layout.width, other]]);
    expect(hatched({ barred: [0, 0] })).toEqual([[xOf(scene, start[0]!), xOf(scene, finish[0]!), one]]);
  });

  it("is nothing out of view", () => {
    const later = { ...scene, span: { from: finish[0]! + 1, to: finish[0]! + 2 } };
    expect(xOf(later, finish[0]!)).toBeLessThan(layout.gutter);
    expect(hatched({ barred: [] })).toEqual([]);
  });
});
