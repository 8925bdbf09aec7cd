import { describe, expect, it } from "vitest";
import { SI } from "../../shared/format.ts";
import { chartOf, PAIR, type Rows, sceneOf } from "../example.ts";
import type { Paint } from "../scene/colours.ts";
import { describeLink } from "../scene/describe.ts";
import { hit } from "../scene/hit.ts";
import { layout } from "../scene/layout.ts";
import { activityAt, links } from "../scene/links.ts";
import { paintLinks } from "./linklanes.ts";
import { raster } from "./raster.ts";

// Device 0 sends to 1 from 1 to 3 and from 2 to 4, device 1 to 0 from 4 to 5.
const ROWS: Rows = {
  devices: 3,
  ops: [
    [0, 1, 0],
    [3, 1, 1],
    [5, 3, 0],
  ],
  transfers: [
    [1, 2, 0, 1, 0],
    [2, 2, 0, 1, 0],
    [4, 1, 1, 0, 1],
  ],
};
const all = chartOf(ROWS);
const used = links(all.columns, all.bars);

describe("links", () => {
  it("are those that carry something, busy while they do", () => {
    expect(used.pairs).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(Array.from(used.busy)).toEqual([3, 1]);
    expect(used.most).toBe(2);
  });

  it("do not count a transfer that begins as another ends", () => {
    const turn = chartOf({
      devices: 2,
      ops: [[0, 1, 0]],
      transfers: [
        [1, 1, 0, 1, 0],
        [2, 1, 0, 1, 0],
      ],
    });
    expect(links(turn.columns, turn.bars).most).toBe(1);
  });

  it("say what is busy at a time", () => {
    const at = (time: number) => activityAt(all, used, time);
    expect(at(0.5)).toEqual({ devices: [0], links: [] });
    expect(at(3.5)).toEqual({ devices: [1], links: [[0, 1]] });
    expect(at(4)).toEqual({ devices: [], links: [[1, 0]] });
  });

  it("are described with what they carry", () => {
    const labels = {
      names: ["a", "b", "c"],
      kinds: new Uint8Array(3),
      kindNames: [],
      devices: ["x", "y", "z"],
      units: SI,
    };
    expect(describeLink(all, used, labels, 0, 2.5)).toEqual({
      title: "x → y",
      rows: [
        ["now", "output of a, a"],
        ["busy", "38 %"],
        ["transfers", "2"],
      ],
    });
    expect(describeLink(all, used, labels, 1, 2.5).rows[0]).toEqual(["now", "nothing"]);
  });

  it("name those that share a link with other pairs of devices", () => {
    const shared = [
      {
        name: "switch",
        pairs: [
          [0, 1],
          [1, 0],
        ] as [number, number][],
      },
      {
        name: "card",
        pairs: [
          [0, 1],
          [0, 2],
        ] as [number, number][],
      },
    ];
    const labels = {
      names: ["a", "b", "c"],
      kinds: new Uint8Array(3),
      kindNames: [],
      devices: ["x", "y", "z"],
      units: SI,
      shared,
    };
    const rows = (link: number, t: number) => describeLink(all, used, labels, link, t).rows.slice(0, -2);
    expect(rows(1, 2.5)).toEqual([
      ["now", "nothing"],
      ["on switch", "output of a, a"],
    ]);
    expect(rows(0, 4.5)).toEqual([
      ["now", "nothing"],
      ["on switch", "output of b"],
      ["on card", "nothing"],
    ]);
  });
});

describe("lanes of links", () => {
  const bare = sceneOf(ROWS, 900, 300);
  const look = { thinLane: 1, bars: Uint32Array.of(...Array<number>(8).fill(0), 7) } as unknown as Paint;
  const scene = { ...bare, links: used, paint: look, layout: layout(all.lanes, 900, 300, 1, 100, false, 2) };
  const { axis, linksTop, link, apart } = scene.layout;

  it("lie below the devices and are found there", () => {
    expect(linksTop).toBeGreaterThan(scene.layout.row * 3);
    expect(hit(scene, 300, axis + linksTop + 2)).toEqual({ kind: "link", link: 0 });
    expect(hit(scene, 300, axis + linksTop + link + apart + 2)).toEqual({ kind: "link", link: 1 });
    expect(hit(scene, 300, axis + linksTop - 2)).toBeNull();
    expect(hit(bare, 300, axis + linksTop + 2)).toBeNull();
  });

  it("are as high as what they carry at once", () => {
    const picture = raster(900, 300, 100, axis);
    paintLinks(picture, scene);
    const high = (t: number) => {
      const x = 100 + 100 * t;
      return Array.from({ length: link }, (_, i) => picture.pixels[(axis + linksTop + i) * 900 + x]).filter(
        (p) => p === 7,
      ).length;
    };
    expect([0.5, 1.5, 2.5, 3.5, 5].map(high)).toEqual([
      0,
      Math.round(link / Math.log2(3)),
      link,
      Math.round(link / Math.log2(3)),
      0,
    ]);
  });

  it("need no room where nothing travels", () => {
    const { columns, bars, lanes } = chartOf({ ...PAIR, transfers: [], critical: [] });
    expect(links(columns, bars).pairs).toEqual([]);
    expect(layout(lanes, 900, 300, 1, 100).content).toBe(layout(lanes, 900, 300, 1, 100, false, 0).content);
  });
});
