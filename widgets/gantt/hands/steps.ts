/** Plays the decisions of a partitioner on the chart's own transport, while the view that lists them is beside it. */
import { publish, subscribe } from "../../shared/bus.ts";
import type { Action } from "./keyboard.ts";

/** What the list of decisions says of itself: the row that is shown, of how many, and whether it plays. */
export interface Place {
  readonly row: number;
  readonly count: number;
  readonly playing: boolean;
  /** Whether it is in sight, and lists decisions, not ranks. */
  readonly open: boolean;
  /** Whether a prediction is awaited, so that it cannot play. */
  readonly waits: boolean;
}

const NOWHERE: Place = { row: 0, count: 0, playing: false, open: false, waits: false };

export class Steps {
  place = NOWHERE;
  /** Whether the transport moves through decisions, not through time. */
  on = false;
  readonly #root: HTMLElement;
  readonly #changed: () => void;
  readonly #end: () => void;

  constructor(root: HTMLElement, changed: () => void) {
    this.#root = root;
    this.#changed = changed;
    this.#end = subscribe<Place>(root, "decisions", (place) => this.#hear(place));
  }

  /** Moves through decisions, or through time. */
  turn(on: boolean): void {
    if (this.on && !on && this.place.playing) this.#ask({ play: true });
    this.on = on && this.place.open;
    this.#changed();
  }

  /** Does what a key or button asks of the transport; false where that is for time. */
  perform(action: Action): boolean {
    if (!this.on) return false;
    const { row } = this.place;
    if (action === "play") this.#ask({ play: true });
    else if (action === "restart") this.#ask({ row: 0 });
    else if (action === "step" || action === "step-back") this.#ask({ row: row + (action === "step" ? 1 : -1) });
    else return false;
    return true;
  }

  /** Predicts the device that a digit stands for; false where none is asked for. */
  guess(key: string): boolean {
    if (!this.on || !this.place.waits || !/^[1-9]$/.test(key)) return false;
    this.#ask({ guess: Number(key) - 1 });
    return true;
  }

  /** Goes to the decision that stands at a fraction of all. */
  seek(fraction: number): void {
    this.#ask({ row: Math.round(fraction * Math.max(this.place.count - 1, 0)) });
  }

  stop(): void {
    this.#end();
  }

  /** Decisions are played as soon as they are in sight: then the chart draws what they have led to so far. */
  #hear(place: Place): void {
    if (!this.#root.closest(".placelab-explorer")) return; // alone in cells, list and chart have nothing in common
    const before = this.place;
    this.place = place;
    if (place.open !== before.open) this.on = place.open;
    this.#changed();
  }

  #ask(what: { row: number } | { play: true } | { guess: number }): void {
    publish(this.#root, "decide", what);
  }
}
