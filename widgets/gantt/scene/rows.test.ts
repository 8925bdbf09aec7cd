import { describe, expect, it } from "vitest";
import { type Rows as Given, sceneOf } from "../example.ts";
import { hit, namedAt } from "./hit.ts";
import { layout } from "./layout.ts";
import { devicesOf, topOf, trackAt, trackBox, yOf } from "./places.ts";
import { busySeconds, computingAt, rowsOf } from "./rows.ts";

/** Five devices on two hosts; device 3 runs nothing, device 4 most. */
const FIVE: Given = {
  devices: 5,
  ops: [
    [0, 1, 0],
    [0, 3, 1],
    [0, 2, 2],
    [0, 8, 4],
  ],
};
const HOSTS = ["a", "a", "b", "b", "b"];
const bare = sceneOf(FIVE, 900, 400);
const busy = busySeconds(bare.chart);
const rows = (choice: Parameters<typeof rowsOf>[0]) => rowsOf(choice, bare.chart, busy, HOSTS);
const scene = (choice: Parameters<typeof rowsOf>[0], scroll = 0) => {
  const lay = layout(bare.chart.lanes, 900, 400, 1, 100, false, 0, false, rows(choice));
  return { ...bare, layout: lay, scroll: scroll * lay.row };
};

describe("rows", () => {
  it("fit where they have room, whatever the page's scale is", () => {
    for (const tracks of [3, 4])
      for (const ratio of [1, 1.1, 1.25, 1.5, 2])
        for (let high = 180; high < 400; high += 7) {
          const lanes = { ...bare.chart.lanes, nDevices: 4, incoming: tracks, outgoing: tracks };
          const lay = layout(lanes, 900, high, ratio, 100, false, 0);
          expect(lay.content).toBeLessThanOrEqual(lay.height - lay.axis);
        }
  });

  it("are by number, or the busiest first, ties by number", () => {
    expect([...rows({}).of]).toEqual([0, 1, 2, 3, 4]);
    expect([...rows({ order: "busy" }).of]).toEqual([4, 1, 2, 0, 3]);
    expect([...rowsOf({ order: "busy" }, bare.chart, new Float64Array(5), HOSTS).of]).toEqual([0, 1, 2, 3, 4]);
  });

  it("are the busiest first where nothing is chosen and devices are many", () => {
    const many = sceneOf({ devices: 50, ops: [[0, 1, 49]] }).chart;
    expect(rowsOf({}, many, busySeconds(many), []).of[0]).toBe(49);
    expect(rowsOf({ order: "number" }, many, busySeconds(many), []).of[0]).toBe(0);
  });

  it("leave out idle devices, but pinned ones", () => {
    expect([...rows({ hides: true }).of]).toEqual([0, 1, 2, 4]);
    expect([...rows({ hides: true, pinned: [3] }).of]).toEqual([3, 0, 1, 2, 4]);
    expect(rows({ hides: true }).at[3]).toBe(-1);
  });

  it("put pinned devices first, in the order in which they were pinned, and know no strange ones", () => {
    const { of, pinned } = rows({ pinned: [4, 2, 77] });
    expect([[...of], pinned]).toEqual([[4, 2, 0, 1, 3], 2]);
  });

  it("fold a host into one row where its first device would be; a pinned device keeps its own", () => {
    const folded = rows({ folded: ["b"], pinned: [4] });
    expect([...folded.of]).toEqual([4, 0, 1, -1]);
    expect([...folded.at]).toEqual([1, 2, 3, 3, 0]);
    expect([...folded.within]).toEqual([0, 0, 1, 1, 0]);
    expect(folded.hosts).toEqual([{ name: "b", devices: [2, 3] }]);
  });

  it("have every device once, or in its host, or hidden because it is idle", () => {
    const choices = [{}, { hides: true }, { folded: ["a", "b"] }, { folded: ["a"], pinned: [0], hides: true }];
    for (const choice of choices) {
      const { of, at } = rows(choice);
      at.forEach((row, d) => {
        if (row < 0) expect(choice.hides && d === 3).toBe(true);
        else expect(of[row] === d || of[row]! < 0).toBe(true);
      });
      expect(new Set(of).size).toBe(of.length);
    }
  });
});

describe("places in other orders", () => {
  it("map tracks to boxes and back, under any choice and scroll", () => {
    for (const [choice, scroll] of [
      [{ order: "busy" }, 0],
      [{ pinned: [3, 1] }, 2],
      [{ hides: true, folded: ["a"] }, 1],
    ] as const) {
      const some = scene(choice, scroll);
      const { of, at, within } = some.layout.rows;
      for (let d = 0; d < 5; d++) {
        const { y, height } = trackBox(some, d * some.chart.lanes.perDevice);
        if (y < some.layout.axis)
          expect(at[d]! < 0 || within[d] || at[d]! < scroll + some.layout.rows.pinned).toBeTruthy();
        else expect([trackAt(some, y), trackAt(some, y + height - 1)]).toEqual([d, d]);
      }
      expect(of.length).toBeGreaterThan(0);
    }
  });

  it("keep pinned rows at the top while others scroll under them", () => {
    const { axis, row } = scene({}).layout;
    const some = scene({ pinned: [4] }, 2);
    expect(yOf(some, 4)).toBe(axis);
    expect([yOf(some, 0) < 0, yOf(some, 1) < 0]).toEqual([true, true]);
    expect(yOf(some, 2)).toBe(axis + row);
    expect(hit(some, 101, axis + row + 3)).toMatchObject({ kind: "op", row: 2 });
  });

  it("find a folded host in its row and by its name", () => {
    const some = scene({ folded: ["b"] });
    const y = topOf(some, 2) + 3;
    expect(hit(some, 300, y)).toEqual({ kind: "host", host: 0 });
    expect([namedAt(some, 20, y), namedAt(some, 20, topOf(some, 1)), namedAt(some, 300, y)]).toEqual([-1, 1, null]);
    expect(yOf(some, 2)).toBeLessThan(0);
  });

  it("give an area the devices of its rows, those of folded hosts included", () => {
    expect(devicesOf(scene({ folded: ["b"] }), 1, 2)).toEqual([1, 2, 3, 4]);
    expect(devicesOf(scene({ order: "busy" }), 0, 1)).toEqual([1, 4]);
  });

  it("know what computes", () => {
    expect(computingAt(bare.chart, [0, 1, 2, 3, 4], 1.5)).toEqual([1, 2, 4]);
  });
});
