/** The values that a handle, or a cell of the matrix, changes. Pure. */
import type { Change, Edit, Pair } from "../shared/commands.ts";
import { BANDWIDTH, CAPACITY, LATENCY, MEMORY, type Quantity, SPEED } from "./quantity.ts";
import { type Cluster, type Range, rangeOf } from "./state.ts";

export interface Target {
  readonly key: string; // the same for the same target after a redraw
  readonly label: string;
  readonly quantity: Quantity;
  read(cluster: Cluster): Range;
  edit(change: Change): Edit;
}

export function speedOf(device: number, name: string): Target {
  return ofDevice(device, name, SPEED);
}

export function memoryOf(device: number, name: string): Target {
  return ofDevice(device, name, MEMORY);
}

export function linkOf(kind: "bandwidth" | "latency", pairs: Pair[], what: string): Target {
  return {
    key: `${kind}:${what}`,
    label: `${kind} ${what}`,
    quantity: kind === "bandwidth" ? BANDWIDTH : LATENCY,
    read: (cluster) => rangeOf(cluster[kind], pairs),
    edit: (change) => ({ kind, pairs, ...change }) as Edit,
  };
}

/** What all transfers over a shared link have together. */
export function sharedOf(name: string): Target {
  const now = (cluster: Cluster) => cluster.shared.find((link) => link.name === name)?.bandwidth ?? NaN;
  return {
    key: `shared:${name}`,
    label: `bandwidth of shared link ${name}`,
    quantity: CAPACITY,
    read: (cluster) => ({ low: now(cluster), high: now(cluster) }),
    edit: (change) => ({ kind: "shared", link: name, ...change }),
  };
}

function ofDevice(device: number, name: string, quantity: Quantity): Target {
  const kind = quantity.name as "speed" | "memory";
  return {
    key: `${kind}:${device}`,
    label: `${kind} of ${name}`,
    quantity,
    read: (cluster) => ({ low: cluster.devices[device]![kind], high: cluster.devices[device]![kind] }),
    edit: (change) => ({ kind, device, value: "value" in change ? change.value : null }) as Edit, // only memory is unlimited
  };
}
