/** The chart as an element, from its parts. It knows no model; index.ts connects it to one. */

import { HELP, publish, type Together } from "../shared/bus.ts";
import { h, listen, style } from "../shared/dom.ts";
import { type Damage, frames } from "../shared/frames.ts";
import type { CurveSoFar } from "../shared/sensitivity.ts";
import { readTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import { tooltip } from "../shared/tooltip.ts";
import drawerCss from "./drawer.css";
import css from "./gantt.css";
import { Arranging } from "./hands/arranging.ts";
import { Board } from "./hands/board.ts";
import { ByHand, type HandTell } from "./hands/byhand.ts";
import { Commands, type Shown } from "./hands/commands.ts";
import { drawer } from "./hands/drawer.ts";
import { Drawing } from "./hands/drawing.ts";
import { actionOf, KEY_HELP } from "./hands/keyboard.ts";
import { minimap } from "./hands/minimap.ts";
import type { Save, Wanted } from "./hands/picture.ts";
import { Player } from "./hands/playing.ts";
import { NOTHING, type Picked, Pointing } from "./hands/pointing.ts";
import { proofLane } from "./hands/prooflane.ts";
import { Report } from "./hands/report.ts";
import { stage } from "./hands/stage.ts";
import { Steps } from "./hands/steps.ts";
import { strip } from "./hands/strip.ts";
import { toolbar } from "./hands/toolbar.ts";
import { tray } from "./hands/tray.ts";
import { words } from "./hands/words.ts";
import { closeUp, whole } from "./scene/camera.ts";
import { inScope } from "./scene/find.ts";
import type { Kept } from "./scene/kept.ts";
import { scrub } from "./scene/playback.ts";
import type { Chart, Labels } from "./scene/scene.ts";
import { isDrawn } from "./scene/sofar.ts";
import type { Details, Step } from "./wire/details.ts";
import type { Memory } from "./wire/memory.ts";
import type { Candidate, Hand, LaneChoice, Mark, Proof, Waiting } from "./wire/traits.ts";

const DIMMED_AFTER = 300; // ms

/** Called when the user changes something that other views need to know. */
export interface Tell extends Omit<HandTell, "chosen" | "leave"> {
  /** Something else was clicked or selected. */
  selected(picked: Picked): void;
  /** The lane "why not faster" was shown or hidden. */
  proof(shown: boolean): void;
  /** The drawer was opened or closed. */
  drawer(open: boolean): void;
  /** Lanes of memory or of links were shown or hidden, the axis was fixed or let go. */
  memory(shown: boolean): void;
  links(shown: boolean): void;
  axis(kept: boolean): void;
  /** Another meaning of the colours was chosen. */
  colour(way: string): void;
  /** Lanes were put in order, pinned, hidden or folded. */
  arranged(choice: LaneChoice): void;
  /** The mode by hand was begun or ended. */
  byHand(on: boolean): void;
  /** Where an op would run is hidden until it is set, or not. */
  predicts(on: boolean): void;
}

export class GanttView {
  readonly strip = strip();
  readonly element: HTMLElement;
  readonly #tell: Tell;
  readonly #texts = words();
  readonly #surface = stage();
  readonly #bubble = tooltip();
  readonly #ending = new AbortController();
  readonly #clock = frames(this.#surface.element, (damage, elapsed) => this.#drawing.frame(damage, elapsed));
  readonly #board = new Board(this.#surface, (damage: Damage = "all") => this.#clock.invalidate(damage));
  readonly #report = new Report(
    this.#board,
    this.#texts,
    (op) => this.#choose(op),
    (name, ops) => {
      this.gather({ name, ops });
      this.#surface.element.focus(); // for the keys that move them
    },
  );
  readonly #drawer = drawer({
    go: (step) => this.#goTo(step),
    close: () => this.#toggleDrawer(false),
    zoom: () => this.#commands.perform("to-selection"),
    say: (text) => this.#report.note(text),
  });
  readonly #proof = proofLane((op, ops) => this.#chooseOf(op, ops));
  readonly #map = minimap(() => this.#board);
  readonly #lanes = new Arranging(this.#board, this.#report, {
    focused: () => this.#focused,
    tell: (choice) => this.#tell.arranged(choice),
  });
  readonly #tray = tray({
    look: (op) => this.#byHand.lookAt(op),
    take: (op) => this.#byHand.takeNew(op),
    carry: (event) => this.#pointing.carryNew(this.#byHand, event),
    drop: (event) => this.#pointing.dropNew(this.#byHand, event),
    putBack: () => this.#byHand.putBack(),
    move: (op, way) => this.#byHand.moveNew(op, way),
    give: (what) => this.#byHand.giveHeld(what),
    say: (text) => this.#report.note(text),
  });
  readonly #byHand: ByHand;
  readonly #controls;
  #offered = false; // moves by hand
  readonly #player: Player;
  readonly #steps: Steps;
  readonly #pointing: Pointing;
  readonly #commands: Commands;
  readonly #drawing: Drawing;
  readonly #forgetTheme: () => void;
  #dimming = 0; // timer
  #explained = ""; // what Python says of the selected op, in a sentence and in the drawer
  #told: Details = {};
  #picked = NOTHING; // as Python knows it
  #elsewhere = false; // a value was chosen on a cluster canvas: the drawer says of that

  /** `alone`: there is no Python to ask. */
  constructor(tell: Tell, alone: boolean) {
    this.#tell = tell;
    this.#byHand = new ByHand(this.#board, {
      ...tell,
      leave: () => this.#choose(-1),
      chosen: (count, of) => this.#sayChosen(count, of),
    });
    this.#controls = toolbar(
      {
        act: (action) => this.#commands.perform(action),
        seek: (fraction) =>
          this.#steps.on ? this.#steps.seek(fraction) : this.#player.move(fraction * this.#board.makespan),
        turn: (decisions) => this.#steps.turn(decisions),
        speed: (speed) => this.#player.set({ ...this.#player.head, speed }),
        colour: (way) => tell.colour(way),
        find: (text) => this.#commands.look(text),
        table: () => this.#controls.press("table", this.#report.toggleTable()),
        help: () => this.#help(),
        ask: (what) => {
          this.#byHand.ask(what);
          this.#surface.element.focus();
        },
        predict: (on) => tell.predicts(on),
      },
      alone,
    );
    this.element = this.#build();
    this.#board.dress(readTheme(this.element));
    this.#player = new Player(this.#board, this.element, (head) =>
      this.#controls.show(head, this.#board.makespan, this.#board.labels.units, this.#board.chart?.drawn !== undefined),
    );
    this.#steps = new Steps(this.element, () => {
      this.#controls.step(this.#steps);
      if (!this.#steps.on) this.#player.set(this.#player.head);
    });
    const pointed = {
      choose: (picked: Picked) => this.#pick(picked),
      fit: () => this.#board.fit(),
      unfold: (host: string) => this.#lanes.unfold(host),
      scrub: (time: number) => this.#player.move(time),
    };
    this.#pointing = new Pointing(this.#board, this.element, this.#bubble, pointed, this.#byHand, {
      signal: this.#ending.signal,
      alone,
    });
    const asked = {
      choose: (op: number) => this.#choose(op),
      toggle: (what: Shown, on: boolean) => this.#toggle(what, on),
      find: () => this.#controls.find(),
      details: () => this.#toggleDrawer(!this.#drawer.open),
      proof: () => {
        this.showProofLane(!this.#proof.shown);
        this.#tell.proof(this.#proof.shown);
      },
      pin: () => this.#lanes.pin(),
      byHand: () => {
        if (this.#offered) tell.byHand(!this.#byHand.on);
        this.#surface.element.focus(); // for the keys that move ops
      },
    };
    this.#texts.opens.hidden = alone; // the drawer says what Python finds out
    this.#texts.foot.insertBefore(this.#lanes.button, this.#texts.more);
    this.#commands = new Commands(this.#board, this.#player, this.#steps, this.#report, asked);
    this.#drawing = new Drawing(
      this.element,
      this.#board,
      this.#player,
      this.#pointing,
      this.#commands,
      this.#report,
      this.#proof,
      this.#byHand,
      this.#map,
    );
    this.#forgetTheme = watchTheme(() => this.#onTheme());
    this.#connect();
    requestAnimationFrame(() => this.#onTheme()); // the page may attach the element only now
  }

  dispose(): void {
    this.#ending.abort();
    clearTimeout(this.#dimming);
    this.#clock.stop();
    this.#forgetTheme();
    this.#report.stop();
    this.#steps.stop();
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  /** Shows another schedule; the view stays where it was, or at the whole. */
  show(chart: Chart): void {
    this.#picked = { ...this.#picked, gap: -1, transfer: -1 };
    const before = this.#board.chart ? this.#board.makespan : NaN;
    this.#board.show(chart);
    if (Number.isNaN(before)) this.#map.fit(this.element.dataset.fill === "true"); // the first one
    this.#player.carry(before);
    this.#pointing.leave();
    this.element.dataset.makespan = String(chart.columns.makespan);
    this.#report.soon();
    this.#lanes.show();
    this.#sayHeld("");
  }

  /** Puts the lanes in an order, pins, hides and folds some. */
  arrange(choice: LaneChoice): void {
    this.#lanes.follow(choice);
  }

  /** Memory of the schedule on show, or of the one that comes with it. */
  showMemory(memory: Memory | null): void {
    this.#board.usage = memory;
    this.#report.soon();
    this.#board.redraw();
  }

  /** Lanes of memory, or none. */
  showLanes(shown: boolean): void {
    this.#board.laned = shown;
    this.#controls.press("memory", shown);
    this.element.dataset.memory = String(shown);
    this.#resized();
  }

  /** Lanes of links, or none. */
  showLinks(shown: boolean): void {
    this.#board.linked = shown;
    this.#controls.press("links", shown);
    this.#resized();
  }

  showKept(kept: Kept | null): void {
    this.#board.showKept(kept);
    this.element.dataset.kept = String(kept?.makespan ?? "");
    this.#report.soon();
  }

  dragAxis(drags: boolean): void {
    this.#board.dragAxis(drags);
  }

  keepAxis(keeps: boolean): void {
    this.#board.keepAxis(keeps);
    this.#controls.press("axis", keeps);
  }

  /** What the colours of ops mean, the indices that Python sent for it, and ways that the graph of a job has. */
  colourBy(way: string, index: Uint8Array, names: readonly string[], more: readonly string[] = []): void {
    this.#board.colourBy(way, index, names);
    this.#controls.colour(way, more);
    this.#report.soon();
  }

  /** What the partitioner has decided so far. */
  showDecided(decided: Uint8Array): void {
    this.#board.showDecided(decided);
    const part = this.#board.chart?.drawn !== undefined;
    this.element.dataset.part = String(part);
    this.#player.set(this.#player.head); // whose end is told, or not
    this.#report.now();
    this.explain(this.#explained);
    this.tell(this.#told);
    this.#sayHeld("");
  }

  showCandidates(candidates: readonly Candidate[]): void {
    this.#board.candidates = candidates;
    this.#board.redraw("overlay");
  }

  /** A line at a time with a text on the axis, or none. */
  mark({ time, text = "" }: Partial<Mark>): void {
    this.#board.mark = time === undefined ? null : { time, text };
    this.#board.redraw();
  }

  /** An op, and the transfers that bring its inputs. */
  showIncoming(incoming: readonly number[]): void {
    this.#board.incoming = incoming;
    this.#board.redraw("overlay");
  }

  label(labels: Labels): void {
    this.#board.label(labels);
    this.#commands.mark();
    this.#report.soon();
    this.#board.redraw();
  }

  /** Shows another graph, which resets the view. */
  restart(): void {
    this.#byHand.forget();
    this.#board.seen = whole(this.#board.extent);
    this.#board.forgetOrder();
    this.#player.head = scrub(this.#player.head, Infinity, this.#board.makespan);
    this.#board.redraw();
  }

  /** Height in CSS pixels; 0: as much as the devices need; -1: all there is. */
  resize(height: number): void {
    this.element.dataset.fill = String(height < 0);
    this.#board.resize(height);
  }

  embed(embedded: boolean): void {
    this.element.dataset.embedded = String(embedded);
  }

  /** The selection was changed from outside, or by `#choose`. */
  showSelection(op: number): void {
    const { chart } = this.#board;
    this.#board.picked = chart && op < chart.bars.nOps ? op : -1;
    if (op >= 0) this.#board.area = null; // another view has selected it
    this.#lanes.unfoldSelected();
    this.#board.reveal();
    this.#report.now();
    this.#lanes.show();
    this.#board.redraw("overlay");
  }

  /** Says at once that the schedule is outdated; it looks so only after a moment, because to dim the chart costs a whole frame. */
  showStale(stale: boolean): void {
    this.element.dataset.stale = String(stale);
    this.element.setAttribute("aria-busy", String(stale));
    clearTimeout(this.#dimming);
    if (stale) this.#dimming = window.setTimeout(() => this.element.classList.add("outdated"), DIMMED_AFTER);
    else this.element.classList.remove("outdated");
  }

  warn(text: string): void {
    this.#texts.warning.textContent = text;
    this.#texts.warning.hidden = !text;
  }

  explain(text: string): void {
    this.#explained = text;
    this.#report.detail(this.#toCome ? "" : text);
  }

  /** Whether the selected op is not decided yet, so that nothing may be said of where and when it runs. */
  get #toCome(): boolean {
    const { chart, picked } = this.#board;
    return chart !== null && picked >= 0 && !isDrawn(chart, picked);
  }

  /** Whether a value was chosen elsewhere, so that the next click here counts in any case. */
  turnTo(value: boolean): void {
    this.#elsewhere = value;
  }

  drawCurve(curve: CurveSoFar): void {
    this.#drawer.draw(curve, this.#board.labels.units);
  }

  /** Whether the details are those of another state than the newest, and the line below the chart with them. */
  outdateDetails(outdated: boolean): void {
    this.#drawer.outdate(outdated);
    this.#texts.detail.classList.toggle("of-before", outdated);
  }

  outdateCurve(outdated: boolean): void {
    this.#drawer.outdateCurve(outdated);
  }

  /** What there is to say of what was clicked. */
  tell(details: Details): void {
    this.#told = details;
    const awaited = this.#elsewhere || this.#board.picked >= 0 || this.#picked.lane >= 0 || this.#picked.area !== null;
    this.#drawer.show(this.#toCome ? {} : details, this.#toCome ? "decided" : awaited ? "computed" : "chosen");
  }

  /** Why no schedule is shorter. */
  showProof(proof: readonly Proof[]): void {
    this.#proof.show(proof);
    this.#board.redraw();
  }

  showProofLane(shown: boolean): void {
    this.#proof.reveal(shown);
    this.#resized();
  }

  /** Ops were selected together elsewhere; without `ops`, those of the scope `name`, "" for nothing any more. */
  gather({ name, ops }: Together): void {
    this.#byHand.gather(name, ops ?? inScope(this.#board.labels.names, name));
  }

  /** Whether bars can be moved by hand at all. */
  offerHand(offered: boolean): void {
    this.#offered = offered;
    this.#controls.offer(offered);
  }

  moveByHand(on: boolean): void {
    this.#board.placing = on;
    this.#byHand.switch(on);
    this.#tray.reveal(on);
    this.#resized();
    this.#controls.press("byHand", on);
    this.element.dataset.byHand = String(on);
  }

  /** Ops that wait to be placed, and how many more. */
  showTray(waiting: readonly Waiting[], more: number): void {
    this.#tray.show(waiting, more);
    this.element.dataset.waiting = String(waiting.length + more);
    this.#resized();
  }

  predicts(on: boolean): void {
    this.#controls.press("predict", on);
  }

  /** What Python says of an op in the hand. */
  hear(hand: Partial<Hand>): void {
    this.#byHand.hear(hand);
    this.#sayHeld(hand.said ?? "");
  }

  /** Says what an op in the hand changes, at the pointer and in the status line; else `otherwise`. */
  #sayHeld(otherwise: string): void {
    this.#pointing.sayCarried(this.#byHand);
    const { description } = this.#byHand;
    const text = description ? [description.rows[0]?.[1], description.title].filter(Boolean).join(" · ") : otherwise;
    if (text) this.#report.note(text);
  }

  #sayChosen(count: number, of = ""): void {
    this.element.dataset.together = String(count);
    const what = `${count} op${count === 1 ? "" : "s"}${of && ` of ${of}`}`;
    this.#report.note(count ? `${what} chosen to move together` : "Each op moves alone");
  }

  openDrawer(open: boolean): void {
    this.#drawer.reveal(open);
    this.#texts.opens.setAttribute("aria-expanded", String(open));
  }

  /** Has the browser download the chart as it is shown. */
  savePicture(save: Save, wanted: Wanted): void {
    save(this.#board, { ...this.#drawing.moving, hover: -1 }, wanted).catch((error: Error) => this.warn(error.message));
  }

  #onTheme(): void {
    this.#board.dress(readTheme(this.element));
    this.#report.soon();
  }

  #resized(): void {
    this.#board.resize();
    this.#report.soon();
  }

  // ---- what the user does ------------------------------------------------------------------------------------------

  /** The device that is selected, or that runs the selected op; -1 for none. */
  get #focused(): number {
    const { chart, picked } = this.#board;
    return chart && picked >= 0 ? chart.columns.ops.device[picked]! : this.#picked.lane;
  }

  #choose(op: number): void {
    this.#pick({ ...NOTHING, op });
  }

  /** Selects the first op of several, and marks all. */
  #chooseOf(op: number, ops: readonly number[]): void {
    this.#choose(op);
    this.#commands.found = ops;
    this.element.dataset.marked = String(ops.length);
    this.#board.redraw("overlay");
  }

  #pick(picked: Picked): void {
    this.#commands.mark(); // what is found, and nothing else
    this.element.dataset.marked = "0";
    const { gap, transfer, lane, area } = this.#picked;
    const same = gap === picked.gap && transfer === picked.transfer && lane === picked.lane && area === picked.area;
    if (same && picked.op === this.#board.picked && !this.#elsewhere) return;
    this.#picked = picked;
    this.#elsewhere = false;
    this.#board.area = picked.area;
    this.showSelection(picked.op);
    this.#tell.selected(picked);
    if (picked.area) this.#toggleDrawer(true);
  }

  /** Zooms to a step of a chain and selects its op; the drawer, which then says of that, stays open. */
  #goTo([, , , start, finish, op]: Step): void {
    this.#board.setSpan(closeUp(start, finish, this.#board.extent));
    this.#choose(op);
  }

  #toggleDrawer(open: boolean): void {
    const inside = this.#drawer.element.contains(document.activeElement);
    this.openDrawer(open);
    if (inside && !open) this.#surface.element.focus();
    this.#tell.drawer(open);
  }

  #toggle(what: Shown, on: boolean): void {
    if (what === "memory") this.showLanes(on);
    else if (what === "links") this.showLinks(on);
    else this.keepAxis(on);
    this.#tell[what](on);
  }

  /** Says what keys do: the explorer for all views; where the line is short, in a box. */
  #help(): void {
    if (this.element.closest(".placelab-explorer")) publish(this.element, HELP, null);
    else if (this.element.dataset.fill === "true") this.#open(this.#texts.keys.hidden ? "keys" : "");
    else this.#report.note(KEY_HELP);
  }

  /** Opens the box of the legend or of the keys, "" none; both are seen only where the height is given. */
  #open(box: "legend" | "keys" | "lanes" | ""): void {
    this.#lanes.open(box === "lanes");
    this.element.dataset.open = box;
    this.#texts.keys.hidden = box !== "keys";
    this.#texts.more.setAttribute("aria-expanded", String(box === "legend"));
  }

  // ---- the element -------------------------------------------------------------------------------------------------

  #build(): HTMLElement {
    const { warning, legend, foot, keys } = this.#texts;
    const surface = this.#surface.element;
    surface.setAttribute("aria-label", `Gantt chart. ${KEY_HELP}`);
    return h(
      "div.placelab.pl-gantt",
      { "data-lm-suppress-shortcuts": "true", role: "group", "aria-label": "Schedule" },
      style(THEME_CSS, css, drawerCss),
      this.strip.element,
      warning,
      this.#controls.element,
      h(
        "div.body",
        {},
        h(
          "div.frame",
          {},
          this.#tray.element,
          this.#map.element,
          this.#proof.element,
          surface,
          h("span.badge", { "aria-hidden": "true" }, "updating …"),
        ),
        this.#drawer.element,
      ),
      legend,
      foot,
      keys,
      this.#lanes.box,
      this.#report.table.element,
      this.#bubble.element,
    );
  }

  #connect(): void {
    const { signal } = this.#ending;
    const { element } = this.#surface;
    listen(element, "scroll", () => this.#board.redraw(), { signal });
    listen(element, "keydown", (event) => this.#key(event), { signal });
    listen(this.element, "keydown", (event) => this.#keepInside(event), { signal });
    listen(this.#texts.more, "click", () => this.#open(this.element.dataset.open === "legend" ? "" : "legend"));
    listen(this.#lanes.button, "click", () => this.#open(this.#lanes.box.hidden ? "lanes" : ""));
    listen(this.#texts.opens, "click", () => this.#toggleDrawer(!this.#drawer.open));
    listen(element, "pointerdown", () => this.#open(""), { signal });
    const sized = new ResizeObserver(() => {
      this.#surface.measure();
      this.#map.fit(this.element.dataset.fill === "true");
      this.#board.resize();
    });
    sized.observe(element);
    signal.addEventListener("abort", () => sized.disconnect());
  }

  #key(event: KeyboardEvent): void {
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (plain && this.#byHand.key(event.key, event.altKey)) {
      event.preventDefault();
      return event.stopPropagation();
    }
    const action = actionOf(event);
    if (!action) return;
    if (action === "clear" && this.element.dataset.open) return this.#open("");
    this.#commands.perform(action);
    event.preventDefault();
    event.stopPropagation();
  }

  /** Keeps keys from a notebook's shortcuts, which are matched on the focused element itself, before its ancestors can suppress them: `b` would add a cell. */
  #keepInside(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      if (this.#drawer.element.contains(event.target as Node)) this.#toggleDrawer(false);
      this.#open("");
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!(event.target as Element).matches("input, select") && this.#steps.guess(event.key)) event.preventDefault();
    event.stopPropagation();
  }
}
