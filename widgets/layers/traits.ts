import type { Of } from "../shared/commands.ts";
import type { Held } from "../shared/memory.ts";

/** The synced traits of `placelab.app.widgets.tab_views.LayerStrip`; a Python test compares names and kinds with the Python class. */
export interface LayersTraits {
  devices: string[];
  /** First block of each device, and the number of blocks: embedding, layers, head. */
  borders: number[];
  /** Of each border the least and the most block that it can be put before so that everything fits. */
  limits: number[][];
  /** Width of each block: its bytes or its seconds. */
  sizes: number[];
  rows: Row[];
  /** What `rows` are summed from, whatever the borders: the page shows those of a border that a hand moves at once. */
  facts: Facts | Record<string, never>;
  /** Seconds of the slowest device of the best split. */
  best: number;
  /** What the split comes to, in a word and in a line. */
  now: string;
  said: string;
  ghosts: Ghost[];
  /** Whether what to type is shown; both ways. */
  launching: boolean;
  launch: Launch[];
  /** What the seconds are of. */
  of: string;
  /** What a hand wants; set by the browser. */
  asked: Asked;
  /** Why there is no strip; empty when there is one. */
  message: string;
}

/** Seconds and bytes of a device. */
export interface Row extends Held {
  seconds: number;
}

/** A value, and how many blocks in a row have it. */
export type Run = [value: number, times: number];

/** Seconds and bytes of blocks, and what devices add to them. */
export interface Facts {
  /** Of each device those of each block. */
  seconds: Run[][];
  /** Of the border behind each device; 0 behind the last. */
  links: number[];
  /** Categories of bytes that stay. */
  kept: [string, Run[]][];
  /** Bytes of a category that embedding and head share. */
  twice: Record<string, number>;
  /** Bytes of a micro-batch. */
  activations: Run[];
  /** Micro-batches whose activations each device keeps. */
  copies: number[];
  /** Buffers: of each a device has that of its largest block. */
  peaks: Run[][];
  /** Bytes of each device; null is unlimited. */
  capacity: (number | null)[];
  /** Of the capacity that may be used. */
  share: number;
}

/** The best split by an objective. */
export interface Ghost {
  objective: string;
  label: string;
  value: string;
  borders: number[];
}

/** What to type for a launcher; `why` there is nothing, else empty. */
export interface Launch {
  name: string;
  where: string;
  text: string;
  why: string;
}

export type Asked = Of<"border" | "split">;
