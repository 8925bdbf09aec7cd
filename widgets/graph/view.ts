/** The model graph: its parts on the page, and what a hand does with them. Coordinates are CSS pixels of the stage. */

import { h, listen, style } from "../shared/dom.ts";
import { type Frames, frames } from "../shared/frames.ts";
import { readTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import { tooltip } from "../shared/tooltip.ts";
import { drawBase, drawMarks, hasMark, MARK, placeOf, TITLE } from "./draw.ts";
import { Finder } from "./finder.ts";
import css from "./graph.css";
import { type Action, actionOf, type Direction, moveFrom } from "./keyboard.ts";
import { menu } from "./menu.ts";
import { minimap } from "./minimap.ts";
import { boxAt, boxOfNode, isScope, opsIn, type Picture, pictureOf } from "./picture.ts";
import { pinChoices, unpinChoices } from "./pinlist.ts";
import { carry } from "./pinning.ts";
import { type Drag, watchPointer } from "./pointing.ts";
import { Sheet } from "./sheet.ts";
import { type Surface, surface } from "./surface.ts";
import { toolbar } from "./toolbar.ts";
import type { Asked, Box, Scene } from "./traits.ts";
import { runningAt } from "./values.ts";
import { Viewport } from "./viewport.ts";
import { describe, spoken } from "./words.ts";

const SHAPED = 0.2; // change of the logarithm of the aspect that is worth another layout
const SHAPING = 120; // milliseconds without another change before it is sent

export interface ViewEvents {
  selected(op: number): void;
  /** A scope has the focus, with these ops; "" for none any more. */
  gathered(name: string, ops: readonly number[]): void;
  toggled(scope: number): void;
  coloured(colour: string): void;
  queried(text: string): void;
  asked(command: Asked): void;
  shaped(aspect: number): void;
}

export class GraphView {
  readonly element: HTMLElement;
  readonly sheet = new Sheet();
  canPin = false;
  readonly #ending = new AbortController();
  readonly #stage = h("div.stage", {
    tabindex: 0,
    role: "application",
    "aria-roledescription": "model graph",
    "aria-label": "Model graph",
  });
  readonly #empty = h("div.empty", {}, "The graph is being laid out …");
  readonly #said = h("div.said", { role: "status", "aria-live": "polite" });
  readonly #tip = tooltip();
  readonly #bar;
  readonly #choices = menu(() => this.#stage.focus(), this.#ending.signal);
  readonly #map = minimap((x, y) => this.#view.look(x, y), this.#ending.signal);
  readonly #area: Surface;
  readonly #loop: Frames;
  readonly #view: Viewport;
  readonly #finder: Finder;
  readonly #stopTheme: () => void;
  #hover = -1; // a box
  #focus = -1; // a node
  #running: ReadonlyMap<number, number> = new Map();
  /** What the next scene is an answer to. */
  #expected: { node: number; kind: "toggle" | "reveal" } | null = null;
  #aspect = 0;
  #shaping: ReturnType<typeof setTimeout> | undefined;
  readonly #on: ViewEvents;

  constructor(on: ViewEvents) {
    this.#on = on;
    const stage = this.#stage;
    const { signal } = this.#ending;
    this.#bar = toolbar({
      colour: on.coloured,
      find: on.queried,
      jump: (step) => this.#jump(step),
      leave: () => this.#leaveSearch(),
      pins: (button) => this.#listPins(button),
      act: (action) => this.#act(action),
    });
    this.#finder = new Finder(this.#bar);
    this.element = h(
      "div.placelab.pl-graph",
      { "data-lm-suppress-shortcuts": "true" },
      style(THEME_CSS, css),
      this.#bar.element,
      stage,
      this.#tip.element,
      this.#choices.element,
      this.#said,
    );
    stage.append(this.#empty, this.#map.element);
    this.#loop = frames(stage, (damage, elapsed) => this.#draw(damage, elapsed));
    this.#area = surface(stage, () => this.#resized());
    this.#view = new Viewport(
      () => this.#picture,
      () => this.#area.size,
      (to) => {
        this.element.dataset.camera = [to.x, to.y, to.zoom].join(" ");
        this.#loop.invalidate("all");
      },
    );
    this.#stopTheme = watchTheme(() => this.#themed());
    watchPointer(
      stage,
      {
        hover: (x, y) => this.#point(x, y),
        leave: () => this.#point(-1, -1),
        click: (x, y) => this.#click(x, y),
        doubleClick: (x, y) => this.#onMark(x, y) || this.#toggle(this.#target(x, y)),
        menu: (x, y) => this.#offer(this.#boxHere(x, y), x, y),
        grab: (x, y) => this.#grab(x, y),
        pan: (dx, dy) => this.#view.pan(dx, dy),
        zoom: (factor, x, y) => this.#view.zoom(factor, x, y),
      },
      signal,
    );
    listen(
      stage,
      "keydown",
      (event) => {
        const action = actionOf(event);
        if (!action || event.target !== stage) return;
        event.preventDefault();
        event.stopPropagation();
        this.#act(action);
      },
      { signal },
    );
  }

  // ---------------------------------------------------------------- what Python sends

  showScene(scene: Scene, owner: Int32Array): void {
    const before = this.#picture;
    this.sheet.change({ picture: pictureOf(scene, owner) });
    this.#empty.hidden = this.#picture.boxes.length > 0;
    this.#running = new Map();
    this.#point(-1, -1);
    if (this.#area.size.width) this.#follow(before);
    this.#finder.locate(this.#picture);
    this.#say();
    this.refresh();
  }

  /** Draws again what has changed in the sheet. */
  refresh(): void {
    this.#bar.showColour(this.sheet.colour, this.sheet.legend);
    this.#bar.showPins(this.sheet.nPinned);
    this.#loop.invalidate("all");
  }

  showHits(hits: Uint32Array, query: string): void {
    this.#finder.show(hits, query, this.#picture);
    this.#loop.invalidate("overlay");
  }

  showSelection(op: number): void {
    if (op === this.#focus || (op < 0 && this.#focus >= this.#picture.nOps)) return;
    this.#setFocus(op, false);
    this.#bring();
  }

  showTime(time: number, playing: boolean): void {
    this.#running = time > 0 || playing ? runningAt(this.#picture, this.sheet.values, time) : new Map();
    this.element.dataset.running = String(this.#running.size);
    this.#loop.invalidate("overlay");
  }

  dispose(): void {
    this.#ending.abort();
    clearTimeout(this.#shaping);
    this.#loop.stop();
    this.#area.stop();
    this.#stopTheme();
    this.element.remove();
  }

  // ---------------------------------------------------------------- drawing

  get #picture(): Picture {
    return this.sheet.picture;
  }

  #draw(damage: "overlay" | "all", elapsed: number): boolean {
    const coloured = this.sheet.coloured();
    const { size } = this.#area;
    if (!size.width || !coloured) return false;
    const moving = this.#view.step(elapsed);
    const drawing = { ...coloured, picture: this.#picture, size, camera: this.#view.camera };
    if (moving || damage === "all") {
      drawBase(this.#area.base, drawing);
      this.#map.show(drawing);
    }
    drawMarks(this.#area.marks, drawing, {
      hover: this.#hover,
      running: this.#running,
      focus: boxOfNode(this.#picture, this.#focus),
      found: this.#finder.boxes,
    });
    return this.#view.gliding;
  }

  #themed(): void {
    this.sheet.setTheme(readTheme(this.element));
    this.refresh();
  }

  #resized(): void {
    if (!this.#aspect) this.#themed(); // on the page at last, where it has colours
    this.#view.resize();
    const aspect = this.#area.size.width / this.#area.size.height;
    if (this.#aspect && Math.abs(Math.log(aspect / this.#aspect)) < SHAPED) return;
    this.#aspect = aspect;
    clearTimeout(this.#shaping);
    this.#shaping = setTimeout(() => this.#on.shaped(aspect), SHAPING);
  }

  /** Keeps what a hand is at in view when boxes open, close or move. */
  #follow(before: Picture): void {
    const picture = this.#picture;
    const view = this.#view;
    const expected = this.#expected;
    this.#expected = null;
    const another = before.nOps !== picture.nOps || before.boxes[0]?.path !== picture.boxes[0]?.path;
    if (another) this.#focus = -1;
    if (another || !before.boxes.length) return view.all(false);
    const box = expected ? this.#boxOf(expected.node) : undefined;
    if (expected?.kind === "reveal") {
      this.#setFocus(expected.node);
      return view.closeUp(box);
    }
    if (box?.open) return view.closeUp(box);
    if (view.isWhole) return view.all();
    const old = before.boxes[boxOfNode(before, this.#focus)];
    const fresh = this.#boxOf(this.#focus);
    view.shift(old && fresh ? fresh.x - old.x : 0, old && fresh ? fresh.y - old.y : 0);
    this.#bring();
  }

  // ---------------------------------------------------------------- what is in focus

  #boxOf(node: number): Box | undefined {
    return this.#picture.boxes[boxOfNode(this.#picture, node)];
  }

  #setFocus(node: number, tell = true): void {
    const left = this.#focus >= this.#picture.nOps;
    this.#focus = node;
    this.#say();
    if (tell && node < this.#picture.nOps) this.#on.selected(node);
    const box = node >= this.#picture.nOps ? boxOfNode(this.#picture, node) : -1;
    if (box >= 0) this.#on.gathered(this.#picture.boxes[box]!.label, opsIn(this.#picture, box));
    else if (left) this.#on.gathered("", []);
    this.#loop.invalidate("overlay");
  }

  #say(): void {
    const index = boxOfNode(this.#picture, this.#focus);
    const box = this.#picture.boxes[index];
    this.#said.textContent = box
      ? spoken(this.#picture, this.sheet.sums, index, this.sheet.labels.devices, this.sheet.labels.units)
      : "";
    this.element.dataset.focus = box ? box.path || box.label : "";
  }

  #bring(): void {
    const box = this.#boxOf(this.#focus);
    if (box && this.#area.size.width) this.#view.bring(box);
  }

  #toggle(index: number): void {
    const box = this.#picture.boxes[index];
    if (!box || !isScope(this.#picture, box)) return;
    this.#expected = { node: box.node, kind: "toggle" };
    this.#setFocus(box.node);
    this.#on.toggled(box.node);
  }

  #jump(step: 1 | -1): void {
    const op = this.#finder.next(step);
    if (op === undefined) return;
    if (!this.#picture.boxOf.has(op)) {
      this.#expected = { node: op, kind: "reveal" };
      return this.#on.asked({ kind: "reveal", node: op });
    }
    this.#setFocus(op);
    this.#view.closeUp(this.#boxOf(op));
  }

  #leaveSearch(): void {
    this.#bar.search.value = "";
    this.#on.queried("");
    this.#stage.focus();
  }

  #act(action: Action): void {
    const index = boxOfNode(this.#picture, this.#focus);
    const box = this.#picture.boxes[index];
    const { width, height } = this.#area.size;
    if (action === "zoom-in" || action === "zoom-out")
      this.#view.zoom(action === "zoom-in" ? 1.3 : 1 / 1.3, width / 2, height / 2);
    else if (action === "fit") this.#view.all();
    else if (action === "search") this.#bar.search.focus();
    else if (action === "clear") this.#setFocus(-1);
    else if (action === "left" || action === "right" || action === "up" || action === "down") this.#move(index, action);
    else if (!box) return;
    else if (action === "to-selection") this.#view.closeUp(box);
    else if (action === "toggle") this.#toggle(index);
    else if (action === "close") this.#toggle(box.open ? index : box.inside);
    else if (action === "menu")
      this.#offer(index, placeOf(this.#view.camera, box).x + 12, placeOf(this.#view.camera, box).y + 12);
  }

  #move(from: number, direction: Direction): void {
    const box = this.#picture.boxes[moveFrom(this.#picture, from, direction)];
    if (!box) return;
    this.#setFocus(box.node);
    this.#bring();
  }

  // ---------------------------------------------------------------- the pointer

  #boxHere(x: number, y: number): number {
    const { camera } = this.#view;
    return x < 0 ? -1 : boxAt(this.#picture, camera.x + x / camera.zoom, camera.y + y / camera.zoom);
  }

  /** The box at a point, of an open one only where its title is. */
  #target(x: number, y: number): number {
    const index = this.#boxHere(x, y);
    const box = this.#picture.boxes[index];
    const place = box?.open ? placeOf(this.#view.camera, box) : undefined;
    return place && y >= place.y + Math.max(TITLE * this.#view.camera.zoom, 10) ? -1 : index;
  }

  /** Whether a point is on the mark that opens or closes a box. */
  #onMark(x: number, y: number): boolean {
    const box = this.#picture.boxes[this.#target(x, y)];
    if (!box || !isScope(this.#picture, box)) return false;
    const place = placeOf(this.#view.camera, box);
    return (box.open || hasMark(place, box.label)) && x < Math.max(place.x, 0) + MARK + 2;
  }

  #point(x: number, y: number): void {
    const at = this.#target(x, y);
    const { sheet } = this;
    const stage = this.#stage;
    if (at !== this.#hover) this.#loop.invalidate("overlay");
    this.#hover = at;
    stage.dataset.over = at < 0 ? "" : "box";
    const text = at < 0 ? null : describe(this.#picture, sheet.sums, at, sheet.labels.devices, sheet.labels.units);
    this.#tip.show(text, x + stage.offsetLeft, y + stage.offsetTop, this.element);
  }

  #click(x: number, y: number): void {
    const at = this.#target(x, y);
    if (this.#onMark(x, y)) this.#toggle(at);
    else this.#setFocus(this.#picture.boxes[at]?.node ?? -1);
  }

  #grab(x: number, y: number): Drag | null {
    const box = this.#picture.boxes[this.#target(x, y)];
    if (!box || !this.canPin) return null;
    const { node, label, ops } = box;
    const carried = carry(this.element, isScope(this.#picture, box) ? `${label}, ${ops} ops` : label);
    return {
      move: carried.move,
      end: (cancelled) => {
        const device = carried.drop();
        if (!cancelled && device >= 0) this.#on.asked({ kind: "pin", node, device });
      },
    };
  }

  // ---------------------------------------------------------------- menus

  #offer(index: number, x: number, y: number): void {
    const box = this.#picture.boxes[index];
    const { sheet } = this;
    const stage = this.#stage;
    if (!box) return;
    this.#setFocus(box.node);
    const open = isScope(this.#picture, box)
      ? [{ text: box.open ? "Close" : "Open", act: () => this.#toggle(index) }]
      : [];
    const pins = this.canPin
      ? pinChoices(
          box.node,
          sheet.sums.pins[index]! > 0,
          sheet.labels.devices,
          sheet.paint?.theme.dark ?? false,
          this.#on.asked,
        )
      : [];
    if (open.length + pins.length)
      this.#choices.show(box.label, [...open, ...pins], x + stage.offsetLeft, y + stage.offsetTop);
  }

  #listPins(button: HTMLElement): void {
    const { sums, labels } = this.sheet;
    const choices = unpinChoices(
      this.#picture,
      sums,
      labels.devices,
      this.sheet.paint?.theme.dark ?? false,
      this.#on.asked,
    );
    this.#choices.show("Take a pin away", choices, button.offsetLeft, button.offsetTop + button.offsetHeight);
  }
}
