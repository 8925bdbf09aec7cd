/** The cluster as the browser holds it, with the look-ups that the drawing needs. Pure. */
import type { Edit, Pair, View } from "../shared/commands.ts";
import { type Units, unitsOf } from "../shared/format.ts";
import type { SharedLink, WireCluster } from "./traits.ts";

export interface Device {
  readonly name: string;
  readonly type: string;
  readonly host: string;
  readonly speed: number;
  readonly memory: number; // Infinity: unlimited
}

export interface Cluster {
  readonly devices: readonly Device[];
  readonly bandwidth: readonly (readonly number[])[];
  readonly latency: readonly (readonly number[])[];
  readonly order: readonly number[];
  readonly view: View;
  readonly units: Units;
  readonly shared: readonly SharedLink[];
}

/** What is busy at one time of a schedule: devices that compute, links that carry something. */
export interface Activity {
  readonly devices: readonly number[];
  readonly links: readonly Pair[];
}

export const REST: Activity = { devices: [], links: [] };

/** A host and its devices, in the order of their cards. */
export interface Host {
  readonly name: string;
  readonly members: readonly number[];
}

export interface Range {
  readonly low: number;
  readonly high: number;
}

export const FEW = 10; // devices that still read as nodes and links

export function fromWire(wire: WireCluster): Cluster {
  return {
    devices: wire.devices.map((device) => ({ ...device, memory: device.memory ?? Infinity })),
    bandwidth: wire.bandwidth.map((row) => row.map((value) => value ?? Infinity)),
    latency: wire.latency,
    order: wire.order,
    view: wire.view,
    units: unitsOf(wire.unitless),
    shared: wire.shared ?? [],
  };
}

/** "shared with other pairs of devices: uplink, 12.5 GB/s": the shared links that some of these pairs use; "" for none. */
export function sharedText({ shared, units }: Cluster, pairs: readonly Pair[]): string {
  const used = shared.filter((link) => link.pairs.some(([a, b]) => pairs.some(([c, d]) => a === c && b === d)));
  const named = used.map(({ name, bandwidth }) => `${name}, ${units.bytes(bandwidth)}${units.plain ? "" : "/s"}`);
  return named.length ? `shared with other pairs of devices: ${named.join("; ")}` : "";
}

/** Nodes and links, or cards and a matrix. */
export function drawing(cluster: Cluster): "graph" | "grid" {
  return cluster.view !== "auto" ? cluster.view : cluster.devices.length <= FEW ? "graph" : "grid";
}

/** Hosts in the order of their first card. */
export function hostsOf(cluster: Cluster): Host[] {
  const members = new Map<string, number[]>();
  for (const device of cluster.order) {
    const { host } = cluster.devices[device]!;
    members.set(host, [...(members.get(host) ?? []), device]);
  }
  return [...members].map(([name, devices]) => ({ name, members: devices }));
}

/** Both directions between two sets of devices. */
export function between(a: readonly number[], b: readonly number[]): Pair[] {
  return a.flatMap((i) =>
    b.flatMap((j): Pair[] => [
      [i, j],
      [j, i],
    ]),
  );
}

/** Both directions between every two of a set. */
export function within(a: readonly number[]): Pair[] {
  return block(a, a);
}

/** From each of `from` to each of `to`, a device to itself left out. */
export function block(from: readonly number[], to: readonly number[]): Pair[] {
  return from.flatMap((i) => to.flatMap((j): Pair[] => (i === j ? [] : [[i, j]])));
}

/** The devices of some pairs, in ascending order. */
export function ends(pairs: readonly Pair[]): number[] {
  return [...new Set(pairs.flat())].sort((a, b) => a - b);
}

/** Smallest and largest entry of a matrix at these pairs. */
export function rangeOf(matrix: readonly (readonly number[])[], pairs: readonly Pair[]): Range {
  let low = Infinity;
  let high = -Infinity;
  for (const [i, j] of pairs) {
    low = Math.min(low, matrix[i]![j]!);
    high = Math.max(high, matrix[i]![j]!);
  }
  return { low, high };
}

/** Where `h` sends a device: through the hosts in turn, then to one of its own (null). */
export function nextHost(cluster: Cluster, device: number): string | null {
  const hosts = hostsOf(cluster);
  const at = hosts.findIndex((host) => host.members.includes(device));
  const next = hosts[at + 1];
  if (next) return next.name;
  return hosts[at]!.members.length > 1 ? null : hosts[0]!.name;
}

/** The cluster after an edit of values, as Python will have it; other edits wait for Python. */
export function applied(cluster: Cluster, edit: Edit): Cluster {
  switch (edit.kind) {
    case "speed":
    case "memory":
      return {
        ...cluster,
        devices: cluster.devices.map((d, i) => (i === edit.device ? { ...d, [edit.kind]: edit.value ?? Infinity } : d)),
      };
    case "bandwidth":
    case "latency": {
      const matrix = cluster[edit.kind].map((row) => [...row]);
      for (const [i, j] of edit.pairs)
        matrix[i]![j] = "factor" in edit ? matrix[i]![j]! * edit.factor : (edit.value ?? Infinity);
      return { ...cluster, [edit.kind]: matrix };
    }
    case "shared": {
      const changed = (now: number) => ("factor" in edit ? now * edit.factor : (edit.value ?? now));
      return {
        ...cluster,
        shared: cluster.shared.map((link) =>
          link.name === edit.link ? { ...link, bandwidth: changed(link.bandwidth) } : link,
        ),
      };
    }
    default:
      return cluster;
  }
}

/** The part of a cluster whose change needs new elements, not only new values in them. */
export function structure(cluster: Cluster): string {
  return JSON.stringify([
    cluster.devices.map((d) => [d.name, d.type, d.host]),
    cluster.order,
    cluster.units.plain,
    drawing(cluster),
    cluster.shared.map(({ name, pairs }) => [name, pairs.length, sum(pairs)]),
  ]);
}

/** A number that tells two sets of pairs apart, and is quick to compute. */
function sum(pairs: readonly Pair[]): number {
  return pairs.reduce((total, [a, b]) => (31 * total + 1009 * a + b) | 0, 0);
}
