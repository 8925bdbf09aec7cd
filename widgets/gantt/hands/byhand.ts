/** The mode *By hand*: which op is held, where it was, and what goes to Python. */
import type { Description } from "../../shared/tooltip.ts";
import type { Held } from "../scene/held.ts";
import { type Scene, xOf } from "../scene/scene.ts";
import type { Hand, Hold } from "../wire/traits.ts";
import type { Board } from "./board.ts";

export type Do = "set" | "return" | "best" | "finish";
export type Way = "up" | "down" | "left" | "right";

export interface HandTell {
  /** The newest place counts. */
  hold(at: Hold): void;
  /** Every one counts, in this order. */
  say(what: { grip: number; op?: number; do?: Do; way?: Way } & Partial<Hold>): void;
}

const WAYS: Record<string, Way> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

export class ByHand {
  /** Whether bars can be moved. */
  on = false;
  held: Held | null = null;
  #grip = 0;
  #dx = 0; // from the left edge of the bar to the pointer
  readonly #board: Board;
  readonly #tell: HandTell;

  constructor(board: Board, tell: HandTell) {
    this.#board = board;
    this.#tell = tell;
  }

  switch(on: boolean): void {
    this.on = on;
    if (!on) this.#end();
  }

  /** What Python says of the op in the hand. */
  hear(hand: Partial<Hand>): void {
    if (hand.grip !== this.#grip) return;
    if (hand.offer) this.held = { op: hand.op!, was: this.#place(hand.op!), at: null, hand: null };
    if (!this.held) return;
    this.held = { ...this.held, hand: hand as Hand };
    this.#board.redraw("overlay");
  }

  /** The change of the makespan by what is held, and where that is; null where nothing is, or not yet known. */
  get description(): Description | null {
    const hand = this.held?.hand;
    if (!hand || hand.offer) return null;
    const { makespan, labels } = this.#board;
    const change = makespan - hand.makespan;
    const [before, after] = [hand.makespan, makespan].map((t) => labels.units.time(t));
    const sign = change < 0 ? "▼" : change > 0 ? "▲" : "=";
    const title =
      before === after ? `= ${after}` : `${sign} ${labels.units.time(Math.abs(change))} · ${before} → ${after}`;
    return { title, rows: [[hand.stopped ? "✗" : "", hand.said]] };
  }

  /** Has Python look for the best move, or for a better plan from here. */
  ask(what: "best" | "finish"): void {
    if (!this.on) return;
    this.#grip++;
    this.#tell.say({ grip: this.#grip, do: what });
    this.#end();
  }

  // ---- the pointer -------------------------------------------------------------------------------------------------

  /** Takes the op at (x, y), CSS pixels. */
  take(op: number, x: number, y: number): void {
    const scene = this.#board.scene();
    if (!scene) return;
    if (this.held) this.#give("return");
    this.#dx = x - xOf(scene, scene.chart.bars.start[op]!) / scene.layout.ratio;
    this.#take(op, { x: x - this.#dx, y });
  }

  move(x: number, y: number): void {
    const scene = this.#board.scene();
    if (!scene || !this.held) return;
    this.held = { ...this.held, at: { x: x - this.#dx, y } };
    this.#tell.hold(this.#hold(scene, x, y));
    this.#board.redraw("overlay");
  }

  /** Sets what the pointer holds. */
  drop(x: number, y: number): void {
    const scene = this.#board.scene();
    if (scene && this.held) this.#tell.say({ ...this.#hold(scene, x, y), do: "set" });
    this.#end();
  }

  /** Puts what is held back. */
  putBack(): void {
    if (this.held) this.#give("return");
  }

  #hold(scene: Scene, x: number, y: number): Hold {
    const { layout, chart } = scene;
    const row = Math.floor((y * layout.ratio - layout.axis + scene.scroll) / layout.row);
    const device = Math.min(Math.max(row, 0), chart.columns.nDevices - 1);
    const time = Math.max(this.#board.timeAt(x - this.#dx), 0);
    return { grip: this.#grip, op: this.held!.op, device, time };
  }

  // ---- keys --------------------------------------------------------------------------------------------------------

  /** Does what a key asks for; false for keys that mean nothing here. */
  key(key: string): boolean {
    if (!this.on) return false;
    if (key === "h") {
      this.ask("best");
      return true;
    }
    const way = WAYS[key];
    if (way && this.#board.picked >= 0) {
      if (this.held?.op !== this.#board.picked || this.held.hand?.offer) this.putBack();
      if (!this.held) this.#take(this.#board.picked, null);
      this.#tell.say({ grip: this.#grip, op: this.held!.op, way });
      return true;
    }
    if (!this.held || (key !== "Enter" && key !== "Escape")) return false;
    this.#give(key === "Enter" ? "set" : "return");
    return true;
  }

  #take(op: number, at: Held["at"]): void {
    this.#grip++;
    this.held = { op, was: this.#place(op), at, hand: null };
    this.#board.hold(true);
  }

  #place(op: number): Held["was"] {
    const { bars, columns } = this.#board.chart!;
    return { device: columns.ops.device[op]!, start: bars.start[op]!, finish: bars.finish[op]! };
  }

  #give(what: "set" | "return"): void {
    this.#tell.say({ grip: this.#grip, op: this.held!.op, do: what });
    this.#end();
  }

  #end(): void {
    this.held = null;
    this.#board.hold(false);
  }
}
