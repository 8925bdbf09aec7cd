/** The cluster canvas in a page that recomputes: what a hand changes there become values. */

import cluster from "../cluster/index.ts";
import { applied, type Cluster, fromWire } from "../cluster/state.ts";
import type { ClusterTraits, Message, WireCluster } from "../cluster/traits.ts";
import type { View } from "../shared/commands.ts";
import { h } from "../shared/dom.ts";
import { modelOf } from "../shared/model.ts";
import { type CurveHost, CurveOfDrag, type Dragged } from "./curve.ts";
import type { Setting } from "./traits.ts";
import { type Columns, changed, differences, type Values } from "./values.ts";

/** What of the cluster a page knows beside its values. */
export interface Known {
  readonly setting: Setting;
  readonly saved: Columns;
  readonly unitless: boolean;
  /** Devices whose speed changes no time. */
  readonly timed: readonly number[];
}

export interface Hands extends Omit<CurveHost, "show"> {
  /** With each change, also in the midst of a drag. */
  change(values: Map<string, number>): void;
  /** At the end of a change. */
  settled(): void;
  undo(): void;
  redo(): void;
}

export interface Canvas {
  readonly element: HTMLElement;
  /** Values that come from elsewhere. */
  put(values: Values): void;
  /** Whether links that several pairs share count in the transfer model. */
  share(counts: boolean): void;
  /** The most bytes in use on each device; none where that is not known. */
  tellPeak(bytes: readonly number[]): void;
}

export function canvas(known: Known, hands: Hands): Canvas {
  let view: View = "auto";
  let values: Values = new Map();
  const wire = () => wireOf(known, changed(known.saved, values), view);
  const model = modelOf<ClusterTraits>({
    cluster: wire(),
    edit: {},
    ack: [],
    peak: [],
    load: [],
    selected: -1,
    chosen: {},
    curve: {},
    error: "",
    fixed: [...known.timed],
    sharing: true,
    embedded: true,
    values_only: true,
    can_undo: false,
    can_redo: false,
  });
  let base: Cluster = fromWire(model.get("cluster")); // in which the drag in progress began
  let gesture = -1;
  const curve = new CurveOfDrag({ ...hands, show: (found) => model.set("curve", found) });

  /** What a drag changes, and by how much at any other value. */
  function dragged(message: Message): Dragged | null {
    const start = draggedValue(base, message);
    if (start === null) return null;
    const from = base;
    const at = (factor: number) => {
      const other = { ...message, factor, value: start * factor } as Message; // a device takes the value, links the factor
      const now = applied(from, other);
      return differences(known.saved, columnsIn(now, known.saved));
    };
    return { start, at };
  }

  function edit(message: Message): void {
    const { kind } = message;
    if (kind === "undo") hands.undo();
    else if (kind === "redo") hands.redo();
    else if (kind === "view") view = message.view;
    else if (kind !== "release") {
      if (message.gesture !== gesture) {
        base = fromWire(model.get("cluster"));
        const what = message.final ? null : dragged(message);
        if (what) curve.begin(what);
      }
      curve.moved();
      gesture = message.gesture;
      const now = differences(known.saved, columnsIn(applied(base, message), known.saved));
      values = now;
      hands.change(now);
    }
    if (!message.final) return;
    gesture = -1;
    curve.end();
    model.set("cluster", wire());
    if (kind !== "undo" && kind !== "redo" && kind !== "view") hands.settled();
  }

  model.on("change:edit", () => {
    const message = model.get("edit") as Message;
    edit(message);
    model.set("ack", [message.seq]);
  });
  const element = h("div");
  cluster.render({ model, el: element } as never); // the view asks no more of what anywidget gives
  return {
    element,
    put(given) {
      values = given;
      model.set("cluster", wire());
    },
    share: (counts) => model.set("sharing", counts),
    tellPeak: (bytes) => model.set("peak", [...bytes]),
  };
}

/** The value that a message changes; of links the least. */
function draggedValue(now: Cluster, message: Message): number | null {
  switch (message.kind) {
    case "speed":
    case "memory":
      return now.devices[message.device]![message.kind];
    case "bandwidth":
    case "latency":
      return Math.min(...message.pairs.map(([i, j]) => now[message.kind][i]![j]!));
    case "shared":
      return now.shared.find(({ name }) => name === message.link)!.bandwidth;
    default:
      return null;
  }
}

function wireOf({ setting, unitless }: Known, columns: Columns, view: View): WireCluster {
  const { names, types, hosts, links } = setting;
  const k = names.length;
  const finite = (x: number) => (x < Infinity ? x : null);
  const rows = <T>(column: Float64Array, cell: (x: number, p: number) => T) =>
    names.map((_, i) => Array.from(column.subarray(i * k, (i + 1) * k), (x, j) => cell(x, i * k + j)));
  return {
    devices: names.map((name, d) => ({
      name,
      type: types[d]!,
      host: hosts[d]!,
      speed: columns.speed[d]!,
      memory: finite(columns.memory[d]!),
    })),
    bandwidth: rows(columns.bandwidth, (x, p) => (p % (k + 1) ? finite(x) : 0)),
    latency: rows(columns.latency, (x) => x),
    order: names.map((_, d) => d),
    view,
    unitless,
    shared: links.map(({ name, pairs }, i) => ({ name, pairs, bandwidth: columns.shared[i]! })),
  };
}

/** The columns of a cluster as the canvas has it; what a device sends to itself is as saved. */
export function columnsIn(now: Cluster, saved: Columns): Columns {
  const k = now.devices.length;
  const bandwidth = Float64Array.from(now.bandwidth.flat());
  for (let d = 0; d < k; d++) bandwidth[d * (k + 1)] = saved.bandwidth[d * (k + 1)]!;
  return {
    speed: Float64Array.from(now.devices, ({ speed }) => speed),
    memory: Float64Array.from(now.devices, ({ memory }) => memory),
    bandwidth,
    latency: Float64Array.from(now.latency.flat()),
    shared: Float64Array.from(now.shared, ({ bandwidth }) => bandwidth),
  };
}
