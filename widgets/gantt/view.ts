/** The chart as an element: drawing, pointer, keys, playback and words. It knows no model; index.ts connects it to one. */
import { h, listen, style } from "../shared/dom.js";
import { seconds } from "../shared/format.js";
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
import { paint } from "./paint.js";
import { advance, carry, eventTimes, happeningsAt, scrub, stepEvent, toggle, type Playhead } from "./playback.js";
import { xOf, type Chart, type Labels, type Scene } from "./scene.js";
import { stage, watchPointer } from "./stage.js";
import { strip, type Strip } from "./strip.js";
import { table } from "./table.js";
import { toolbar } from "./toolbar.js";
import { tooltip } from "./tooltip.js";
import { memorySummary, say, summary, usageNow, words, type Words } from "./words.js";

/** Called when the user changes something that other views need to know. */
export interface Tell {
  /** Another op was selected; -1: none. */
  selected(op: number): void;
  /** Lanes of memory were shown or hidden. */
  lanes(shown: boolean): void;
}

const QUIET = 350; // milliseconds without a new schedule before the legend and the text for screen readers are updated

export interface GanttView {
  readonly element: HTMLElement;
  readonly strip: Strip;
  readonly words: Words;
  /** Shows another schedule; the view stays where it was, or at the whole. */
  show(chart: Chart): void;
  /** Memory of the schedule on show, or of the one that comes with it. */
  showMemory(memory: Memory | null): void;
  /** Lanes of memory, or none. */
  showLanes(shown: boolean): void;
  label(labels: Labels): void;
  /** Shows another graph, which resets the view. */
  restart(): void;
  /** Height in CSS pixels, 0: as much as the devices need. */
  resize(height: number): void;
  /** The selection was changed from outside, or by `choose`. */
  showSelection(op: number): void;
  showStale(stale: boolean): void;
  dispose(): void;
}

export function ganttView(tell: Tell): GanttView {
  const figures = strip();
  const texts = words();
  const ending = new AbortController();
  const surface = stage();
  const bubble = tooltip();
  const listing = table((op) => choose(op));
  const controls = toolbar({
    act: (action) => perform(action),
    seek: (fraction) => moveHead(fraction * end()),
    speed: (speed) => setHead({ ...playhead, speed }),
    table: () => toggleTable(),
    help: () => say(texts.status, KEY_HELP),
  });
  const actions: Partial<Record<Action, () => unknown>> = {
    "zoom-in": () => zoom(1 / 1.5),
    "zoom-out": () => zoom(1.5),
    fit: () => setSpan(whole(end())),
    "pan-left": () => setSpan(moved(seen, -0.2)),
    "pan-right": () => setSpan(moved(seen, 0.2)),
    play: () => setHead(toggle(playhead, end())),
    restart: () => moveHead(0),
    step: () => step(1),
    "step-back": () => step(-1),
    memory: () => toggleLanes(),
    clear: () => choose(-1),
    "to-selection": () => picked >= 0 && zoomTo(picked),
  };
  const clock = frames(surface.element, (damage, elapsed) => onFrame(damage, elapsed));
  const drawRows = painter(surface.base);

  let current: Chart | null = null;
  let usage: Memory | null = null;
  let laned = false; // of memory, shown
  let named: Labels = { names: [], kinds: new Uint8Array(), kindNames: [], devices: [] };
  let seen: Span = whole(0);
  let playhead: Playhead = { time: 0, playing: false, speed: 1 };
  let events: Float64Array | null = null; // found when first stepped through
  let picked = -1;
  let hovered: Hit | null = null;
  let brushed: readonly [number, number] | null = null;
  let wasMerged = false;
  let tall = 0;
  let quiet = 0;

  const root = h(
    "div.placelab.pl-gantt",
    { "data-lm-suppress-shortcuts": "true", role: "group", "aria-label": "Schedule" },
    style(THEME_CSS, css),
    figures.element,
    texts.warning,
    controls.element,
    h("div.frame", {}, surface.element, h("span.badge", { "aria-hidden": "true" }, "updating …")),
    texts.legend,
    texts.status,
    texts.detail,
    listing.element,
    bubble.element,
  );
  surface.element.setAttribute("aria-label", `Gantt chart. ${KEY_HELP}`);
  let look = paint(readTheme(root));
  const forgetTheme = watchTheme(onTheme);
  connect();
  requestAnimationFrame(onTheme); // the page may attach the element only now

  function dispose(): void {
    ending.abort();
    clock.stop();
    forgetTheme();
    clearTimeout(quiet);
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  function show(chart: Chart): void {
    const before = end();
    const { makespan } = chart.columns;
    playhead = current ? carry(playhead, before, makespan) : { ...playhead, time: makespan };
    seen = current ? carried(seen, before, makespan) : whole(makespan);
    current = chart;
    events = null;
    if (picked >= chart.bars.nOps) picked = -1;
    leave();
    resize(tall);
    controls.show(playhead, makespan);
    root.dataset.makespan = String(makespan);
    tellSoon();
  }

  function showMemory(memory: Memory | null): void {
    usage = memory;
    tellSoon();
    redraw();
  }

  function showLanes(shown: boolean): void {
    laned = shown;
    controls.showMemory(shown);
    root.dataset.memory = String(shown);
    resize(tall);
    tellSoon();
  }

  function label(labels: Labels): void {
    named = labels;
    tellSoon();
    redraw();
  }

  function restart(): void {
    seen = whole(end());
    playhead = scrub(playhead, end(), end());
    redraw();
  }

  function resize(height: number): void {
    tall = height;
    if (!current) return;
    const ratio = window.devicePixelRatio || 1;
    const room = height || preferredHeight(current.lanes, laned);
    const { content, axis } = layout(current.lanes, 0, room, ratio, 0, laned);
    const all = (content + axis) / ratio;
    surface.resize(height || Math.min(room, all + 2), all);
    redraw();
  }

  function showSelection(op: number): void {
    picked = current && op < current.bars.nOps ? op : -1;
    reveal();
    report();
    redraw("overlay");
  }

  function showStale(stale: boolean): void {
    root.dataset.stale = String(stale);
    root.setAttribute("aria-busy", String(stale));
  }

  function onTheme(): void {
    look = paint(readTheme(root));
    tellSoon();
    redraw();
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  function redraw(damage: Damage = "all"): void {
    clock.invalidate(damage);
  }

  function onFrame(damage: Damage, elapsed: number): boolean {
    const span = seen;
    if (playhead.playing) {
      playhead = advance(playhead, elapsed, end());
      seen = bounded(turned(seen, playhead.time), end());
      controls.show(playhead, end());
    }
    const scene = sceneNow();
    // A page that changes its theme hides itself for a moment: what is drawn without a size would be lost.
    if (!scene && current) redraw(damage);
    if (scene && (damage === "all" || span !== seen)) drawBars(scene);
    if (scene) drawMoving(scene);
    return playhead.playing;
  }

  function sceneNow(): Scene | null {
    const { width, height } = surface.size();
    if (!current || width <= 0) return null;
    const ratio = window.devicePixelRatio || 1;
    const gutter = Math.min(gutterWidth(named.devices), width / 3);
    return {
      chart: current,
      labels: named,
      memory: known(),
      layout: layout(current.lanes, width, height, ratio, gutter, laned),
      paint: look,
      span: seen,
      scroll: Math.round(surface.scroll * ratio),
    };
  }

  function drawBars(scene: Scene): void {
    const merged = drawRows(scene);
    if (merged !== wasMerged) tellSoon();
    wasMerged = merged;
    const { width, ratio } = scene.layout;
    for (const canvas of [surface.base, surface.overlay]) canvas.style.width = `${width / ratio}px`;
    root.dataset.span = `${seen.from} ${seen.to}`;
  }

  function drawMoving(scene: Scene): void {
    const { ratio, gutter, axis } = scene.layout;
    const { time } = playhead;
    const hover = hovered && "bar" in hovered ? hovered.bar : -1;
    drawOverlay(surface.overlay, scene, {
      time,
      inside: time < end(),
      selection: picked,
      hover,
      brush: brushed,
    });
    surface.playhead((xOf(scene, time) - gutter) / ratio, gutter / ratio, axis / ratio);
    root.dataset.time = String(time);
  }

  // ---- the span in view --------------------------------------------------------------------------------------------

  /** The memory of the devices on show; null while it is not known. */
  function known(): Memory | null {
    return usage?.capacity.length === current?.columns.nDevices ? usage : null;
  }

  function end(): number {
    return current?.columns.makespan ?? 0;
  }

  /** Returns whether anything changed. */
  function setSpan(span: Span): boolean {
    const { from, to } = bounded(span, end());
    if (from === seen.from && to === seen.to) return false;
    seen = { from, to };
    redraw();
    return true;
  }

  function zoom(factor: number, anchor = anchorNow()): boolean {
    return setSpan(zoomAround(seen, anchor, factor));
  }

  /** Keys zoom around the selected op when it is in view, else around the playhead, else around the middle. */
  function anchorNow(): number {
    const selected = current && picked >= 0 ? current.bars.start[picked]! : NaN;
    const inView = [selected, playhead.time].find(
      (t) => t >= seen.from && t <= seen.to && t < end(),
    );
    return inView ?? (seen.from + seen.to) / 2;
  }

  function zoomTo(bar: number): void {
    const { start, finish } = current!.bars;
    setSpan(closeUp(start[bar]!, finish[bar]!, end()));
  }

  /** Brings the selected op into view. */
  function reveal(): void {
    const scene = sceneNow();
    if (!scene || picked < 0) return;
    const { bars, columns } = scene.chart;
    setSpan(showing(seen, bars.start[picked]!, bars.finish[picked]!));
    const { row, ratio, axis, height } = scene.layout;
    const y = columns.ops.device[picked]! * row;
    if (y < scene.scroll) surface.scroll = y / ratio;
    else if (y + row > scene.scroll + height - axis) surface.scroll = (y + row - height + axis) / ratio;
  }

  // ---- playback ----------------------------------------------------------------------------------------------------

  function setHead(head: Playhead): void {
    playhead = head;
    controls.show(head, end());
    redraw("overlay");
  }

  function moveHead(time: number): void {
    setHead(scrub(playhead, time, end()));
    setSpan(turned(seen, playhead.time));
  }

  function step(direction: 1 | -1): void {
    if (!current) return;
    const { bars } = current;
    events ??= eventTimes(bars, end());
    moveHead(stepEvent(events, playhead.time, direction));
    const what = eventLine(current, named, happeningsAt(bars, playhead.time, end()));
    const memory = laned && known();
    const used = memory ? ` · memory: ${usageNow(memory, named, playhead.time)}` : "";
    say(texts.status, `t = ${seconds(playhead.time, 4)}${what && ` · ${what}`}${used}`);
  }

  // ---- what the user does ------------------------------------------------------------------------------------------

  function perform(action: Action): void {
    const act = actions[action];
    if (act) act();
    else if (current) choose(moveSelection(current, picked, action, seen.from));
  }

  function choose(op: number): void {
    if (op === picked) return;
    showSelection(op);
    tell.selected(op);
  }

  function toggleLanes(): void {
    showLanes(!laned);
    tell.lanes(laned);
    say(texts.status, laned ? "memory is shown" : "memory is not shown");
  }

  function toggleTable(): void {
    const { element } = listing;
    element.hidden = !element.hidden;
    controls.showTable(!element.hidden);
    if (!element.hidden && current) listing.show(current, named, picked, known());
  }

  function connect(): void {
    const { signal } = ending;
    const { element } = surface;
    listen(element, "scroll", () => redraw(), { signal });
    listen(element, "keydown", (event) => onKey(event), { signal });
    listen(root, "keydown", keepInside, { signal });
    const sized = new ResizeObserver(() => redraw());
    sized.observe(element);
    signal.addEventListener("abort", () => sized.disconnect());
    watchPointer(
      element,
      {
        onAxis: (x, y) => y < AXIS && x >= plot().left,
        hover: (x, y) => showHover(x, y),
        leave: () => leave(),
        click: (x, y) => choose(opOf(current, hitAt(x, y))),
        doubleClick: (x, y) => onDoubleClick(hitAt(x, y)),
        pan: (dx, dy) => onPan(dx, dy),
        scrub: (x) => moveHead(timeAt(x)),
        brush: (from, to, done) => onBrush(from, to, done),
        zoom: (x, factor) => x >= plot().left && zoom(factor, timeAt(x)),
      },
      signal,
    );
  }

  function onKey(event: KeyboardEvent): void {
    const action = actionOf(event);
    if (!action) return;
    perform(action);
    event.preventDefault();
    event.stopPropagation();
  }

  function onPan(dx: number, dy: number): void {
    setSpan(moved(seen, -dx / plot().width));
    if (dy) surface.scroll -= dy;
  }

  function onDoubleClick(found: Hit | null): void {
    if (found && "bar" in found) zoomTo(found.bar);
    else perform("fit");
  }

  function onBrush(a: number, b: number, done: boolean): void {
    const ratio = window.devicePixelRatio || 1;
    brushed = done ? null : [a * ratio, b * ratio];
    redraw("overlay");
    if (done) setSpan({ from: timeAt(Math.min(a, b)), to: timeAt(Math.max(a, b)) });
  }

  function showHover(x: number, y: number): void {
    hovered = hitAt(x, y);
    const inner = surface.element.getBoundingClientRect();
    const outer = root.getBoundingClientRect();
    const text = hovered && described(hovered, timeAt(x));
    bubble.show(text, x + inner.left - outer.left, y + inner.top - outer.top, root);
    redraw("overlay");
  }

  function described(found: Hit, t: number): Description | null {
    const memory = known();
    const row = memory ? shortIn(memory, found.device, t) : -1;
    const short = row < 0 ? [] : [["out of memory", shortLine(memory!, row)] as const];
    if (found.kind !== "memory") {
      const { title, rows } = describe(current!, named, found);
      return { title, rows: [...rows, ...short] };
    }
    const title = memory && `${usageLine(memory, named, found.device, t)} at ${seconds(t, 4)}`;
    return title ? { title, rows: short } : null;
  }

  function leave(): void {
    if (!hovered) return;
    hovered = null;
    bubble.element.hidden = true;
    redraw("overlay");
  }

  /** Left edge and width of the plot, right of the device names, in CSS pixels of the stage. */
  function plot(): { left: number; width: number } {
    const scene = sceneNow();
    if (!scene) return { left: 0, width: 1 };
    const { gutter, width, ratio } = scene.layout;
    return { left: gutter / ratio, width: Math.max((width - gutter) / ratio, 1) };
  }

  function timeAt(x: number): number {
    const { left, width } = plot();
    return toTime(seen, width, x - left);
  }

  function hitAt(x: number, y: number): Hit | null {
    const scene = sceneNow();
    return scene && hit(scene, x * scene.layout.ratio, y * scene.layout.ratio);
  }

  // ---- words -------------------------------------------------------------------------------------------------------

  /** Updates the legend and the text for screen readers once schedules stop arriving: a drag sends twenty a second. */
  function tellSoon(): void {
    clearTimeout(quiet);
    quiet = window.setTimeout(() => {
      report();
      const short = known()?.short.start.length;
      if (current)
        showLegend(texts.legend, current.columns, named, look, wasMerged, laned, !!short);
    }, QUIET);
  }

  /** Memory in words: where the selected op runs when it starts, else what each device uses at most. */
  function memoryLine(memory: Memory): string {
    const { columns, bars } = current!;
    const op = picked;
    if (op < 0) return memorySummary(memory, named);
    return `memory of ${usageLine(memory, named, columns.ops.device[op]!, bars.start[op]!)}`;
  }

  function report(): void {
    if (!current) return;
    const memory = laned && known();
    const about = memory ? ` · ${memoryLine(memory)}` : "";
    say(texts.status, summary(current, named, picked) + about);
    if (!listing.element.hidden) listing.show(current, named, picked, known());
  }

  return {
    element: root,
    strip: figures,
    words: texts,
    ...{ show, showMemory, showLanes, label, restart, resize, showSelection, showStale, dispose },
  };
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

/** Keeps keys from a notebook's shortcuts, which are matched on the focused element itself, before its ancestors can suppress them: `b` would add a cell. */
function keepInside(event: KeyboardEvent): void {
  if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
}
