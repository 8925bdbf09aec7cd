/** The Gantt chart of a schedule: an anywidget view that puts the modules beside it together. */
import { h, style } from "../shared/dom.js";
import { count, seconds } from "../shared/format.js";
import { clampSpan, toTime, zoomAround, type Span } from "../shared/scale.js";
import { readTheme, THEME_CSS, watchTheme } from "../shared/theme.js";
import { decodeNames } from "./decode.js";
import { describe, eventLine, opLine } from "./describe.js";
import { painter } from "./draw.js";
import css from "./gantt.css";
import { hit, type Hit } from "./hit.js";
import { actionOf, KEY_HELP, moveSelection, type Action } from "./keyboard.js";
import { gutterWidth, layout, preferredHeight } from "./layout.js";
import { showLegend } from "./legend.js";
import { drawOverlay } from "./overlay.js";
import { paint, type Paint } from "./paint.js";
import { advance, carry, eventTimes, happeningsAt, scrub, stepEvent, toggle, type Playhead } from "./playback.js";
import { chart as readChart, xOf, type Chart, type Labels, type Scene } from "./scene.js";
import { stage as makeStage, watchPointer } from "./stage.js";
import { strip as makeStrip } from "./strip.js";
import { table as makeTable } from "./table.js";
import { toolbar as makeToolbar } from "./toolbar.js";
import { tooltip as makeTooltip } from "./tooltip.js";
import type { GanttTraits, Model } from "./traits.js";

const MARGIN = 1.01; // the fitted view ends a little after the makespan
const CLOSEST = 2e-5; // shortest view, as a share of the makespan: single precision has no more to show
const QUIET = 350; // milliseconds without news before the legend and the screen reader are told

export function render({ model, el }: { model: Model<GanttTraits>; el: HTMLElement }): () => void {
  const ending = new AbortController();
  const stage = makeStage();
  const strip = makeStrip();
  const tooltip = makeTooltip();
  const legend = h("div", { class: "legend" });
  const warning = h("div", { class: "warning", role: "status" });
  const status = h("div", { class: "status", role: "status", "aria-live": "polite" });
  const detail = h("div", { class: "detail" });
  const table = makeTable(select);
  const toolbar = makeToolbar({ act, seek: (fraction) => moveHead(fraction * makespan()), speed: (speed) => setHead({ ...head, speed }), table: toggleTable });
  const root = h(
    "div",
    { class: "placelab pl-gantt", "data-lm-suppress-shortcuts": "true", role: "group", "aria-label": "Schedule" },
    style(THEME_CSS, css),
    strip.element,
    warning,
    toolbar.element,
    h("div", { class: "frame" }, stage.element, h("span", { class: "badge", "aria-hidden": "true" }, "updating …")),
    legend,
    status,
    detail,
    table.element,
    tooltip.element,
  );
  stage.element.title = "";
  stage.element.setAttribute("aria-label", `Gantt chart. ${KEY_HELP}`);
  el.append(root);

  const draw = painter(stage.base);
  let chart: Chart | null = null;
  let labels: Labels = { names: [], kinds: new Uint8Array(), devices: [] };
  let look: Paint = paint(readTheme(root));
  let span: Span = { from: 0, to: 1 };
  let head: Playhead = { time: 0, playing: false, speed: 1 };
  let events: Float64Array | null = null; // found when first stepped through
  let selection = -1;
  let hover: Hit | null = null;
  let brush: [number, number] | null = null;
  let merged = false;

  // ---- what is drawn when ------------------------------------------------------------------------------------------

  let dirty: "" | "overlay" | "all" = "";
  let frame = 0;
  let last = 0;
  let visible = true;
  let quiet = 0;

  function invalidate(what: "overlay" | "all" = "all"): void {
    if (dirty !== "all") dirty = what;
    if (!frame && visible) frame = requestAnimationFrame(onFrame);
  }

  function onFrame(now: number): void {
    frame = 0;
    if (head.playing) {
      head = advance(head, (now - last) / 1000, makespan());
      follow();
      toolbar.show(head, makespan());
      dirty ||= "overlay";
    }
    last = now;
    if (dirty) show();
    if (head.playing && visible) frame = requestAnimationFrame(onFrame);
  }

  function scene(): Scene | null {
    const { width, height } = stage.size();
    if (!chart || width <= 0) return null;
    const ratio = window.devicePixelRatio || 1;
    const lay = layout(chart.lanes, width, height, ratio, Math.min(gutterWidth(labels.devices), width / 3));
    return { chart, labels, layout: lay, paint: look, span, scroll: Math.round(stage.scroll * ratio) };
  }

  function show(): void {
    const now = scene();
    if (!now) return;
    const { ratio, gutter, axis } = now.layout;
    if (dirty === "all") {
      const wasMerged = merged;
      merged = draw.draw(now);
      if (merged !== wasMerged) tellSoon();
      for (const canvas of [stage.base, stage.overlay]) canvas.style.width = `${now.layout.width / ratio}px`;
      root.dataset.span = `${span.from} ${span.to}`;
    }
    dirty = "";
    const inside = head.time < makespan();
    drawOverlay(stage.overlay, now, { time: head.time, inside, selection, hover: hover && hover.kind !== "idle" ? hover.bar : -1, brush });
    stage.playhead((xOf(now, head.time) - gutter) / ratio, gutter / ratio, axis / ratio);
    root.dataset.time = String(head.time);
  }

  // ---- the view ----------------------------------------------------------------------------------------------------

  function makespan(): number {
    return chart?.columns.makespan ?? 0;
  }

  function extent(): number {
    return makespan() * MARGIN || 1;
  }

  function setSpan(next: Span): boolean {
    const { from, to } = clampSpan(next, extent(), extent() * CLOSEST);
    if (from === span.from && to === span.to) return false;
    span = { from, to };
    invalidate();
    return true;
  }

  function isFit(): boolean {
    return span.to - span.from >= extent() * 0.999;
  }

  /** Time under CSS pixel `x` of the stage, and the plot's place. */
  function plot() {
    const gutter = (scene()?.layout.gutter ?? 0) / (window.devicePixelRatio || 1);
    const width = Math.max(stage.size().width - gutter, 1);
    return { gutter, width, time: (x: number) => toTime(span, width, x - gutter) };
  }

  function zoom(factor: number, anchor = zoomAnchor()): boolean {
    return setSpan(zoomAround(span, anchor, factor));
  }

  /** Keys zoom around the selected op when it is in view, else around the playhead, else around the middle. */
  function zoomAnchor(): number {
    const inView = (t: number) => t >= span.from && t <= span.to;
    if (chart && selection >= 0 && inView(chart.bars.start[selection]!)) return chart.bars.start[selection]!;
    return head.time < makespan() && inView(head.time) ? head.time : (span.from + span.to) / 2;
  }

  function pan(share: number): void {
    const by = share * (span.to - span.from);
    setSpan({ from: span.from + by, to: span.to + by });
  }

  /** Turns the page when the playhead leaves it. */
  function follow(): void {
    if (head.time >= span.from && head.time <= span.to) return;
    setSpan({ from: head.time, to: head.time + span.to - span.from });
  }

  function zoomTo(bar: number): void {
    const [start, finish] = [chart!.bars.start[bar]!, chart!.bars.finish[bar]!];
    const room = Math.max(finish - start, extent() * CLOSEST) * 2;
    setSpan({ from: start - room, to: finish + room });
  }

  function reveal(op: number): void {
    const now = scene();
    if (!now || op < 0 || op >= now.chart.bars.nOps) return;
    const [start, finish] = [now.chart.bars.start[op]!, now.chart.bars.finish[op]!];
    if (finish < span.from || start > span.to) setSpan({ from: start - (span.to - span.from) / 2, to: start + (span.to - span.from) / 2 });
    const { row, ratio, axis, height } = now.layout;
    const y = now.chart.columns.ops.device[op]! * row;
    if (y < now.scroll) stage.scroll = y / ratio;
    else if (y + row > now.scroll + height - axis) stage.scroll = (y + row - height + axis) / ratio;
  }

  // ---- playback and selection --------------------------------------------------------------------------------------

  function setHead(next: Playhead): void {
    if (next.playing && !head.playing) last = performance.now();
    head = next;
    toolbar.show(head, makespan());
    invalidate("overlay");
  }

  function moveHead(time: number): void {
    setHead(scrub(head, time, makespan()));
  }

  function step(direction: 1 | -1): void {
    if (!chart) return;
    events ??= eventTimes(chart.bars, makespan());
    moveHead(stepEvent(events, head.time, direction));
    follow();
    const what = eventLine(chart, labels, happeningsAt(chart.bars, head.time, makespan()));
    status.textContent = `t = ${seconds(head.time, 4)}${what ? `: ${what}` : ""}`;
  }

  function select(op: number): void {
    if (op === selection) return;
    model.set("selection", op);
    model.save_changes();
    showSelection(op);
  }

  function showSelection(op: number): void {
    selection = op;
    reveal(op);
    tell();
    if (!table.element.hidden && chart) table.show(chart, labels, selection);
    invalidate("overlay");
  }

  function act(action: Action): void {
    const to = { previous: 1, next: 1, up: 1, down: 1, first: 1, last: 1 } as Partial<Record<Action, number>>;
    if (to[action] && chart) select(moveSelection(chart.lanes, chart.bars, chart.columns.ops.device, selection, action, span.from));
    else if (action === "zoom-in") zoom(1 / 1.5);
    else if (action === "zoom-out") zoom(1.5);
    else if (action === "fit") setSpan({ from: 0, to: extent() });
    else if (action === "pan-left") pan(-0.2);
    else if (action === "pan-right") pan(0.2);
    else if (action === "play") setHead(toggle(head, makespan()));
    else if (action === "restart") restart();
    else if (action === "step") step(1);
    else if (action === "step-back") step(-1);
    else if (action === "clear") select(-1);
    else if (action === "to-selection" && selection >= 0) zoomTo(selection);
  }

  function restart(): void {
    setHead({ ...head, time: 0 });
    follow();
  }

  function toggleTable(): void {
    table.element.hidden = !table.element.hidden;
    toolbar.showTable(!table.element.hidden);
    if (!table.element.hidden && chart) table.show(chart, labels, selection);
  }

  // ---- words -------------------------------------------------------------------------------------------------------

  /** The selected op, or what the schedule is. */
  function tell(): void {
    if (!chart) status.textContent = "";
    else if (selection >= 0 && selection < chart.bars.nOps) status.textContent = opLine(chart, labels, selection);
    else {
      const { nOps, nDevices, nTransfers } = chart.columns;
      const many = (n: number, what: string) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
      status.textContent = `${many(nOps, "op")} on ${many(nDevices, "device")}, ${many(nTransfers, "transfer")}, makespan ${seconds(makespan())}`;
    }
  }

  /** A hand that drags sends twenty schedules a second; the legend and a screen reader want the last. */
  function tellSoon(): void {
    clearTimeout(quiet);
    quiet = window.setTimeout(() => {
      if (!chart) return;
      tell();
      showLegend(legend, chart.columns, look, labels.kinds, model.get("kind_names"), merged);
      if (!table.element.hidden) table.show(chart, labels, selection);
    }, QUIET);
  }

  function showHover(x: number, y: number): void {
    const now = scene();
    const ratio = window.devicePixelRatio || 1;
    hover = now && hit(now, x * ratio, y * ratio);
    const box = stage.element.getBoundingClientRect();
    const outer = root.getBoundingClientRect();
    tooltip.show(hover && now ? describe(now.chart, labels, hover) : null, x + box.left - outer.left, y + box.top - outer.top, root);
    invalidate("overlay");
  }

  function leave(): void {
    if (!hover && tooltip.element.hidden) return;
    hover = null;
    tooltip.element.hidden = true;
    invalidate("overlay");
  }

  // ---- news from Python --------------------------------------------------------------------------------------------

  function onSchedule(): void {
    const message = model.get("schedule");
    if (!message.byteLength) return;
    try {
      const fit = chart === null || isFit();
      const before = makespan();
      const fresh = readChart(message);
      head = chart ? carry(head, before, fresh.columns.makespan) : { ...head, time: fresh.columns.makespan };
      chart = fresh;
      events = null;
      hover = null;
      tooltip.element.hidden = true;
      if (selection >= chart.bars.nOps) selection = -1;
      setSpan(fit ? { from: 0, to: extent() } : span);
      root.dataset.makespan = String(makespan());
      resize();
      toolbar.show(head, makespan());
      tellSoon();
    } catch (error) {
      warning.textContent = error instanceof Error ? error.message : String(error);
      warning.hidden = false;
    }
    invalidate();
  }

  function onLabels(): void {
    const kinds = model.get("kinds");
    labels = {
      names: decodeNames(model.get("names")),
      kinds: new Uint8Array(kinds.buffer, kinds.byteOffset, kinds.byteLength),
      devices: model.get("devices"),
    };
    tellSoon();
    invalidate();
  }

  function onWords(): void {
    const stale = model.get("stale");
    strip.show(model.get("numbers"), stale);
    root.dataset.stale = String(stale);
    root.setAttribute("aria-busy", String(stale));
    warning.textContent = model.get("warning");
    warning.hidden = !warning.textContent;
    detail.textContent = model.get("detail");
    detail.hidden = !detail.textContent;
  }

  function resize(): void {
    if (!chart) return;
    const height = model.get("height") || preferredHeight(chart.lanes);
    const ratio = window.devicePixelRatio || 1;
    const { content, axis } = layout(chart.lanes, 400, height, ratio, 0);
    stage.resize(height, (content + axis) / ratio);
    invalidate();
  }

  function onTheme(): void {
    look = paint(readTheme(root));
    tellSoon();
    invalidate();
  }

  // ---- connections -------------------------------------------------------------------------------------------------

  const listeners: [string, () => void][] = [
    ["change:schedule", onSchedule],
    ...["names", "kinds", "devices", "kind_names"].map((name) => [`change:${name}`, onLabels] as [string, () => void]),
    ...["numbers", "warning", "stale", "detail"].map((name) => [`change:${name}`, onWords] as [string, () => void]),
    ["change:selection", () => model.get("selection") !== selection && showSelection(model.get("selection"))],
    ["change:height", resize],
  ];
  for (const [event, callback] of listeners) model.on(event, callback);

  watchPointer(stage.element, {
    onAxis: (x, y) => y < 24 && x >= plot().gutter,
    hover: showHover,
    leave,
    click(x, y) {
      const now = scene();
      const ratio = window.devicePixelRatio || 1;
      const found = now && hit(now, x * ratio, y * ratio);
      select(found ? opOf(found) : -1);
    },
    doubleClick(x, y) {
      const now = scene();
      const ratio = window.devicePixelRatio || 1;
      const found = now && hit(now, x * ratio, y * ratio);
      if (found && found.kind !== "idle") zoomTo(found.bar);
      else act("fit");
    },
    pan(dx, dy) {
      pan(-dx / plot().width);
      if (dy) stage.scroll -= dy;
    },
    scrub: (x) => moveHead(plot().time(x)),
    brush(from, to, done) {
      const ratio = window.devicePixelRatio || 1;
      brush = done ? null : [from * ratio, to * ratio];
      const { time } = plot();
      if (done) setSpan({ from: time(Math.min(from, to)), to: time(Math.max(from, to)) });
      invalidate("overlay");
    },
    zoom: (x, factor) => x >= plot().gutter && zoom(factor, plot().time(x)),
  }, ending.signal);

  function opOf(found: Hit): number {
    const { columns } = chart!;
    if (found.kind === "op") return found.row;
    if (found.kind === "idle") return columns.idle.op[found.row]! < columns.nOps ? columns.idle.op[found.row]! : -1;
    return columns.transfers.producer[found.kind === "send" ? columns.sends.transfer[found.row]! : found.row]!;
  }

  stage.element.addEventListener("keydown", (event) => {
    const action = actionOf(event);
    if (!action) return;
    act(action);
    event.preventDefault();
    event.stopPropagation();
  }, { signal: ending.signal });
  stage.element.addEventListener("scroll", () => invalidate(), { signal: ending.signal });

  const sized = new ResizeObserver(() => invalidate());
  sized.observe(stage.element);
  const seen = new IntersectionObserver(([entry]) => {
    visible = entry!.isIntersecting; // off screen nothing is drawn and the playhead rests
    last = performance.now();
    if (visible && (dirty || head.playing)) invalidate(dirty || "overlay");
  });
  seen.observe(stage.element);
  const forget = watchTheme(onTheme);

  onLabels();
  onWords();
  onSchedule();
  selection = model.get("selection");
  tell();
  // The widget may be attached to the page only after this function returned; colours can be read then.
  requestAnimationFrame(onTheme);

  return () => {
    ending.abort();
    for (const [event, callback] of listeners) model.off(event, callback);
    sized.disconnect();
    seen.disconnect();
    forget();
    cancelAnimationFrame(frame);
    clearTimeout(quiet);
  };
}

export default { render };
