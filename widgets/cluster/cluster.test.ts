import { describe, expect, it } from "vitest";
import { SI } from "../shared/format.ts";
import { nameIn } from "./card.ts";
import { COLOURS, colourOf } from "./colours.ts";
import {
  contains,
  DENSE,
  fittingScene,
  graphScene,
  gridScene,
  LARGE,
  type Rect,
  type Scene,
  SNUG,
  slotAt,
  slotRect,
} from "./geometry.ts";
import { placed } from "./matrix.ts";
import { outbox } from "./outbox.ts";
import { BANDWIDTH, decades, LATENCY, MEMORY, read, SPEED, scaled, spoken, writeRange } from "./quantity.ts";
import { pairsText, ridden, sharesOf } from "./shares.ts";
import { words } from "./sketch.ts";
import {
  applied,
  between,
  block,
  type Cluster,
  drawing,
  fromWire,
  hostsOf,
  nextHost,
  rangeOf,
  sharedText,
  structure,
  within,
} from "./state.ts";
import { linkOf, sharedOf, speedOf } from "./targets.ts";
import type { Message } from "./traits.ts";

/** A cluster of hosts with so many devices each; links inside are 300, between 12. */
function cluster(...sizes: number[]): Cluster {
  const host = sizes.flatMap((n, h) => Array<string>(n).fill(`h${h}`));
  return fromWire({
    devices: host.map((name, i) => ({ name: `d${i}`, type: "gpu", host: name, speed: 10, memory: null })),
    bandwidth: host.map((a, i) => host.map((b, j) => (i === j ? 0 : a === b ? 300 : 12))),
    latency: host.map(() => host.map(() => 0)),
    order: host.map((_, i) => i),
    view: "auto",
    unitless: false,
  });
}

describe("shared links", () => {
  it("are named for the pairs of devices that use them", () => {
    const shared = [
      {
        name: "uplink",
        bandwidth: 12e9,
        pairs: [
          [0, 2],
          [1, 2],
        ] as [number, number][],
      },
    ];
    const two = { ...cluster(2, 1), shared };
    expect(
      sharedText(two, [
        [2, 0],
        [0, 2],
      ]),
    ).toBe("shared with other pairs of devices: uplink, 12 GB/s");
    expect(sharedText(two, [[0, 1]])).toBe("");
    expect(sharedText(cluster(2, 1), [[0, 2]])).toBe("");
  });

  /** The one shared link of a cluster, with the devices that show its letter. */
  const sharing = (sizes: number[], pairs: [number, number][]) => {
    const shared = [{ name: "x", bandwidth: 8, pairs }];
    const [share] = sharesOf({ ...cluster(...sizes), shared });
    return share!;
  };

  it("are shown at the device or host that all pairs have as an end, or at all ends", () => {
    expect(
      sharing(
        [4],
        [
          [0, 2],
          [0, 3],
          [1, 2],
          [1, 3],
        ],
      ).bearers,
    ).toEqual([0, 1, 2, 3]); // a switch
    expect(
      sharing(
        [4],
        [
          [1, 0],
          [1, 2],
          [3, 1],
        ],
      ).bearers,
    ).toEqual([1]); // a device's card
    expect(
      sharing(
        [2, 1, 1],
        [
          [0, 2],
          [1, 2],
          [3, 0],
          [1, 3],
        ],
      ).bearers,
    ).toEqual([0, 1]); // a host's card
    expect(
      sharing(
        [2, 2],
        [
          [0, 2],
          [1, 2],
          [1, 3],
        ],
      ).bearers,
    ).toEqual([0, 1, 2, 3]); // of two hosts neither is the one
  });

  it("are drawn on the wires that carry all their pairs, or else on all that carry some", () => {
    const card = sharing(
      [1, 1, 1, 1],
      [
        [0, 1],
        [0, 2],
        [3, 0],
      ],
    );
    const stubs = [0, 1, 2, 3].map((device) =>
      between(
        [device],
        [0, 1, 2, 3].filter((other) => other !== device),
      ),
    );
    expect(ridden(card, stubs)).toEqual([true, false, false, false]);
    expect(ridden(card, [between([0], [1]), between([0], [2]), between([1], [2])])).toEqual([true, true, false]);
  });

  it("name their pairs, the first eight of many", () => {
    const all = within([0, 1, 2, 3]);
    expect(
      pairsText(
        cluster(4),
        sharing(
          [4],
          all.map(([a, b]) => [a, b]),
        ).link,
      ),
    ).toMatch(/^d0 → d1, .* and 4 more$/);
  });

  it("have a bandwidth that is set or scaled, finite, and known before Python answers", () => {
    const shared = [
      { name: "x", bandwidth: 8, pairs: [[0, 1]] as [number, number][] },
      { name: "y", bandwidth: 3, pairs: [[1, 0]] as [number, number][] },
    ];
    const two = { ...cluster(2), shared };
    const target = sharedOf("x");
    const halved = applied(two, target.edit({ factor: 0.5 }));
    expect(halved.shared.map(({ bandwidth }) => bandwidth)).toEqual([4, 3]);
    expect(target.read(applied(halved, target.edit({ value: 20 })))).toEqual({ low: 20, high: 20 });
    expect(structure(halved)).toBe(structure(two));
    expect(structure({ ...two, shared: [{ ...shared[0]!, pairs: [[1, 0]] }, shared[1]!] })).not.toBe(structure(two));
    expect(read(target.quantity, "∞")).toContain("Not a bandwidth");
    expect(scaled(target.quantity, { low: 1e12, high: 1e12 }, 1e5, 3)).toEqual({ value: 1e17 });
  });
});

describe("messages to Python", () => {
  /** An outbox and what it has sent. */
  function recorded() {
    const sent: Message[] = [];
    return { sent, box: outbox((message) => sent.push(message)) };
  }
  const speed = (value: number) => ({ kind: "speed", device: 0, value }) as const;

  it("keeps one in flight; of a drag only the newest waits, and the release rides on it", () => {
    const { sent, box } = recorded();
    for (const value of [1, 2, 3, 4]) box.post(speed(value), 7, false);
    box.post({ kind: "release" }, 7, true);
    expect(sent.map((m) => "value" in m && m.value)).toEqual([1]);
    box.acknowledged([sent[0]!.seq]);
    expect(sent[1]).toMatchObject({ kind: "speed", value: 4, final: true });
    box.acknowledged([sent[1]!.seq]);
    expect(sent).toHaveLength(2);
    expect(box.idle).toBe(true);
  });

  it("never drops an edit that is complete in itself", () => {
    const { sent, box } = recorded();
    box.post(speed(1), 1, true);
    box.post({ kind: "undo" }, 2, true);
    box.post({ kind: "undo" }, 3, true);
    box.post(speed(5), 4, false);
    while (!box.idle) box.acknowledged([sent.at(-1)!.seq]);
    expect(sent.map((m) => m.kind)).toEqual(["speed", "undo", "undo", "speed"]);
  });

  it("does not take another view's acknowledgement for its own", () => {
    const { sent, box } = recorded();
    box.post(speed(1), 1, true);
    box.acknowledged([sent[0]!.seq - 1]);
    expect(box.idle).toBe(false);
  });

  it("finds its own acknowledgement before that of another browser, where both arrive as one", () => {
    const { sent, box } = recorded();
    box.post(speed(1), 1, true);
    box.acknowledged([sent[0]!.seq, sent[0]!.seq + 5]);
    expect(box.idle).toBe(true);
  });
});

describe("quantities", () => {
  it("are written without superfluous zeros, ranges with both ends", () => {
    expect(SPEED.write(1e13)).toBe("10 TFLOP/s");
    expect(BANDWIDTH.write(1.25e9)).toBe("1.25 GB/s");
    expect(writeRange(BANDWIDTH, { low: 6e9, high: 12e9 })).toBe("6–12 GB/s");
    expect(writeRange(BANDWIDTH, { low: 6e8, high: 12e9 })).toBe("600 MB/s – 12 GB/s");
    expect(writeRange(LATENCY, { low: 0, high: 0 })).toBe("0 s");
  });

  it.each([
    ["12 GB/s", 12e9],
    ["12G", 12e9],
    ["100 Gbit/s", 12.5e9],
    ["10gbit/s", 1.25e9],
    ["12 gb/s", 12e9],
    ["10 Gbps", 1.25e9],
    ["∞", Infinity],
    ["unlimited", Infinity],
    ["2e9", 2e9],
  ])("reads %j as a bandwidth of %d", (text, value) => {
    expect(read(BANDWIDTH, text)).toBe(value);
  });

  it("reads no unlimited speed, and latencies from 0", () => {
    expect(read(SPEED, "∞")).toContain("Not a speed");
    expect(read(LATENCY, "0")).toBe(0);
    expect(read(LATENCY, "50us")).toBeCloseTo(50e-6, 12);
    expect(read(MEMORY, "16 GB")).toBe(16e9);
    expect(read(MEMORY, "16 GiB")).toBe(2 ** 34);
  });

  it.each(["", "GB/s", "12 parsecs", "12 FLOP/s"])(
    "takes %j for no bandwidth, and says what one looks like",
    (text) => {
      expect(read(BANDWIDTH, text)).toBe("Not a bandwidth: write a number and its unit, as 12 GB/s or 100 Gbit/s.");
    },
  );

  it("take a bare number in the unit and prefix that stood there", () => {
    expect(read(SPEED, "20", "10 TFLOP/s")).toBe(20e12);
    expect(read(BANDWIDTH, "12", "6 GB/s")).toBe(12e9);
    expect(read(MEMORY, " 0,5 ", "16 GB")).toBe(0.5e9);
    expect(read(LATENCY, "50", "5 µs")).toBeCloseTo(50e-6, 12);
    expect(read(BANDWIDTH, "500 MB/s", "6 GB/s")).toBe(500e6);
    expect(read(BANDWIDTH, "2e9", "6 GB/s")).toBe(2e9);
  });

  it("want the unit of a bare number where none stood", () => {
    expect(read(MEMORY, "16", "∞")).toBe("Not a memory: write a number and its unit, as 16 GB.");
    expect(read(LATENCY, "50", "0 s")).toContain("its unit");
    expect(read(LATENCY, "0", "5 µs")).toBe(0);
  });

  it.each([BANDWIDTH, SPEED, MEMORY])("are more than 0, and say so", (quantity) => {
    for (const text of ["0", `0 ${quantity.unit}`, "-3", `−3 G${quantity.unit}`]) {
      for (const shown of ["∞", quantity.write(6e9)])
        expect(read(quantity, text, shown)).toBe(`The ${quantity.name} must be more than 0.`);
    }
  });

  it("name the bound that a number passes", () => {
    expect(read(LATENCY, "-1", "5 µs")).toBe("The latency must not be less than 0.");
    expect(read(SPEED, "1e30")).toBe(`The speed must be at most ${SPEED.write(SPEED.high)}.`);
    expect(read(MEMORY, "0.5 B")).toBe("The memory must be at least 1 B.");
    expect(read(MEMORY, "1e999")).toBe(Infinity);
  });

  it("scale one value to a round one and several by one factor", () => {
    expect(scaled(BANDWIDTH, { low: 6e9, high: 6e9 }, 10, 2)).toEqual({ value: 60e9 });
    expect(scaled(BANDWIDTH, { low: 6e9, high: 6e9 }, 1.2345, 2)).toEqual({ value: 7.4e9 });
    expect(scaled(BANDWIDTH, { low: 6e9, high: 12e9 }, 10, 2)).toEqual({ factor: 10 });
    expect(scaled(BANDWIDTH, { low: Infinity, high: Infinity }, 10, 2)).toEqual({ value: null });
  });

  it("goes over into unlimited at its end, and comes back from there", () => {
    const [some, none] = [
      { low: 16e9, high: 16e9 },
      { low: Infinity, high: Infinity },
    ];
    expect(scaled(MEMORY, some, 60, 3)).toEqual({ value: 960e9 });
    expect(scaled(MEMORY, some, 70, 3)).toEqual({ value: null });
    expect(scaled(MEMORY, none, 1, 3)).toEqual({ value: null });
    expect(scaled(MEMORY, none, 2, 3)).toEqual({ value: null });
    expect(scaled(MEMORY, none, 0.01, 3)).toEqual({ value: 10e9 });
    expect(scaled(MEMORY, { low: 4e12, high: 4e12 }, 1, 3)).toEqual({ value: 4e12 }); // typed, beyond the end
    expect(scaled(MEMORY, { low: 4e12, high: 4e12 }, 1.1, 3)).toEqual({ value: null });
    expect(spoken(MEMORY.write(Infinity))).toBe("unlimited");
  });

  it("come back to exactly where they began", () => {
    expect(scaled(SPEED, { low: 1.23456e13, high: 1.23456e13 }, 1, 2)).toEqual({ value: 1.23456e13 });
  });

  it("leave zero upwards, and stay within their bounds", () => {
    expect(scaled(LATENCY, { low: 0, high: 0 }, 10, 2)).toEqual({ value: 1e-6 });
    expect(scaled(LATENCY, { low: 0, high: 0 }, 0.1, 2)).toEqual({ value: 0 });
    expect(scaled(SPEED, { low: 1e20, high: 1e20 }, 1e9, 2)).toEqual({ value: SPEED.high });
  });

  it("have rulers with marks at 1, 2 and 5", () => {
    expect(decades(3, 60).map((m) => m.value)).toEqual([5, 10, 20, 50]);
    expect(decades(3, 60).filter((m) => m.major)).toHaveLength(1);
  });
});

describe("the cluster in the browser", () => {
  it("is what Python sent, unlimited for null", () => {
    expect(cluster(1).devices[0]!.memory).toBe(Infinity);
  });

  it("draws links up to ten devices, a matrix beyond, or what was asked for", () => {
    expect(drawing(cluster(5, 5))).toBe("graph");
    expect(drawing(cluster(11))).toBe("grid");
    expect(drawing({ ...cluster(11), view: "graph" })).toBe("graph");
  });

  it("lists hosts and their devices in the order of the cards", () => {
    const hosts = hostsOf({ ...cluster(2, 1), order: [2, 1, 0] });
    expect(hosts).toEqual([
      { name: "h1", members: [2] },
      { name: "h0", members: [1, 0] },
    ]);
  });

  it("names ordered pairs between, within and from block to block, no device with itself", () => {
    expect(between([0], [1, 2])).toEqual([
      [0, 1],
      [1, 0],
      [0, 2],
      [2, 0],
    ]);
    expect(within([0, 1])).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(block([0, 1], [1])).toEqual([[0, 1]]);
  });

  it("shows an edit of values before Python answers, and leaves the others to Python", () => {
    const before = cluster(2, 1);
    expect(applied(before, { kind: "bandwidth", pairs: [[0, 2]], factor: 2 }).bandwidth[0]).toEqual([0, 300, 24]);
    expect(applied(before, { kind: "memory", device: 0, value: 5 }).devices[0]!.memory).toBe(5);
    expect(applied(before, { kind: "remove", device: 0 })).toBe(before);
    expect(before.bandwidth[0]).toEqual([0, 300, 12]);
  });

  it("sends a device through all hosts and then to one of its own", () => {
    expect(nextHost(cluster(2, 1), 0)).toBe("h1");
    expect(nextHost(cluster(1, 2), 1)).toBeNull();
    expect(nextHost(cluster(2, 1), 2)).toBe("h0");
  });

  it("asks for new elements when structure changes, not when values do", () => {
    const before = cluster(2);
    expect(structure(applied(before, { kind: "speed", device: 0, value: 3 }))).toBe(structure(before));
    expect(structure({ ...before, order: [1, 0] })).not.toBe(structure(before));
  });

  it("reads what a handle shows from the present cluster", () => {
    const target = linkOf(
      "bandwidth",
      [
        [0, 1],
        [0, 2],
      ],
      "from d0",
    );
    expect(target.read(cluster(2, 1))).toEqual({ low: 12, high: 300 });
    expect(target.edit({ factor: 2 })).toMatchObject({ kind: "bandwidth", factor: 2 });
    expect(speedOf(1, "d1").edit({ value: 4 })).toEqual({ kind: "speed", device: 1, value: 4 });
    expect(
      rangeOf(
        [
          [0, 1],
          [2, 0],
        ],
        [
          [0, 1],
          [1, 0],
        ],
      ),
    ).toEqual({ low: 1, high: 2 });
  });
});

describe("where things stand", () => {
  const overlap = (a: Rect, b: Rect) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
  const clean = (scene: Scene) => {
    scene.boxes.forEach((a, i) => scene.boxes.slice(i + 1).forEach((b) => expect(overlap(a, b)).toBe(false)));
    scene.cards.forEach((a, i) => scene.cards.slice(i + 1).forEach((b) => expect(overlap(a, b)).toBe(false)));
    for (const box of scene.boxes)
      for (const d of box.members) expect(contains(box, { x: scene.cards[d]!.x, y: scene.cards[d]!.y })).toBe(true);
    if (scene.network) for (const box of scene.boxes) expect(overlap(box, scene.network)).toBe(false);
    for (const r of [...scene.boxes, ...scene.cards]) {
      expect(Math.min(r.x, r.y)).toBeGreaterThanOrEqual(0);
      expect(r.x + r.w).toBeLessThanOrEqual(scene.width);
      expect(r.y + r.h).toBeLessThanOrEqual(scene.height);
    }
  };
  const shapes = [
    [1],
    [4],
    [8],
    [4, 4],
    [1, 1],
    [3, 1, 2],
    [1, 1, 1, 1, 1],
    [2, 1, 5, 1],
    [50],
    Array<number>(9).fill(1),
    Array<number>(50).fill(1),
  ];

  it.each(shapes)("nothing overlaps: hosts of %j devices …", (...sizes: number[]) => {
    clean(graphScene(cluster(...sizes)));
    for (const width of [300, 580, 1200]) clean(fittingScene(cluster(...sizes), [LARGE, SNUG, DENSE], width, 175));
    for (const width of [300, 700, 1200]) clean(gridScene(cluster(...sizes), width));
  });

  it.each([[2, 2], [4, 4], [8], [1, 1, 1, 1, 1], [1, 1, 1]])(
    "hosts of %j devices … lie as a whole in the canvas of a small window, which is not scaled",
    (...sizes: number[]) => {
      const scene = fittingScene(cluster(...sizes), [SNUG, DENSE], 588, 175);
      expect(scene.width + 2 * scene.sizes.margin).toBeLessThanOrEqual(588);
      expect(scene.height + scene.sizes.margin + scene.sizes.below).toBeLessThanOrEqual(175);
    },
  );

  it("cards are as large as there is room for", () => {
    expect(fittingScene(cluster(4), [SNUG, DENSE], 588, 175).sizes).toBe(SNUG);
    expect(fittingScene(cluster(2, 2), [SNUG, DENSE], 1000, 175).sizes).toBe(SNUG);
    expect(fittingScene(cluster(6, 6, 6), [SNUG, DENSE], 588, 175).width).toBeLessThanOrEqual(588);
  });

  it("the matrix is a square in its room, with its controls where they cost least", () => {
    expect(placed(287, 175)).toEqual({ side: 147, beside: true });
    expect(placed(287, 400)).toEqual({ side: 287, beside: false });
    expect(placed(580, Infinity)).toEqual({ side: 580, beside: false });
  });

  it("a network joins more than three hosts, lines fewer", () => {
    expect(graphScene(cluster(1, 1, 1)).network).toBeNull();
    expect(graphScene(cluster(1, 1, 1, 1)).network).not.toBeNull();
  });

  it("parameter servers stand alone above the network", () => {
    const c = cluster(1, 1, 1, 1, 1);
    const scene = graphScene({ ...c, devices: c.devices.map((d, i) => (i ? d : { ...d, type: "ps" })) });
    expect(scene.boxes.filter((box) => box.y < scene.network!.y).map((box) => box.host)).toEqual(["h0"]);
  });

  it("a card put down at a place goes to that place", () => {
    const scene = graphScene(cluster(8));
    const box = scene.boxes[0]!;
    for (let slot = 0; slot < 8; slot++) {
      const { x, y, w, h } = slotRect(box, scene.sizes, slot);
      expect(slotAt(box, scene.sizes, { x: x + w / 2 + 9, y: y + h / 2 - 9 }, 8)).toBe(slot);
    }
    expect(slotAt(box, scene.sizes, { x: 1e4, y: 1e4 }, 8)).toBe(7);
  });
});

describe("the curve of a drag", () => {
  it("says at which value another pair is better", () => {
    const curve = {
      values: [1e9, 1e10],
      makespans: [2, 1],
      best: [[1e9, "etf + pct", 1.5]] as [number, string, number][],
      preview: false,
    };
    const said = (at: number) =>
      words(
        curve,
        (value) => 120 * Math.log10(value),
        at,
        1,
        2,
        SI,
        (value) => `${value / 1e9} GB/s`,
      );
    expect(said(120 * 9.3)).toBe("1 s to 2 s · at 1 GB/s etf + pct takes 1.5 s");
    expect(said(120 * 10)).toBe("1 s to 2 s");
  });
});

it("a card says its device's name without that of the host around it", () => {
  expect(nameIn("node0", "node0/gpu:1")).toBe("gpu:1");
  expect(nameIn("node1", "node0/gpu:1")).toBe("node0/gpu:1");
  expect(nameIn("node1", "node10")).toBe("node10");
});

describe("colours of the matrix", () => {
  it("run logarithmically from the lowest to the highest value", () => {
    expect(colourOf(1, { low: 1, high: 100 })).toBe(COLOURS[0]);
    expect(colourOf(100, { low: 1, high: 100 })).toBe(COLOURS.at(-1));
    expect(colourOf(1e9, { low: 1, high: 100 })).toBe(COLOURS.at(-1));
    expect(colourOf(0, { low: 1, high: 100 })).toBe(COLOURS[0]);
    expect(colourOf(10, { low: 1, high: 1000 })).toBe(COLOURS[3]);
  });

  it("are the middle where all values are equal", () => {
    expect(colourOf(5, { low: 5, high: 5 })).toBe(colourOf(10, { low: 1, high: 100 }));
  });
});
