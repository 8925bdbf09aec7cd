/** What views tell each other on the page where it computes in place of a kernel that does not answer. */
import { publish } from "./bus.ts";
import type { HandCommand } from "./commands.ts";

export const LATE = 1_000; // ms without an answer, after which the kernel counts as busy

/** Topic of a cluster canvas, with each edit: the cluster as it shows it, and, when asked, as the kernel has last answered. */
export const EDITED = "edited";
export interface Edited<C = unknown> {
  readonly now: C;
  answered(): C;
}

/** Topic of a chart: what a hand does with a bar that it holds, as it tells the kernel; null: the kernel has answered. */
export const HELD = "held";
/** It, and whether one says where an op is to run before that is shown. */
export type Held = HandCommand & { readonly predicts?: boolean };

/** Topic of what the page has computed, for chart and canvas; null once the kernel answers again. */
export const COMPUTED = "computed";
export interface Computed {
  readonly schedule: DataView;
  /** Empty where memory does not count. */
  readonly memory: DataView;
  /** The most bytes in use on each device; empty where that is not counted. */
  readonly peak: readonly number[];
  /** The op in the hand; empty for none. */
  readonly hand: object;
  /** Ops that wait to be placed, how many more, and what is drawn: all where nothing waits. */
  readonly tray: readonly object[];
  readonly tray_more: number;
  readonly decided: DataView;
}

/** Topic of what waits for the kernel: true once it is late, false when it has answered. */
export const UNANSWERED = "unanswered";

/** Tells the other views where the kernel does not answer what a view asks for a while, and when it does again. */
export class Waiting {
  #asking = false;
  readonly #root: Element;
  #timer = 0;
  #late = false;

  constructor(root: Element) {
    this.#root = root;
  }

  asked(): void {
    this.#asking = true;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#tell(true), LATE);
  }

  answered(): void {
    clearTimeout(this.#timer);
    if (this.#asking) publish(this.#root, HELD, null);
    this.#asking = false;
    if (this.#late) this.#tell(false);
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #tell(late: boolean): void {
    this.#late = late;
    publish(this.#root, UNANSWERED, late);
  }
}

/** What the module of a page that recomputes (live/alone.ts) has for an explorer without its kernel. */
export interface Engine {
  /** The makespan of what the page was saved with, on a cluster, which is where the hand begins; null stands for the saved one. */
  makespan(cluster: unknown): number;
  /** Shows what follows from a cluster. Throws in words. */
  edited(cluster: unknown): void;
  /** Takes what a chart has told of a bar in a hand. */
  held(said: Held): void;
}

export interface EngineHost {
  /** Draws it; `words` say the makespan, and what it was before. */
  show(computed: Computed, words: string): void;
  say(text: string): void;
}
