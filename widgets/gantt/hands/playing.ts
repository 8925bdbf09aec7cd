/** Moves the playhead, and tells the other views where it is and what is busy there. */
import { publish } from "../../shared/bus.ts";
import { eventLine } from "../scene/describe.ts";
import { activityAt } from "../scene/links.ts";
import {
  advance,
  carry,
  eventTimes,
  happeningsAt,
  type Playhead,
  scrub,
  stepEvent,
  toggle,
} from "../scene/playback.ts";
import type { Board } from "./board.ts";

export class Player {
  head: Playhead = { time: 0, playing: false, speed: 1 };
  #events: Float64Array | null = null; // found when first stepped through
  #sent = "";
  #busy = false; // the other views show something as busy

  /** `shown` is called with each new playhead. */
  readonly #board: Board;
  readonly #root: HTMLElement;
  readonly #shown: (head: Playhead) => void;

  constructor(board: Board, root: HTMLElement, shown: (head: Playhead) => void) {
    this.#board = board;
    this.#root = root;
    this.#shown = shown;
  }

  /** Whether the playhead stands inside the schedule, so that something can be running. */
  get inside(): boolean {
    return this.head.time < this.#board.makespan;
  }

  set(head: Playhead): void {
    this.head = head;
    this.#shown(head);
    this.#board.redraw("overlay");
  }

  toggle(): void {
    this.set(toggle(this.head, this.#board.makespan));
  }

  move(time: number): void {
    this.set(scrub(this.head, time, this.#board.makespan));
    this.#board.follow(this.head.time);
  }

  /** For a schedule that replaces one of makespan `before`, NaN: none. */
  carry(before: number): void {
    this.#events = null;
    const { makespan } = this.#board;
    this.head = before >= 0 ? carry(this.head, before, makespan) : { ...this.head, time: makespan };
    this.#shown(this.head);
  }

  /** Goes to the next or previous event, and says what starts or finishes there. */
  step(direction: 1 | -1): string {
    const { chart, makespan, labels } = this.#board;
    if (!chart) return "";
    this.#events ??= eventTimes(chart.bars, makespan);
    this.move(stepEvent(this.#events, this.head.time, direction));
    return eventLine(chart, labels, happeningsAt(chart.bars, this.head.time, makespan));
  }

  /** `elapsed` seconds later. */
  frame(elapsed: number): void {
    if (!this.head.playing) return;
    this.head = advance(this.head, elapsed, this.#board.makespan);
    this.#board.follow(this.head.time);
    this.#shown(this.head);
  }

  /** Tells the other views, once per frame at most, when anything has changed. */
  tell(): void {
    const { chart, makespan } = this.#board;
    const { time, playing } = this.head;
    const news = `${time} ${makespan} ${playing}`;
    if (!chart || news === this.#sent) return;
    this.#sent = news;
    publish(this.#root, "playhead", { time, makespan, playing });
    if (!this.inside && !this.#busy) return;
    this.#busy = this.inside;
    publish(
      this.#root,
      "activity",
      this.inside ? activityAt(chart, this.#board.links, time) : { devices: [], links: [] },
    );
  }
}
