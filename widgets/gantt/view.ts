/** The chart as an element: puts drawing, pointer, keys, playback and words together. Knows no model; index.ts does. */
import { h, listen, style } from "../shared/dom.js";
import { seconds } from "../shared/format.js";
import { max, min, round } from "../shared/math.js";
import { toTime, zoomAround, type Span } from "../shared/scale.js";
import { readTheme, THEME_CSS, watchTheme } from "../shared/theme.js";
import { bounded, carried, closeUp, moved, showing, turned, whole } from "./camera.js";
import { describe, eventLine, shortLine, usageLine, type Description } from "./describe.js";
import { painter } from "./draw.js";
import { frames, type Damage } from "./frames.js";
import css from "./gantt.css";
import { hit, type Hit } from "./hit.js";
import { actionOf, KEY_HELP, moveSelection, type Action } from "./keyboard.js";
import { AXIS, gutterWidth, layout, preferredHeight } from "./layout.js";
import { showLegend } from "./legend.js";
import { shortIn, type Memory } from "./memory.js";
import { drawOverlay } from "./overlay.js";
import { paint, type Paint } from "./paint.js";
import { advance, carry, eventTimes, happeningsAt, scrub, stepEvent, toggle, type Playhead } from "./playback.js";
import { xOf, type Chart, type Labels, type Scene } from "./scene.js";
import { stage, watchPointer } from "./stage.js";
import { strip } from "./strip.js";
import { table } from "./table.js";
import { toolbar } from "./toolbar.js";
import { tooltip } from "./tooltip.js";
import { memorySummary, say, summary, usageNow, words } from "./words.js";

/** What the user changes that others want to know. */
export interface Tell {
  /** Another op was selected; -1: none. */
  selected(op: number): void;
  /** Lanes of memory were asked for, or put away. */
  lanes(shown: boolean): void;
}

const QUIET = 350; // milliseconds without news before the legend and the screen reader are told

export class GanttView {
  readonly element: HTMLElement;
  readonly strip = strip();
  readonly words = words();

  readonly #tell: Tell;
  readonly #ending = new AbortController();
  readonly #stage = stage();
  readonly #tooltip = tooltip();
  readonly #table = table((op) => this.#choose(op));
  readonly #toolbar = toolbar({
    act: (action) => this.#act(action),
    seek: (fraction) => this.#moveHead(fraction * this.#makespan),
    speed: (speed) => this.#setHead({ ...this.#head, speed }),
    table: () => this.#toggleTable(),
    help: () => say(this.words.status, KEY_HELP),
  });
  readonly #actions: Partial<Record<Action, () => unknown>> = {
    "zoom-in": () => this.#zoom(1 / 1.5),
    "zoom-out": () => this.#zoom(1.5),
    fit: () => this.#setSpan(whole(this.#makespan)),
    "pan-left": () => this.#setSpan(moved(this.#span, -0.2)),
    "pan-right": () => this.#setSpan(moved(this.#span, 0.2)),
    play: () => this.#setHead(toggle(this.#head, this.#makespan)),
    restart: () => this.#moveHead(0),
    step: () => this.#step(1),
    "step-back": () => this.#step(-1),
    memory: () => this.#toggleLanes(),
    clear: () => this.#choose(-1),
    "to-selection": () => this.#selection >= 0 && this.#zoomTo(this.#selection),
  };
  readonly #frames = frames(this.#stage.element, (damage, elapsed) => this.#onFrame(damage, elapsed));
  readonly #draw = painter(this.#stage.base);
  readonly #forgetTheme: () => void;

  #chart: Chart | null = null;
  #memory: Memory | null = null;
  #lanes = false; // of memory, shown
  #labels: Labels = { names: [], kinds: new Uint8Array(), kindNames: [], devices: [] };
  #look: Paint;
  #span: Span = whole(0);
  #head: Playhead = { time: 0, playing: false, speed: 1 };
  #events: Float64Array | null = null; // found when first stepped through
  #selection = -1;
  #hover: Hit | null = null;
  #brush: readonly [number, number] | null = null;
  #merged = false;
  #height = 0;
  #quiet = 0;

  constructor(tell: Tell) {
    this.#tell = tell;
    this.element = h("div.placelab.pl-gantt", { "data-lm-suppress-shortcuts": "true", role: "group", "aria-label": "Schedule" },
      style(THEME_CSS, css),
      this.strip.element,
      this.words.warning,
      this.#toolbar.element,
      h("div.frame", {},
        this.#stage.element,
        h("span.badge", { "aria-hidden": "true" }, "updating …"),
      ),
      this.words.legend,
      this.words.status,
      this.words.detail,
      this.#table.element,
      this.#tooltip.element,
    );
    this.#stage.element.setAttribute("aria-label", `Gantt chart. ${KEY_HELP}`);
    this.#look = paint(readTheme(this.element));
    this.#forgetTheme = watchTheme(() => this.#onTheme());
    this.#listen();
    requestAnimationFrame(() => this.#onTheme()); // the page may attach the element only now
  }

  dispose(): void {
    this.#ending.abort();
    this.#frames.stop();
    this.#forgetTheme();
    clearTimeout(this.#quiet);
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  /** Another schedule: the view stays where it was, or at the whole. */
  show(chart: Chart): void {
    const before = this.#makespan;
    const { makespan } = chart.columns;
    this.#head = this.#chart ? carry(this.#head, before, makespan) : { ...this.#head, time: makespan };
    this.#span = this.#chart ? carried(this.#span, before, makespan) : whole(makespan);
    this.#chart = chart;
    this.#events = null;
    if (this.#selection >= chart.bars.nOps) this.#selection = -1;
    this.#leave();
    this.resize(this.#height);
    this.#toolbar.show(this.#head, makespan);
    this.element.dataset.makespan = String(makespan);
    this.#tellSoon();
  }

  /** Memory of the schedule on show, or of the one that comes with it. */
  showMemory(memory: Memory | null): void {
    this.#memory = memory;
    this.#tellSoon();
    this.#redraw();
  }

  /** Lanes of memory, or none. */
  showLanes(shown: boolean): void {
    this.#lanes = shown;
    this.#toolbar.showMemory(shown);
    this.element.dataset.memory = String(shown);
    this.resize(this.#height);
    this.#tellSoon();
  }

  label(labels: Labels): void {
    this.#labels = labels;
    this.#tellSoon();
    this.#redraw();
  }

  /** Another graph: nothing of the old view means anything there. */
  restart(): void {
    this.#span = whole(this.#makespan);
    this.#head = scrub(this.#head, this.#makespan, this.#makespan);
    this.#redraw();
  }

  /** Height in CSS pixels, 0: as much as the devices need. */
  resize(height: number): void {
    this.#height = height;
    if (!this.#chart) return;
    const ratio = window.devicePixelRatio || 1;
    const room = height || preferredHeight(this.#chart.lanes, this.#lanes);
    const { content, axis } = layout(this.#chart.lanes, 0, room, ratio, 0, this.#lanes);
    const all = (content + axis) / ratio;
    this.#stage.resize(height || min(room, all + 2), all);
    this.#redraw();
  }

  /** The selection was changed from outside, or by `choose`. */
  showSelection(op: number): void {
    this.#selection = this.#chart && op < this.#chart.bars.nOps ? op : -1;
    this.#reveal();
    this.#say();
    this.#redraw("overlay");
  }

  showStale(stale: boolean): void {
    this.element.dataset.stale = String(stale);
    this.element.setAttribute("aria-busy", String(stale));
  }

  #onTheme(): void {
    this.#look = paint(readTheme(this.element));
    this.#tellSoon();
    this.#redraw();
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  #redraw(damage: Damage = "all"): void {
    this.#frames.invalidate(damage);
  }

  #onFrame(damage: Damage, elapsed: number): boolean {
    const span = this.#span;
    if (this.#head.playing) {
      this.#head = advance(this.#head, elapsed, this.#makespan);
      this.#span = bounded(turned(this.#span, this.#head.time), this.#makespan);
      this.#toolbar.show(this.#head, this.#makespan);
    }
    const scene = this.#scene();
    // A page that changes its theme hides itself for a moment: what is drawn without a size would be lost.
    if (!scene && this.#chart) this.#redraw(damage);
    if (scene && (damage === "all" || span !== this.#span)) this.#drawBars(scene);
    if (scene) this.#drawMoving(scene);
    return this.#head.playing;
  }

  #scene(): Scene | null {
    const { width, height } = this.#stage.size();
    if (!this.#chart || width <= 0) return null;
    const ratio = window.devicePixelRatio || 1;
    const gutter = min(gutterWidth(this.#labels.devices), width / 3);
    return {
      chart: this.#chart,
      labels: this.#labels,
      memory: this.#known,
      layout: layout(this.#chart.lanes, width, height, ratio, gutter, this.#lanes),
      paint: this.#look,
      span: this.#span,
      scroll: round(this.#stage.scroll * ratio),
    };
  }

  #drawBars(scene: Scene): void {
    const merged = this.#draw(scene);
    if (merged !== this.#merged) this.#tellSoon();
    this.#merged = merged;
    const { width, ratio } = scene.layout;
    for (const canvas of [this.#stage.base, this.#stage.overlay]) canvas.style.width = `${width / ratio}px`;
    this.element.dataset.span = `${this.#span.from} ${this.#span.to}`;
  }

  #drawMoving(scene: Scene): void {
    const { ratio, gutter, axis } = scene.layout;
    const { time } = this.#head;
    const hover = this.#hover && "bar" in this.#hover ? this.#hover.bar : -1;
    drawOverlay(this.#stage.overlay, scene, {
      time,
      inside: time < this.#makespan,
      selection: this.#selection,
      hover,
      brush: this.#brush,
    });
    this.#stage.playhead((xOf(scene, time) - gutter) / ratio, gutter / ratio, axis / ratio);
    this.element.dataset.time = String(time);
  }

  // ---- the span in view --------------------------------------------------------------------------------------------

  /** The memory of the devices on show; null while it is not known. */
  get #known(): Memory | null {
    return this.#memory?.capacity.length === this.#chart?.columns.nDevices ? this.#memory : null;
  }

  get #makespan(): number {
    return this.#chart?.columns.makespan ?? 0;
  }

  /** Returns whether anything changed. */
  #setSpan(span: Span): boolean {
    const { from, to } = bounded(span, this.#makespan);
    if (from === this.#span.from && to === this.#span.to) return false;
    this.#span = { from, to };
    this.#redraw();
    return true;
  }

  #zoom(factor: number, anchor = this.#anchor()): boolean {
    return this.#setSpan(zoomAround(this.#span, anchor, factor));
  }

  /** Keys zoom around the selected op when it is in view, else around the playhead, else around the middle. */
  #anchor(): number {
    const selected = this.#chart && this.#selection >= 0 ? this.#chart.bars.start[this.#selection]! : NaN;
    const inView = [selected, this.#head.time].find(
      (t) => t >= this.#span.from && t <= this.#span.to && t < this.#makespan,
    );
    return inView ?? (this.#span.from + this.#span.to) / 2;
  }

  #zoomTo(bar: number): void {
    const { start, finish } = this.#chart!.bars;
    this.#setSpan(closeUp(start[bar]!, finish[bar]!, this.#makespan));
  }

  /** Brings the selected op into view. */
  #reveal(): void {
    const scene = this.#scene();
    if (!scene || this.#selection < 0) return;
    const { bars, columns } = scene.chart;
    this.#setSpan(showing(this.#span, bars.start[this.#selection]!, bars.finish[this.#selection]!));
    const { row, ratio, axis, height } = scene.layout;
    const y = columns.ops.device[this.#selection]! * row;
    if (y < scene.scroll) this.#stage.scroll = y / ratio;
    else if (y + row > scene.scroll + height - axis) this.#stage.scroll = (y + row - height + axis) / ratio;
  }

  // ---- playback ----------------------------------------------------------------------------------------------------

  #setHead(head: Playhead): void {
    this.#head = head;
    this.#toolbar.show(head, this.#makespan);
    this.#redraw("overlay");
  }

  #moveHead(time: number): void {
    this.#setHead(scrub(this.#head, time, this.#makespan));
    this.#setSpan(turned(this.#span, this.#head.time));
  }

  #step(direction: 1 | -1): void {
    if (!this.#chart) return;
    const { bars } = this.#chart;
    this.#events ??= eventTimes(bars, this.#makespan);
    this.#moveHead(stepEvent(this.#events, this.#head.time, direction));
    const what = eventLine(this.#chart, this.#labels, happeningsAt(bars, this.#head.time, this.#makespan));
    const memory = this.#lanes && this.#known;
    const used = memory ? ` · memory: ${usageNow(memory, this.#labels, this.#head.time)}` : "";
    say(this.words.status, `t = ${seconds(this.#head.time, 4)}${what && ` · ${what}`}${used}`);
  }

  // ---- what the user does ------------------------------------------------------------------------------------------

  #act(action: Action): void {
    const act = this.#actions[action];
    if (act) act();
    else if (this.#chart) this.#choose(moveSelection(this.#chart, this.#selection, action, this.#span.from));
  }

  #choose(op: number): void {
    if (op === this.#selection) return;
    this.showSelection(op);
    this.#tell.selected(op);
  }

  #toggleLanes(): void {
    this.showLanes(!this.#lanes);
    this.#tell.lanes(this.#lanes);
    say(this.words.status, this.#lanes ? "memory is shown" : "memory is not shown");
  }

  #toggleTable(): void {
    const { element } = this.#table;
    element.hidden = !element.hidden;
    this.#toolbar.showTable(!element.hidden);
    if (!element.hidden && this.#chart) this.#table.show(this.#chart, this.#labels, this.#selection, this.#known);
  }

  #listen(): void {
    const { signal } = this.#ending;
    const { element } = this.#stage;
    listen(element, "scroll", () => this.#redraw(), { signal });
    listen(element, "keydown", (event) => this.#onKey(event), { signal });
    listen(this.element, "keydown", keepInside, { signal });
    const sized = new ResizeObserver(() => this.#redraw());
    sized.observe(element);
    signal.addEventListener("abort", () => sized.disconnect());
    watchPointer(
      element,
      {
        onAxis: (x, y) => y < AXIS && x >= this.#plot().left,
        hover: (x, y) => this.#showHover(x, y),
        leave: () => this.#leave(),
        click: (x, y) => this.#choose(opOf(this.#chart, this.#hitAt(x, y))),
        doubleClick: (x, y) => this.#onDoubleClick(this.#hitAt(x, y)),
        pan: (dx, dy) => this.#onPan(dx, dy),
        scrub: (x) => this.#moveHead(this.#timeAt(x)),
        brush: (from, to, done) => this.#onBrush(from, to, done),
        zoom: (x, factor) => x >= this.#plot().left && this.#zoom(factor, this.#timeAt(x)),
      },
      signal,
    );
  }

  #onKey(event: KeyboardEvent): void {
    const action = actionOf(event);
    if (!action) return;
    this.#act(action);
    event.preventDefault();
    event.stopPropagation();
  }

  #onPan(dx: number, dy: number): void {
    this.#setSpan(moved(this.#span, -dx / this.#plot().width));
    if (dy) this.#stage.scroll -= dy;
  }

  #onDoubleClick(found: Hit | null): void {
    if (found && "bar" in found) this.#zoomTo(found.bar);
    else this.#act("fit");
  }

  #onBrush(a: number, b: number, done: boolean): void {
    const ratio = window.devicePixelRatio || 1;
    this.#brush = done ? null : [a * ratio, b * ratio];
    this.#redraw("overlay");
    if (done) this.#setSpan({ from: this.#timeAt(min(a, b)), to: this.#timeAt(max(a, b)) });
  }

  #showHover(x: number, y: number): void {
    this.#hover = this.#hitAt(x, y);
    const inner = this.#stage.element.getBoundingClientRect();
    const outer = this.element.getBoundingClientRect();
    const text = this.#hover && this.#describe(this.#hover, this.#timeAt(x));
    this.#tooltip.show(text, x + inner.left - outer.left, y + inner.top - outer.top, this.element);
    this.#redraw("overlay");
  }

  #describe(found: Hit, t: number): Description | null {
    const memory = this.#known;
    const row = memory ? shortIn(memory, found.device, t) : -1;
    const short = row < 0 ? [] : [["out of memory", shortLine(memory!, row)] as const];
    if (found.kind !== "memory") {
      const { title, rows } = describe(this.#chart!, this.#labels, found);
      return { title, rows: [...rows, ...short] };
    }
    const title = memory && `${usageLine(memory, this.#labels, found.device, t)} at ${seconds(t, 4)}`;
    return title ? { title, rows: short } : null;
  }

  #leave(): void {
    if (!this.#hover) return;
    this.#hover = null;
    this.#tooltip.element.hidden = true;
    this.#redraw("overlay");
  }

  /** Left edge and width of the plot, right of the device names, in CSS pixels of the stage. */
  #plot(): { left: number; width: number } {
    const scene = this.#scene();
    if (!scene) return { left: 0, width: 1 };
    const { gutter, width, ratio } = scene.layout;
    return { left: gutter / ratio, width: max((width - gutter) / ratio, 1) };
  }

  #timeAt(x: number): number {
    const { left, width } = this.#plot();
    return toTime(this.#span, width, x - left);
  }

  #hitAt(x: number, y: number): Hit | null {
    const scene = this.#scene();
    return scene && hit(scene, x * scene.layout.ratio, y * scene.layout.ratio);
  }

  // ---- words -------------------------------------------------------------------------------------------------------

  /** A hand that drags sends twenty schedules a second; the legend and a screen reader want the last. */
  #tellSoon(): void {
    clearTimeout(this.#quiet);
    this.#quiet = window.setTimeout(() => {
      this.#say();
      const short = this.#known?.short.start.length;
      if (this.#chart)
        showLegend(this.words.legend, this.#chart.columns, this.#labels, this.#look, this.#merged, this.#lanes, !!short);
    }, QUIET);
  }

  /** Memory in words: where the selected op runs when it starts, else what each device uses at most. */
  #memoryLine(memory: Memory): string {
    const { columns, bars } = this.#chart!;
    const op = this.#selection;
    if (op < 0) return memorySummary(memory, this.#labels);
    return `memory of ${usageLine(memory, this.#labels, columns.ops.device[op]!, bars.start[op]!)}`;
  }

  #say(): void {
    if (!this.#chart) return;
    const memory = this.#lanes && this.#known;
    const about = memory ? ` · ${this.#memoryLine(memory)}` : "";
    say(this.words.status, summary(this.#chart, this.#labels, this.#selection) + about);
    if (!this.#table.element.hidden) this.#table.show(this.#chart, this.#labels, this.#selection, this.#known);
  }
}

/** The op that a click on `found` selects: itself, the producer of what travels, or what the device waited for. */
function opOf(chart: Chart | null, found: Hit | null): number {
  if (!chart || !found) return -1;
  const { idle, sends, transfers, nOps } = chart.columns;
  if (found.kind === "op") return found.row;
  if (found.kind === "memory") return -1;
  if (found.kind === "idle") return idle.op[found.row]! < nOps ? idle.op[found.row]! : -1;
  return transfers.producer[found.kind === "send" ? sends.transfer[found.row]! : found.row]!;
}

/** A notebook's shortcuts match the focused element itself, before they look for who suppresses them: `b` would add a cell. */
function keepInside(event: KeyboardEvent): void {
  if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
}
