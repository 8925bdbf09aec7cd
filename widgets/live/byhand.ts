/** The chart's mode *By hand* in a page: what placelab/app/explorer/panels/hand_mode.py is in the explorer. */

import type { Candidate, Hand } from "../gantt/wire/traits.ts";
import { bestMoves, type Move } from "../kernels/best.ts";
import { behind, blockOf, isReady, lacking, lanesOf, moved, type Places, placesOf, swapped } from "../kernels/hand.ts";
import { runOf } from "../kernels/part.ts";
import type { Placed } from "../kernels/problem.ts";
import type { Run } from "../kernels/simulate.ts";
import type { Held as Told } from "../shared/alone.ts";
import { type Ground, mayRun } from "./ground.ts";
import { PLACE_ALL, verdictOf } from "./tray.ts";

const NOWHERE = -1; // the device of what is in the tray
const NO_BAR = "No bar is here to change places with";
const SLICE = 30; // ms of a search, after which the page may draw
const whole = (x: number) => Math.round(x).toLocaleString("en");

interface Target {
  readonly device: number;
  /** Among the ops of the device that do not move. */
  readonly position: number;
}

/** An op in the hand. */
export class Held {
  readonly op: number;
  readonly grip: number;
  /** The plan with the op where it is held. */
  plan: Placed;
  /** Which ops are placed once it is. */
  readonly placed: Uint8Array | null;
  /** Whether it comes from the tray. */
  readonly fresh: boolean;
  /** The best move, where it is that. */
  #offer: Move | null = null;
  /** The ops that move together, in the order of the plan; of an exchange, the two. */
  readonly #block: readonly number[];
  #moving: readonly number[];
  /** The place of the op to change with. */
  #partner: Target;
  readonly #ground: Ground;
  readonly #home: Target;
  readonly #places = new Map<number, Places>();
  #target: Target;
  #ghost?: Candidate[];
  #said = "";
  #stopped = false;
  #barred: readonly number[] = [];

  constructor(ground: Ground, op: number, grip: number, others: readonly number[] = []) {
    this.#ground = ground;
    this.op = op;
    this.grip = grip;
    this.plan = ground.plan;
    const { placed } = ground;
    this.fresh = placed !== null && !placed[op];
    this.placed = placed ? placed.slice() : null;
    if (this.placed) this.placed[op] = 1;
    const together = this.fresh || !placed ? others : others.filter((v) => placed[v]);
    this.#moving = this.#block = blockOf(ground.plan, [op, ...(this.fresh ? [] : together)]);
    const device = ground.plan.device[op]!;
    const lane = this.#lane(device);
    const at = lane.indexOf(op);
    this.#partner = { device, position: at };
    this.#home = { device, position: lane.subarray(0, at).filter((v) => !this.#block.includes(v)).length };
    if (this.fresh) this.#home = { device: NOWHERE, position: 0 };
    this.#target = this.#home;
  }

  /** Whether it is where it was taken. */
  get isHome(): boolean {
    return this.plan === this.#ground.plan;
  }

  /** Whether it has a place. */
  get landed(): boolean {
    return this.#target.device !== NOWHERE;
  }

  /** What the chart shows of it; `hidden`: nothing of when it would run. */
  hand(hidden: boolean): Hand {
    const { plan, setting, names, time } = this.#ground;
    const { device } = this.#target;
    const now = this.#offer || (this.fresh && this.landed) ? this.#runWith(this.plan) : plan.run;
    const { start, finish } = now;
    const told = this.fresh && this.landed && !hidden && !this.#stopped;
    const span = `${time(start[this.op]!)} to ${time(finish[this.op]!)}`;
    return {
      grip: this.grip,
      op: this.op,
      moving: this.#moving,
      device,
      ...(this.fresh && { fresh: true, ghosts: hidden ? [] : this.#ghosts() }),
      ready: this.landed ? this.#placesOn(device).ready : 0,
      refused: setting.names.map((_, d) => this.#noPlace(d)),
      said: told ? `${names[this.op]}: ${this.#said}, ${span}` : this.#said,
      makespan: plan.run.makespan,
      stopped: this.#stopped,
      barred: this.#barred,
      offer: this.#offer !== null,
      start: start[this.op]!,
      finish: finish[this.op]!,
    };
  }

  /** On each device that may run an op of the tray the bar at the place by earliest start. */
  #ghosts(): Candidate[] {
    this.#ghost ??= this.#ground.setting.names.flatMap((_, device) => {
      const there = this.#placesOn(device);
      if (this.#noPlace(device)) return [];
      const { start, finish } = this.#runWith(this.#movedTo(device, there, there.start));
      return [{ device, start: start[this.op]!, finish: finish[this.op]! }];
    });
    return this.#ghost;
  }

  #runWith(plan: Placed): Run {
    return runOf(this.#ground.problem, plan, this.placed);
  }

  /** Where it runs, and where it would end first. */
  get verdict(): string {
    return verdictOf(this.#ground, this.op, this.#runWith(this.plan), this.#ghosts());
  }

  /** Shows a move that may be taken, or not. */
  propose(move: Move, saved: string): void {
    const { names, setting } = this.#ground;
    this.#offer = move;
    this.plan = move.plan;
    this.#target = { device: move.device, position: this.#target.position };
    this.#said = `Best move: ${names[move.op]} to ${setting.names[move.device]} saves ${saved}; Enter takes it, Esc does not`;
  }

  /** Puts it on a device behind the ops whose middle is before a time, or as near as may be. */
  at(device: number, time: number): void {
    const { start, finish } = this.#ground.plan.run;
    const ahead = this.#block.slice(0, this.#block.indexOf(this.op));
    const first = time - ahead.reduce((sum, v) => sum + finish[v]! - start[v]!, 0); // of the first op that moves
    this.#put({ device, position: this.#position(this.#others(device), first) });
  }

  /** Lets it change places with the op that a device runs at a time. */
  swapAt(device: number, time: number): void {
    const { start, finish } = this.#ground.plan.run;
    const there = this.#placedOn(device).find((v) => start[v]! <= time && time < finish[v]!);
    if (there !== undefined) return this.#swap(there);
    this.plan = this.#ground.plan;
    this.#moving = this.#block;
    this.#say(NO_BAR, true);
  }

  /** Lets it change places with the next op of its device, or with one of the next device that runs at its time. */
  swapStep(way: string): void {
    let { device, position } = this.#partner;
    const by = way === "right" || way === "down" ? 1 : -1;
    if (way === "left" || way === "right") {
      position += by;
      if (this.#placedOn(device)[position] === this.op) position += by;
    } else {
      device += by;
      if (!(device in this.#ground.setting.names)) return this.#say("There is no device", true);
      const lane = this.#placedOn(device);
      position = Math.min(this.#position(lane, this.#ground.plan.run.start[this.op]!), lane.length - 1);
    }
    const other = this.#placedOn(device)[position];
    if (other === undefined) return this.#say(NO_BAR, true);
    this.#partner = { device, position };
    this.#swap(other);
  }

  #swap(other: number): void {
    const { problem, plan, names } = this.#ground;
    if (other === this.op) {
      [this.plan, this.#moving] = [plan, this.#block];
      return this.#say("");
    }
    const [one, two] = [plan.device[this.op]!, plan.device[other]!];
    const refusal = one === two ? "" : this.#refusalOf([this.op], two) || this.#refusalOf([other], one);
    const there = refusal ? null : swapped(problem.shape, plan, this.op, other);
    const pair = `${names[this.op]} and ${names[other]}`;
    if (!there)
      return this.#say(
        `${pair} cannot change places: ${refusal || "ops would wait for each other in a circle"}`,
        true,
        [other, 0],
      );
    this.plan = this.#tidy(there);
    this.#moving = [this.op, other];
    this.#target = { device: two, position: this.#target.position };
    this.#say(`${pair} change places`);
  }

  /** How many ops of a lane have their middle before a time. */
  #position(lane: Int32Array, time: number): number {
    const { start, finish } = this.#ground.plan.run;
    return lane.filter((v) => (start[v]! + finish[v]!) / 2 < time).length;
  }

  /** Puts it one place on, or on the next device that may run it. */
  step(way: string): void {
    const { device, position } = this.#target;
    if (this.landed && (way === "left" || way === "right"))
      return this.#put({ device, position: position + (way === "right" ? 1 : -1) });
    const k = this.#ground.setting.names.length;
    const by = way === "down" ? 1 : -1;
    let why = "";
    const from = this.landed || by > 0 ? device : k;
    for (let d = from + by; d >= 0 && d < k; d += by) {
      const there = this.#placesOn(d);
      if (!this.#noPlace(d))
        return this.#put(d === this.#home.device ? this.#home : { device: d, position: there.start });
      why ||= this.#refusal(d);
    }
    if (why) this.#say(why, true);
  }

  /** Puts it at the legal place that is nearest to one, and says what forbids that one. */
  #put(wanted: Target): void {
    const places = this.#placesOn(wanted.device);
    const refusal = this.#noPlace(wanted.device);
    this.#moving = this.#block;
    if (refusal) return this.#say(refusal, true);
    const position = Math.min(Math.max(wanted.position, places.first), places.last);
    const { device } = wanted;
    this.#target = { device, position };
    const home = device === this.#home.device && position === this.#home.position && this.#block.length === 1;
    this.plan = home ? this.#ground.plan : this.#movedTo(device, places, position);
    this.#tell(wanted, places);
  }

  #movedTo(device: number, places: Places, position: number): Placed {
    const { problem, plan } = this.#ground;
    return this.#tidy(moved(problem.shape, plan, this.#block, device, places, position));
  }

  /** The plan with what is not placed behind all else. */
  #tidy(plan: Placed): Placed {
    return this.placed ? behind(this.#ground.problem.shape, plan, this.placed) : plan;
  }

  #say(said: string, stopped = false, barred: readonly number[] = []): void {
    [this.#said, this.#stopped, this.#barred] = [said, stopped, barred];
  }

  /** Says where it is, or what forbids the place where it was wanted. */
  #tell(wanted: Target, places: Places): void {
    const { first, last } = places;
    const { names, setting, placed } = this.#ground;
    const lane = placed ? places.lane.filter((v) => placed[v]) : places.lane;
    const name = this.#what;
    const early = wanted.position < first;
    const wall = early ? lane[first - 1] : wanted.position > last ? lane[last] : undefined;
    if (wall !== undefined)
      return this.#say(
        `${name} cannot run ${early ? "before" : "behind"} ${names[wall]}, which must run ${early ? "first" : "later"}`,
        true,
        [wall, early ? -1 : 1],
      );
    const { device, position } = this.#target;
    const [before, after] = [lane[position - 1], lane[position]];
    const parts = [...(this.#block.length > 1 ? [name] : []), setting.names[device]!];
    if (before !== undefined) parts.push(`after ${names[before]}`);
    if (after !== undefined) parts.push(`before ${names[after]}`);
    this.#say(parts.join(", "), position !== wanted.position);
  }

  /** The op by its name, or how many there are. */
  get #what(): string {
    return this.#block.length === 1 ? this.#ground.names[this.op]! : `${this.#block.length} ops`;
  }

  /** Why a device has no place for it, or "". */
  #noPlace(device: number): string {
    const { names, setting } = this.#ground;
    const { first, last, lane } = this.#placesOn(device);
    const why = this.#refusal(device);
    if (why || first <= last) return why;
    return `${this.#what} have no place together on ${setting.names[device]}: ${names[lane[last]!]} must run between them`;
  }

  /** Why a device may not run it, or "". */
  #refusal(device: number): string {
    return this.#refusalOf(this.#block, device);
  }

  #refusalOf(block: readonly number[], device: number): string {
    const { problem, plan, names, setting } = this.#ground;
    const refused = block.find((op) => setting.allowed && !mayRun(setting, op, device));
    if (refused !== undefined) {
      const others = setting.names.filter((_, d) => setting.allowed![refused]! & (1 << d));
      return `op '${names[refused]}' may only run on ${others.join(", ")}, not on '${setting.names[device]}'`;
    }
    const held = lacking(problem, plan, block, device);
    if (!held) return "";
    const room = whole(problem.shape.memory.capacity[device]!);
    return `device '${setting.names[device]}' has ${room} bytes; what moves with '${names[block[0]!]}' would keep ${whole(held)}`;
  }

  #placesOn(device: number): Places {
    const { problem, plan } = this.#ground;
    const known = this.#places.get(device) ?? this.#among(placesOf(problem, plan, this.#block, device));
    this.#places.set(device, known);
    return known;
  }

  /** The places that are not behind what waits. */
  #among(places: Places): Places {
    const { placed } = this.#ground;
    const last = placed ? places.lane.filter((v) => placed[v]).length : Number.POSITIVE_INFINITY;
    return places.last < last ? places : { ...places, last, start: Math.min(places.start, last) };
  }

  /** The ops of a device in their order that are placed. */
  #placedOn(device: number): Int32Array {
    const { placed } = this.#ground;
    return placed ? this.#lane(device).filter((v) => placed[v]) : this.#lane(device);
  }

  #lane(device: number): Int32Array {
    const { problem, plan } = this.#ground;
    return lanesOf(plan.device, plan.planned, problem.shape.nDevices)[device]!;
  }

  #others(device: number): Int32Array {
    return this.#lane(device).filter((v) => !this.#block.includes(v));
  }
}

/** What a page does for the mode. */
export interface HandHost {
  /** The plan by hand and its run; null while there is none. */
  ground(): Ground | null;
  /** Shows a plan, of which these ops are placed, null for all; `whole`: it is a change that can be undone. */
  show(plan: Placed, whole: boolean, placed: Uint8Array | null): void;
  /** Tells the chart what is held; null for nothing. */
  tell(hand: Hand | null): void;
  /** What is shown, as text: another one says that something else has changed. */
  state(): string;
  /** Says something that is no move. */
  say(text: string): void;
}

/** Hears what the chart says of held ops. */
export class HandMode {
  readonly #host: HandHost;
  #ground: Ground | null = null; // from which the op was taken
  #held: Held | null = null;
  #over = 0; // the newest grip that has ended
  #looking = 0;

  constructor(host: HandHost) {
    this.#host = host;
  }

  hear(said: Told): void {
    if (!(said.grip > this.#over)) return;
    clearTimeout(this.#looking);
    if (said.kind === "empty") return this.#empty();
    if (said.kind === "best" || said.kind === "finish") {
      if (this.#held) this.putBack();
      if (this.#host.ground()?.placed) return this.#host.say(PLACE_ALL);
      return said.kind === "best" ? this.#look(said.grip) : this.#finish(0);
    }
    const held = this.#taken(said.grip, said.op, said.ops ?? []);
    if (!held) return;
    if (said.kind === "return") return this.putBack();
    const swap = said.swap && !held.fresh; // what waits has no place to give
    if (said.kind === "step") held[swap ? "swapStep" : "step"](said.way);
    else if (said.time !== undefined) held[swap ? "swapAt" : "at"](said.device!, said.time);
    const whole = said.kind === "set";
    const hidden = held.fresh && said.predicts === true;
    if (!whole) this.#host.tell(held.hand(hidden));
    if (whole) this.#end();
    const { plan, placed } = this.#ground!;
    if (held.fresh && (!held.landed || (hidden && !whole))) return this.#host.show(plan, false, placed);
    if (whole && hidden) this.#host.say(held.verdict);
    this.#host.show(held.plan, whole, held.placed);
  }

  /** Takes all ops off, to be placed one by one. */
  #empty(): void {
    if (this.#held) this.putBack();
    const ground = this.#host.ground();
    if (ground) this.#host.show(ground.plan, true, new Uint8Array(ground.names.length));
  }

  /** Shows the plan as it was before the op was taken. */
  putBack(): void {
    if (!this.#held) return;
    this.#end();
    this.#host.show(this.#ground!.plan, false, this.#ground!.placed);
  }

  /** Looks for the best move. */
  #look(grip: number): void {
    if (this.#held) this.putBack();
    const ground = this.#host.ground();
    if (ground) this.#search(ground, (best) => this.#propose(ground, best, grip));
  }

  /** Takes best move after best move, each a step of its own, until none saves anything or something else is done. */
  #finish(taken: number): void {
    if (this.#held) this.putBack();
    const ground = this.#host.ground();
    if (!ground) return;
    if (ground.setting.puzzle) return this.#host.say("A puzzle is yours to finish; Best move helps.");
    const before = this.#host.state();
    this.#search(ground, (best) => {
      if (this.#host.state() !== before) return;
      if (best) {
        this.#host.show(best.plan, true, null);
        this.#looking = self.setTimeout(() => this.#finish(taken + 1));
      } else
        this.#host.say(
          `${taken} best moves taken; no other saves anything. placelab's local search may find a shorter plan.`,
        );
    });
  }

  /** Finds the best move, null for none, a little at a time, until something else is asked. */
  #search(ground: Ground, found: (best: Move | null) => void): void {
    const moves = bestMoves(ground.problem, ground.plan, (op, device) => mayRun(ground.setting, op, device));
    let best: Move | null = null;
    const next = () => {
      const until = performance.now() + SLICE;
      while (performance.now() < until) {
        const step = moves.next();
        if (step.done) return found(best);
        best = step.value;
      }
      this.#looking = self.setTimeout(next);
    };
    this.#looking = self.setTimeout(next); // the chart awaits its answer later
  }

  #propose(ground: Ground, best: Move | null, grip: number): void {
    if (!best) return this.#host.say("No single move of an op of the critical path saves anything.");
    this.#ground = ground;
    this.#held = new Held(ground, best.op, grip);
    this.#held.propose(best, ground.time(ground.plan.run.makespan - best.makespan));
    this.#host.tell(this.#held.hand(false));
  }

  #taken(grip: number, op: number, others: readonly number[]): Held | null {
    if (this.#held?.grip === grip) return this.#held;
    this.#ground = this.#host.ground();
    if (!this.#ground || !(op < this.#ground.names.length)) return null;
    const { placed, problem } = this.#ground;
    if (placed && !placed[op] && !isReady(problem.shape, placed, op)) return null;
    this.#held = new Held(this.#ground, op, grip, others);
    return this.#held;
  }

  #end(): void {
    this.#over = this.#held!.grip;
    this.#held = null;
    this.#host.tell(null);
  }
}
