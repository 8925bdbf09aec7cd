import { expect, it, describe as suite } from "vitest";
import type { Theme } from "../shared/theme.ts";
import { between, bounded, fit, isWhole, showing, whole, zoomAt } from "./camera.ts";
import { legendOf, partsOf } from "./colours.ts";
import { drawBase } from "./draw.ts";
import { curveOf, widths } from "./edges.ts";
import { actionOf, moveFrom } from "./keyboard.ts";
import { fitted, mix, paintOf } from "./paint.ts";
import { boxAt, boxOfNode, opsIn, pictureOf } from "./picture.ts";
import type { Box, Scene } from "./traits.ts";
import { decodeValues, NOWHERE, pinnedBoxes, runningAt, SEVERAL, sumsOf, type Values } from "./values.ts";
import { describe, spoken } from "./words.ts";

/** Ops 0 to 4; scope 6 is open around ops 1, 2 and the closed scope 7 of ops 3, 4. */
function box(node: number, x: number, y: number, w: number, h: number, more: Partial<Box> = {}): Box {
  return {
    node,
    label: `n${node}`,
    path: `p/n${node}`,
    inside: -1,
    open: false,
    layer: 0,
    x,
    y,
    w,
    h,
    ops: 1,
    kinds: "Mul",
    ...more,
  };
}
const SCENE: Scene = {
  ops: 5,
  boxes: [
    box(0, 0, 40, 50, 20),
    box(6, 90, 0, 300, 100, { open: true, ops: 4, layer: 1 }),
    box(1, 100, 30, 50, 20, { inside: 1 }),
    box(2, 200, 20, 50, 20, { inside: 1, layer: 1 }),
    box(7, 200, 60, 80, 20, { inside: 1, layer: 1, ops: 2 }),
  ],
  edges: { source: [0, 2, 2, 4], target: [2, 3, 4, 2], bytes: [100, 5, 1000, 0], back: [3] },
};
const picture = pictureOf(SCENE, new Int32Array([0, 2, 3, 4, 4]));
const values: Values = {
  makespan: 10,
  start: Float32Array.of(0, 2, 4, 4, 6),
  duration: Float32Array.of(2, 2, 1, 2, 4),
  device: Uint16Array.of(0, 0, 1, 1, 0),
  mark: Uint8Array.of(0, 0, 255, 255, 0),
};
const KINDS = Uint8Array.of(0, 1, 0, 1, 1);
const sums = sumsOf(picture, values, KINDS, Int16Array.of(-1, -1, -1, 1, 1), 2);
const DEVICES = ["cpu", "gpu"];

suite("a picture", () => {
  it("has the innermost box at a point", () => {
    expect([boxAt(picture, 10, 50), boxAt(picture, 95, 5), boxAt(picture, 210, 70), boxAt(picture, 500, 5)]).toEqual([
      0, 1, 4, -1,
    ]);
  });
  it("knows the ops in a box: its own, and those of boxes in it", () => {
    expect([0, 1, 4].map((at) => opsIn(picture, at))).toEqual([[0], [1, 2, 3, 4], [3, 4]]);
  });
  it("knows the box of an op, of a closed scope's op, of a scope", () => {
    expect([1, 4, 7, 6, 99, -1].map((node) => boxOfNode(picture, node))).toEqual([2, 4, 4, 1, -1, -1]);
  });
});

suite("the camera", () => {
  const view = { width: 200, height: 100 };
  const size = { width: 400, height: 100 };
  it("shows all in the middle, and small pictures not too large", () => {
    const all = whole(size, view);
    expect(isWhole(all, size, view)).toBe(true);
    expect(all.x + view.width / all.zoom / 2).toBeCloseTo(200);
    expect(whole({ width: 10, height: 10 }, view).zoom).toBe(1.25);
  });
  it("zooms around a point that stays, no further out than all", () => {
    const camera = { x: 20, y: 10, zoom: 1 };
    const closer = zoomAt(camera, 2, 50, 30, size, view);
    expect([closer.x + 50 / closer.zoom, closer.y + 30 / closer.zoom]).toEqual([70, 40]);
    expect(zoomAt(camera, 1e-9, 0, 0, size, view).zoom).toBeCloseTo(whole(size, view).zoom);
  });
  it("never leaves the picture", () => {
    const left = bounded({ x: -500, y: -500, zoom: 1 }, { ...size, height: 60 }, view);
    expect(left.x).toBe(-8);
    expect(left.y + 50).toBeCloseTo(30); // its height fits: in the middle
    expect(bounded({ x: 900, y: 0, zoom: 1 }, size, view).x).toBe(400 + 8 - 200);
  });
  it("moves only for what is not in view, and no closer", () => {
    const camera = { x: 0, y: 0, zoom: 1 };
    const seen = { x: 10, y: 10, width: 50, height: 20 };
    expect(showing(camera, seen, view)).toBe(camera);
    expect(showing(camera, { ...seen, x: 300 }, view)).toMatchObject({ zoom: 1, x: 225 });
    expect(showing(camera, { ...seen, width: 390 }, view)).toEqual(fit({ ...seen, width: 390 }, view));
  });
  it("goes from one view to the other", () => {
    const [from, to] = [
      { x: 0, y: 0, zoom: 1 },
      { x: 80, y: 8, zoom: 4 },
    ];
    expect(between(from, to, 0)).toEqual(from);
    expect(between(from, to, 1).x).toBeCloseTo(80);
    expect(between(from, { ...from, x: 10 }, 0.5)).toEqual({ x: 5, y: 0, zoom: 1 });
  });
});

suite("values", () => {
  it("are read as Python packs them", () => {
    const message = new DataView(new ArrayBuffer(24 + 8 + 8 + 8));
    [1, 1, 0, 0].forEach((x, i) => message.setUint32(4 * i, x, true));
    message.setFloat64(16, 7, true);
    message.setFloat32(24, 1.5, true);
    message.setFloat32(32, 2.5, true);
    message.setUint16(40, 3, true);
    expect(decodeValues(message)).toEqual({
      makespan: 7,
      start: Float32Array.of(1.5),
      duration: Float32Array.of(2.5),
      device: Uint16Array.of(3),
      mark: new Uint8Array(),
    });
    expect(decodeValues(new DataView(new ArrayBuffer(0)))).toBeNull();
  });
  it("add up over boxes, an open one holding what is in it", () => {
    expect(Array.from(sums.time)).toEqual([2, 9, 2, 1, 6]);
    expect(sums.byDevice[4 * 2]).toBeCloseTo(4);
    expect(sums.byDevice[1 * 2 + 1]).toBeCloseTo(3);
    expect(Array.from(sums.pins)).toEqual([0, 2, 0, 0, 2]);
  });
  it("say which boxes run", () => {
    expect(runningAt(picture, values, 4)).toEqual(
      new Map([
        [3, 1],
        [4, 1],
      ]),
    );
    expect(runningAt(picture, values, 10).size).toBe(0);
    expect(runningAt(picture, null, 4).size).toBe(0);
  });
  it("list pins by the outermost box that is pinned as a whole", () => {
    expect(pinnedBoxes(picture, sums)).toEqual([4]);
    const all = sumsOf(picture, values, KINDS, Int16Array.of(0, 1, 1, 1, 1), 2);
    expect(pinnedBoxes(picture, all)).toEqual([0, 1]);
    const apart = sumsOf(picture, values, KINDS, Int16Array.of(-1, 0, -1, 0, 1), 2);
    expect(pinnedBoxes(picture, apart)).toEqual([2, 4]);
    expect([apart.pinnedTo[4], apart.pinnedTo[1]]).toEqual([SEVERAL, SEVERAL]);
  });
  it("of another graph are not used", () => {
    expect(sumsOf(picture, { ...values, start: new Float32Array(3) }, KINDS, [], 2).nDevices).toBe(0);
  });
});

suite("colours", () => {
  it("share a box by time on devices and of kinds", () => {
    const parts = partsOf(sums, 4, "device", "#f00", 9);
    expect(parts.map((part) => part.colour)).toEqual(["#332288", "#1f7a6d"]);
    expect(parts[0]!.share).toBeCloseTo(4 / 6);
    expect(partsOf(sums, 4, "kind", "#f00", 9)).toHaveLength(1);
  });
  it("of the critical path and of slack follow the marks", () => {
    const [first, second] = partsOf(sums, 4, "critical", "#f00", 9);
    expect(first).toMatchObject({ colour: "#f00" });
    expect(first!.share).toBeCloseTo(2 / 6);
    expect(second!.share).toBeCloseTo(4 / 6);
    expect(partsOf(sums, 0, "slack", "#f00", 9)).toEqual([{ colour: "#D73027", share: 1 }]);
  });
  it("of time go from little to most", () => {
    const colour = (most: number) => partsOf(sums, 0, "time", "#f00", most)[0]!.colour;
    expect([2, 20, 2e9].map(colour)).toEqual(["#FDE725", "#A0DA39", "#440154"]);
  });
  it("are none of what is not placed, but of its kind", () => {
    const device = values.device.map((d, v) => (v < 3 ? d : NOWHERE));
    const some = sumsOf(picture, { ...values, device }, KINDS, [], 2);
    for (const colour of ["device", "time", "critical", "slack"])
      expect([colour, partsOf(some, 4, colour, "#f00", 9)]).toEqual([colour, []]);
    expect(partsOf(some, 4, "kind", "#f00", 9)).toHaveLength(1);
    expect(partsOf(some, 0, "device", "#f00", 9)).toHaveLength(1);
    expect(legendOf(some, "device", "#f00", DEVICES, []).length).toBeLessThan(3);
    const none = sumsOf(picture, { ...values, device: values.device.map(() => NOWHERE) }, KINDS, [], 2);
    expect([legendOf(none, "device", "#f00", DEVICES, []), partsOf(none, 0, "device", "#f00", 9)]).toEqual([[], []]);
  });
  it("are explained where there are any", () => {
    expect(legendOf(sums, "device", "#f00", [...DEVICES, "idle"], []).map((item) => item.text)).toEqual(DEVICES);
    expect(legendOf(sums, "kind", "#f00", DEVICES, ["Mul", "Add", ""]).map((item) => item.text)).toEqual([
      "Mul",
      "Add",
    ]);
    expect(partsOf(sumsOf(picture, null, KINDS, [], 2), 0, "device", "#f00", 0)).toEqual([]);
  });
});

suite("edges", () => {
  it("leave on the right and enter on the left, or go around", () => {
    const [a, b, frame] = [picture.boxes[2]!, picture.boxes[3]!, picture.boxes[0]!];
    expect(curveOf(a, b).slice(0, 2)).toEqual([150, 40]);
    expect(curveOf(a, b).slice(6)).toEqual([200, 30]);
    expect(curveOf(b, { ...frame, y: 200 }).slice(0, 2)).toEqual([225, 40]); // from below
    expect(curveOf(b, { ...frame, y: 25 })[3]).toBeLessThan(20); // over both
  });
  it("are thicker for more bytes", () => {
    const width = widths([0, 10, 1000]);
    expect(width(0)).toBeLessThan(width(10));
    expect(width(10)).toBeLessThan(width(1000));
    expect(widths([])(0)).toBeGreaterThan(0);
    expect(widths([8, 8])(8)).toBeGreaterThan(1);
  });
});

suite("keys", () => {
  it("belong to the graph only without Ctrl, Alt and Meta", () => {
    const key = { key: "Enter", ctrlKey: false, altKey: false, metaKey: false };
    expect([actionOf(key), actionOf({ ...key, ctrlKey: true }), actionOf({ ...key, key: "q" })]).toEqual([
      "toggle",
      undefined,
      undefined,
    ]);
  });
  it("follow the edge that carries most, else go to what is near", () => {
    expect(moveFrom(picture, 2, "right")).toBe(4);
    expect(moveFrom(picture, 4, "left")).toBe(2);
    expect(moveFrom(picture, 4, "right")).toBe(2); // the only edge, though it points back
    expect(moveFrom(picture, 4, "up")).toBe(3);
    expect(moveFrom(picture, 0, "left")).toBe(0);
    expect(moveFrom(picture, -1, "down")).toBe(0);
    expect(moveFrom(picture, 1, "right")).toBe(2); // into the frame
  });
});

suite("words", () => {
  it("say what a box holds, where it runs and what it moves", () => {
    const rows = Object.fromEntries(describe(picture, sums, 4, DEVICES).rows);
    expect(rows).toEqual({
      ops: "2",
      kinds: "Mul",
      time: "6 s, 55 % of all work",
      devices: "cpu 67 %, gpu 33 %",
      tensors: "1 kB in, 0 B out",
      pinned: "gpu",
    });
    expect(spoken(picture, sums, 1, DEVICES)).toContain("p/n6, open scope; ops 4");
  });
  it("are cut in their middle", () => {
    const measure = (text: string) => text.length;
    expect([fitted("abcdefgh", 8, measure), fitted("abcdefgh", 5, measure), fitted("ab", 0, measure)]).toEqual([
      "abcdefgh",
      "ab…gh",
      "",
    ]);
  });
});

it("writes the name of a small frame above its first node", () => {
  const written = new Map<string, number>();
  const methods: Record<string, unknown> = {
    fillText: (text: string, _: number, middle: number) => written.set(text, middle),
    measureText: (text: string) => ({ width: 6 * text.length }),
  };
  const g = new Proxy({} as CanvasRenderingContext2D, {
    get: (_, name) => methods[String(name)] ?? (() => {}),
    set: () => true,
  });
  const frame = pictureOf(
    {
      ops: 1,
      boxes: [box(6, 0, 0, 200, 80, { open: true }), box(0, 8, 18, 90, 24, { inside: 0 })],
      edges: { source: [], target: [], bytes: [], back: [] },
    },
    new Int32Array([1]),
  );
  const theme = { dark: false, bg: "#ffffff", ink: "#000000", line: "#cccccc" } as Theme;
  const camera = { x: 0, y: 0, zoom: 0.5 };
  drawBase(g, {
    picture: frame,
    camera,
    size: { width: 300, height: 200 },
    paint: paintOf(theme),
    parts: [[], []],
    drawn: [],
    width: [],
    pins: ["", ""],
  });
  expect([...written.keys()]).toEqual(["n0", "n6"]);
  expect(written.get("n6")! + 5.5).toBeLessThanOrEqual(18 * camera.zoom);
});
it("mixes colours", () => expect(mix("#000000", "#ff8000", 0.5)).toBe("#804000"));
