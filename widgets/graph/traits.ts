import type { Of } from "../shared/commands.ts";

/** The synced traits of `placelab.app.widgets.graph_view.ModelGraph`; a Python test compares names and kinds with the Python class. */
export interface GraphTraits {
  /** Boxes and edges on show. */
  scene: Scene;
  /** Box of each op, int32. */
  owner: DataView;
  /** Colour index per op, uint8. */
  kinds: DataView;
  /** What each colour index stands for. */
  kind_names: string[];
  /** Device names. */
  devices: string[];
  /** Times and devices of the ops, see values.ts and placelab/app/widgets/graph_view.py. */
  values: DataView;
  /** Device that each op is pinned to, int16: -1 for none, 32767 for several; empty without pins. */
  pinned: DataView;
  /** Open scopes, by node; both ways. */
  opened: number[];
  /** Selected op, -1 for none; both ways. */
  selection: number;
  /** What boxes are coloured by, see colours.ts; both ways. */
  colour: string;
  /** Text to find. */
  query: string;
  /** Ops found, uint32. */
  hits: DataView;
  /** Width of the picture divided by its height. */
  aspect: number;
  /** Whether boxes can be pinned to devices. */
  can_pin: boolean;
  /** Whether times and sizes are plain numbers. */
  unitless: boolean;
}

/** Nodes are ops (below `ops`) and scopes (`ops` is that of everything); boxes are numbered as they stand, outer ones first. */
export interface Scene {
  ops?: number;
  boxes?: Box[];
  edges?: { source: number[]; target: number[]; bytes: number[]; back: number[] };
}

export interface Box {
  node: number;
  label: string;
  path: string;
  /** Box of the open scope around it, -1 for none. */
  inside: number;
  open: boolean;
  layer: number;
  x: number;
  y: number;
  w: number;
  h: number;
  /** Number of ops in it. */
  ops: number;
  /** Their kinds, in words. */
  kinds: string;
}

/** To pin a node's ops to a device, to take their pins away, or to open the scopes around an op. */
export type Asked = Of<"pin" | "unpin" | "reveal">;
