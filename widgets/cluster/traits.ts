import type { Drag, Edit, Pair, View } from "../shared/commands.ts";

/** The synced traits of `ClusterCanvas` in placelab/app/widgets/cluster_canvas.py. */
export interface ClusterTraits {
  cluster: WireCluster;
  edit: Message | Record<string, never>;
  /** Numbers of the last messages handled: answers to two browsers may arrive as one. */
  ack: number[];
  peak: number[];
  load: number[][];
  selected: number;
  /** The value that was pointed at last; {} for none. */
  chosen: Chosen | Record<string, never>;
  /** Makespan over the value that is being dragged; {} for none. */
  curve: Curve | Record<string, never>;
  error: string;
  /** Devices whose speed changes no time. */
  fixed: number[];
  /** Whether the transfer model knows shared links. */
  sharing: boolean;
  /** Inside a larger view, which has the undo buttons and gives the height. */
  embedded: boolean;
  /** Devices and hosts stay as they are: in a page that recomputes. */
  values_only: boolean;
  can_undo: boolean;
  can_redo: boolean;
}

/** What an edit of the value would name, and how the value is called. */
export interface Chosen {
  kind: string;
  label: string;
  device?: number;
  pairs?: Pair[];
  link?: string;
}

/** Values (SI, ascending), the makespan at each [s], and where another pair of strategies is better. */
export interface Curve {
  values: number[];
  makespans: number[];
  best: [value: number, pair: string, makespan: number][];
  /** Number of the drag that it belongs to, as in its messages; absent where a page computes it. */
  gesture?: number;
  preview: boolean;
}

/** The `cluster` trait: SI units, null for unlimited, matrices in the order of `devices`. */
export interface WireCluster {
  devices: { name: string; type: string; host: string; speed: number; memory: number | null }[];
  bandwidth: (number | null)[][];
  latency: number[][];
  order: number[];
  view: View;
  /** Whether all quantities are plain numbers. */
  unitless: boolean;
  /** Links that several pairs of devices share. */
  shared?: SharedLink[];
}

export interface SharedLink {
  name: string;
  bandwidth: number;
  pairs: Pair[];
}

/** An edit with its drag, as the canvas always gives it. */
export type Message = Edit & Required<Drag>;
