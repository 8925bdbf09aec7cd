/** What keys and buttons do. */
import { count } from "../../shared/format.ts";
import { usageNow } from "../scene/describe.ts";
import { nextMatch } from "../scene/find.ts";
import type { Board } from "./board.ts";
import { type Action, moveSelection } from "./keyboard.ts";
import type { Player } from "./playing.ts";
import type { Report } from "./report.ts";
import type { Steps } from "./steps.ts";

export type Shown = "memory" | "links" | "axis";

/** What only the whole view can do. */
export interface Asked {
  choose(op: number): void;
  toggle(what: Shown, on: boolean): void;
  find(): void;
  /** Opens or closes the drawer. */
  details(): void;
  /** Shows or hides the lane "why not faster". */
  proof(): void;
  /** Pins the lane of what is selected, or releases it. */
  pin(): void;
  /** Begins or ends moving bars by hand. */
  byHand(): void;
}

const MARKED = 200; // ops found that are marked one by one

export class Commands {
  /** Ops found, when they are few enough to be marked one by one. */
  found: readonly number[] = [];
  readonly #actions: Partial<Record<Action, () => unknown>>;
  readonly #board: Board;
  readonly #player: Player;
  readonly #steps: Steps;
  readonly #report: Report;
  readonly #ask: Asked;

  constructor(board: Board, player: Player, steps: Steps, report: Report, ask: Asked) {
    this.#board = board;
    this.#player = player;
    this.#steps = steps;
    this.#report = report;
    this.#ask = ask;
    this.#actions = {
      "zoom-in": () => board.zoom(1 / 1.5, this.#anchor()),
      "zoom-out": () => board.zoom(1.5, this.#anchor()),
      fit: () => board.fit(),
      "pan-left": () => board.pan(-0.2),
      "pan-right": () => board.pan(0.2),
      play: () => player.toggle(),
      restart: () => player.move(0),
      step: () => this.#step(1),
      "step-back": () => this.#step(-1),
      memory: () => this.#toggle("memory", !board.laned),
      links: () => this.#toggle("links", !board.linked),
      "keep-axis": () => this.#toggle("axis", !board.keepsAxis),
      find: () => ask.find(),
      details: () => ask.details(),
      proof: () => ask.proof(),
      pin: () => ask.pin(),
      "by-hand": () => ask.byHand(),
      "find-next": () => this.#findNext(1),
      "find-previous": () => this.#findNext(-1),
      clear: () => ask.choose(-1),
      "to-selection": () => (board.area ? board.setSpan(board.area) : board.picked >= 0 && board.zoomTo(board.picked)),
    };
  }

  perform(action: Action): void {
    const { chart, picked, seen, rows } = this.#board;
    if (this.#steps.perform(action)) return;
    const act = this.#actions[action];
    if (act) act();
    else if (chart) this.#ask.choose(moveSelection(chart, picked, action, seen.from, rows));
  }

  /** Looks for ops by a part of their name. */
  look(text: string): void {
    this.#board.find(text);
    this.mark();
    const n = this.#board.match?.reduce((sum, one) => sum + one, 0);
    if (n === undefined) return this.#report.now();
    const ops = `${count(n)} op${n === 1 ? "" : "s"}`;
    this.#report.note(`${ops} with “${this.#board.wanted}” in the name${n ? "; Enter: next" : ""}`);
  }

  /** Finds out which ops to mark. */
  mark(): void {
    const found = Array.from(this.#board.match ?? []).flatMap((one, op) => (one ? [op] : []));
    this.found = found.length > MARKED ? [] : found;
  }

  #findNext(step: 1 | -1): void {
    const { match, chart, picked } = this.#board;
    if (match && chart) this.#ask.choose(nextMatch(match, chart.bars.order, picked, step));
  }

  /** Keys zoom around the selected op when it is in view, else around the playhead, else around the middle. */
  #anchor(): number {
    const { chart, picked, seen, makespan } = this.#board;
    const selected = chart && picked >= 0 ? chart.bars.start[picked]! : NaN;
    const inView = [selected, this.#player.head.time].find((t) => t >= seen.from && t <= seen.to && t < makespan);
    return inView ?? (seen.from + seen.to) / 2;
  }

  #toggle(what: Shown, on: boolean): void {
    this.#ask.toggle(what, on);
    const not = on ? "" : "not ";
    const said = {
      memory: `memory is ${not}shown`,
      links: `links are ${not}shown`,
      axis: `the time axis is ${not}kept`,
    };
    this.#report.note(said[what]);
  }

  #step(direction: 1 | -1): void {
    const what = this.#player.step(direction);
    const { memory, laned, labels } = this.#board;
    const { time } = this.#player.head;
    const used = memory && laned ? ` · memory: ${usageNow(memory, labels, time)}` : "";
    this.#report.note(`t = ${labels.units.time(time, 4)}${what && ` · ${what}`}${used}`);
  }
}
