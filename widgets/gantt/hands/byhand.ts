/** The mode *By hand*: which op is held, where it was, and what goes to Python. */
import type { HandCommand, Hold, Of, Way } from "../../shared/commands.ts";
import type { Description } from "../../shared/tooltip.ts";
import type { Held, Was } from "../scene/held.ts";
import { nearestRow } from "../scene/places.ts";
import { type Area, type Scene, xOf } from "../scene/scene.ts";
import { isDrawn } from "../scene/sofar.ts";
import type { Hand } from "../wire/traits.ts";
import type { Board } from "./board.ts";

export interface HandTell {
  /** The newest place counts. */
  hold(at: Of<"hold">): void;
  /** Every one counts, in this order. */
  say(what: HandCommand): void;
  /** The selected op is to be no longer selected: others were, by which keys now go. */
  leave(): void;
  /** How many ops move together now, and of what, if that has a name. */
  chosen(count: number, of?: string): void;
}

const WAYS: Record<string, Way> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

export class ByHand {
  /** Whether bars can be moved. */
  on = false;
  held: Held | null = null;
  /** Ops that move together where one of them is taken. */
  readonly chosen = new Set<number>();
  #elsewhere: readonly [what: string, ops: readonly number[]] = ["", []]; // selected together in another view
  #grip = 0;
  #dx = 0; // from the left edge of the bar to the pointer
  readonly #board: Board;
  readonly #tell: HandTell;

  constructor(board: Board, tell: HandTell) {
    this.#board = board;
    this.#tell = tell;
  }

  switch(on: boolean): void {
    const begins = on && !this.on;
    this.on = on;
    if (begins && this.#elsewhere[0]) this.gather(...this.#elsewhere);
    if (on) return;
    this.#end();
    this.forget();
  }

  // ---- several ops -------------------------------------------------------------------------------------------------

  /** Adds an op to those that move together, or takes it out. */
  toggle(op: number): void {
    if (op < 0) return;
    if (!this.chosen.delete(op)) this.chosen.add(op);
    this.#told();
  }

  /** Lets the ops whose bars lie wholly in an area move together. */
  chooseIn({ from, to, devices }: Area): void {
    const { bars, columns } = this.#board.chart!;
    this.chosen.clear();
    columns.ops.device.forEach((device, op) => {
      const inside = bars.start[op]! >= from && bars.finish[op]! <= to && devices.includes(device);
      if (inside && isDrawn(this.#board.chart!, op)) this.chosen.add(op);
    });
    this.#told();
  }

  /** Lets the ops that were selected together move together: those of a scope, say. Where nothing can be moved now, once it can. */
  gather(what: string, ops: readonly number[]): void {
    this.#elsewhere = [what, ops];
    if (!this.on) return;
    if (!what) return this.forget();
    this.chosen.clear();
    for (const op of ops) if (isDrawn(this.#board.chart!, op)) this.chosen.add(op);
    const { picked } = this.#board;
    this.#told(what);
    if (picked >= 0 && !this.chosen.has(picked)) this.#tell.leave();
  }

  /** Lets each op move alone again. */
  forget(): void {
    if (!this.chosen.size) return;
    this.chosen.clear();
    this.#told();
  }

  #told(of = ""): void {
    this.#tell.chosen(this.chosen.size, of);
    this.#board.redraw("overlay");
  }

  /** What Python says of the op in the hand. */
  hear(hand: Partial<Hand>): void {
    if (hand.grip !== this.#grip) return;
    if (hand.offer) this.held = this.#heldOf(hand.op!, null, [hand.op!]);
    if (!this.held) return;
    this.held = { ...this.held, hand: hand as Hand };
    this.#board.redraw("overlay");
  }

  /** The change of the makespan by what is held, and where that is; null where nothing is, or not yet known. */
  get description(): Description | null {
    const hand = this.held?.hand;
    if (!hand || hand.offer) return null;
    if (hand.fresh) return { title: hand.said, rows: [] };
    const { makespan, labels } = this.#board;
    const change = makespan - hand.makespan;
    const [before, after] = [hand.makespan, makespan].map((t) => labels.units.time(t));
    const sign = change < 0 ? "▼" : change > 0 ? "▲" : "=";
    const title =
      before === after ? `= ${after}` : `${sign} ${labels.units.time(Math.abs(change))} · ${before} → ${after}`;
    return { title, rows: [[hand.stopped ? "✗" : "", hand.said]] };
  }

  /** Has Python look for the best move, or for a better plan from here, or take all ops off. */
  ask(what: "best" | "finish" | "empty"): void {
    if (!this.on) return;
    this.#grip++;
    this.#tell.say({ kind: what, grip: this.#grip });
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

  /** Takes an op from the tray; its bar begins at the pointer. */
  takeNew(op: number): void {
    if (this.held) this.putBack();
    this.#dx = 0;
    this.#grip++;
    this.held = { op, ops: [op], was: null, others: [], at: null, hand: null };
    this.#board.hold(true);
  }

  /** Asks where an op of the tray would run. */
  lookAt(op: number): void {
    if (this.held?.op !== op) this.takeNew(op);
    this.#tell.say({ kind: "hold", grip: this.#grip, op });
  }

  /** Moves an op of the tray by a key. */
  moveNew(op: number, way: Way): void {
    if (this.held?.op !== op) this.takeNew(op);
    this.#tell.say({ kind: "step", grip: this.#grip, op, way });
  }

  /** Sets what is held, or returns it. */
  giveHeld(what: "set" | "return"): void {
    if (this.held) this.#give(what);
  }

  /** `swap`: the op is to change places with the one that is pointed at. */
  move(x: number, y: number, swap = false): void {
    const scene = this.#board.scene();
    if (!scene || !this.held) return;
    this.held = { ...this.held, at: { x: x - this.#dx, y } };
    this.#tell.hold({ kind: "hold", ...this.#hold(scene, x, y, swap) });
    this.#board.redraw("overlay");
  }

  /** Sets what the pointer holds. */
  drop(x: number, y: number, swap = false): void {
    const scene = this.#board.scene();
    if (scene && this.held) this.#tell.say({ kind: "set", ...this.#hold(scene, x, y, swap) });
    this.#end();
  }

  /** Puts what is held back. */
  putBack(): void {
    if (this.held) this.#give("return");
  }

  #hold(scene: Scene, x: number, y: number, swap: boolean): Hold {
    const { layout, chart } = scene;
    const which = layout.rows.of[nearestRow(scene, y * layout.ratio)] ?? -1;
    const device = which < 0 ? chart.columns.ops.device[this.held!.op]! : which; // a folded host has no places
    const time = Math.max(this.#board.timeAt(swap ? x : x - this.#dx), 0);
    return { grip: this.#grip, ...this.#moving, device, time, ...(swap && { swap }) };
  }

  // ---- keys --------------------------------------------------------------------------------------------------------

  /** Does what a key asks for, with Alt or without; false for keys that mean nothing here. */
  key(key: string, swap: boolean): boolean {
    if (!this.on) return false;
    const way = WAYS[key];
    const op = this.#atHand;
    if (way && op >= 0) {
      if (this.held?.op !== op || this.held.hand?.offer) this.putBack();
      if (!this.held) this.#take(op, null);
      this.#tell.say({ kind: "step", grip: this.#grip, ...this.#moving, way, ...(swap && { swap }) });
      return true;
    }
    if (swap) return false;
    if (key === "h") {
      this.ask("best");
      return true;
    }
    if (key === "x" && this.#board.picked >= 0) {
      this.toggle(this.#board.picked);
      return true;
    }
    if (!this.held && key === "Escape" && this.chosen.size) {
      this.forget();
      return true;
    }
    if (!this.held || (key !== "Enter" && key !== "Escape")) return false;
    this.#give(key === "Enter" ? "set" : "return");
    return true;
  }

  /** The op that keys move: the selected one, else the first of those that move together; -1 for none. */
  get #atHand(): number {
    const { picked, chart } = this.#board;
    if (picked >= 0 || !chart) return picked;
    const first = (a: number, b: number) => (b < 0 || chart.bars.start[a]! < chart.bars.start[b]! ? a : b);
    return [...this.chosen].reduce((least, op) => first(op, least), -1);
  }

  /** What the messages say of the held op, and of those that move with it. */
  get #moving(): { op: number; ops?: readonly number[] } {
    const { op, ops } = this.held!;
    return ops.length > 1 ? { op, ops } : { op };
  }

  #take(op: number, at: Held["at"]): void {
    this.#grip++;
    this.held = this.#heldOf(op, at, this.chosen.has(op) ? [...this.chosen] : [op]);
    this.#board.hold(true);
  }

  #heldOf(op: number, at: Held["at"], ops: readonly number[]): Held {
    const others = ops.filter((v) => v !== op).map((v) => this.#place(v));
    return { op, ops, was: this.#place(op), others, at, hand: null };
  }

  #place(op: number): Was {
    const { bars, columns } = this.#board.chart!;
    return { device: columns.ops.device[op]!, start: bars.start[op]!, finish: bars.finish[op]! };
  }

  #give(what: "set" | "return"): void {
    this.#tell.say({ kind: what, grip: this.#grip, ...this.#moving });
    this.#end();
  }

  #end(): void {
    this.held = null;
    this.#board.hold(false);
  }
}
