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

export type View = "auto" | "graph" | "grid";
export type Pair = readonly [number, number];
export type Change = { value: number | null } | { factor: number };

/** One edit; placelab/app/widgets/cluster_edit.py specifies each kind. */
export type Edit =
  | { kind: "speed" | "memory"; device: number; value: number | null }
  | ({ kind: "bandwidth" | "latency"; pairs: Pair[] } & Change)
  | ({ kind: "shared"; link: string } & Change)
  | { kind: "move"; device: number; slot: number }
  | { kind: "host"; device: number; host: string | null; slot?: number }
  | { kind: "add"; host: string | null }
  | { kind: "copy" | "remove"; device: number }
  | { kind: "rename"; device: number; name: string }
  | { kind: "rename_host"; host: string; name: string }
  | { kind: "view"; view: View }
  | { kind: "undo" | "redo" | "release" };

/** An edit as a message: the drag it belongs to, and whether it is the last one of that drag. */
export type Message = Edit & { seq: number; gesture: number; final: boolean };
