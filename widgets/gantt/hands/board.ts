/** What is on show, and which span of time: the state that the parts of the chart share. */
import { SI } from "../../shared/format.ts";
import type { Damage } from "../../shared/frames.ts";
import { type Span, toTime, zoomAround } from "../../shared/scale.ts";
import { PAPER, type Theme } from "../../shared/theme.ts";
import { ratioOf } from "../../shared/zoom.ts";
import { bounded, carried, closeUp, moved, showing, turned, whole } from "../scene/camera.ts";
import { type Colouring, colouring } from "../scene/colouring.ts";
import { type Paint, paint } from "../scene/colours.ts";
import { matching } from "../scene/find.ts";
import type { Kept } from "../scene/kept.ts";
import { gutterWidth, type Layout, layout, preferredHeight, steady } from "../scene/layout.ts";
import { type Links, links } from "../scene/links.ts";
import { allRows, busySeconds, type Rows, rowsOf } from "../scene/rows.ts";
import type { Area, Chart, Labels, Scene } from "../scene/scene.ts";
import { soFar } from "../scene/sofar.ts";
import type { Memory } from "../wire/memory.ts";
import type { Candidate, LaneChoice, Mark } from "../wire/traits.ts";
import type { Stage } from "./stage.ts";

export class Board {
  chart: Chart | null = null;
  #whole: Chart | null = null; // of which `chart` may be what is decided so far
  #decided: Uint8Array = new Uint8Array();
  labels: Labels = { names: [], kinds: new Uint8Array(), kindNames: [], devices: [], units: SI };
  placing = false; // by hand: what is placed is compared with the kept schedule
  #kept: Kept | null = null;
  candidates: readonly Candidate[] = [];
  mark: Mark | null = null;
  /** Selected op, -1 for none. */
  picked = -1;
  /** What was brushed. */
  area: Area | null = null;
  /** An op, then the transfers that bring its inputs. */
  incoming: readonly number[] = [];
  /** What ops are looked for, and 1 for each that is found; null: none are looked for. */
  wanted = "";
  match: Uint8Array | null = null;
  /** Whether there are lanes of memory, and of links. */
  laned = false;
  linked = false;
  /** What was chosen of the lanes, and the rows that follow from it. */
  lanes: LaneChoice = {};
  rows: Rows = allRows(0);
  #busy: Float64Array = new Float64Array(); // seconds per device when the lanes were put in order: a new schedule does not move them
  look!: Paint;
  colours: Colouring = { index: new Uint8Array(), names: [], palette: null };
  seen: Span = whole(0);
  /** Some columns were drawn merged. */
  merged = false;
  usage: Memory | null = null;
  #way = "kind";
  #sent: Omit<Colouring, "palette"> = { index: new Uint8Array(), names: [] };
  #theme!: Theme;
  #links: Links | null = null;
  #keepsAxis = false;
  #drags = false;
  #held: { extent: number; layout: Layout } | null = null; // seconds of the axis, and rows, when they were held
  #reserved = 0; // seconds that a kept axis has at least
  #height = 0; // in CSS pixels; 0: what the devices need, -1: all there is
  readonly surface: Stage;
  readonly redraw: (damage?: Damage) => void;

  constructor(surface: Stage, redraw: (damage?: Damage) => void) {
    this.surface = surface;
    this.redraw = redraw;
  }

  /** Seconds. */
  get makespan(): number {
    return this.chart?.columns.makespan ?? 0;
  }

  /** Seconds that the time axis has to show. */
  get extent(): number {
    return Math.max(this.makespan, this.kept?.makespan ?? 0, this.#keepsAxis || this.#drags ? this.#reserved : 0);
  }

  /** The memory of the devices on show; null while it is not known. */
  get memory(): Memory | null {
    return this.usage?.capacity.length === this.chart?.columns.nDevices ? this.usage : null;
  }

  /** The links of the chart on show that carry something. */
  get links(): Links {
    this.#links ??= links(this.chart!.columns, this.chart!.bars);
    return this.#links;
  }

  /** Everything that the picture depends on; null without a chart or without room. */
  scene(): Scene | null {
    const { width, height } = this.surface.size();
    const { chart, labels, kept } = this;
    if (!chart || width <= 0 || height <= 0) return null;
    const ratio = ratioOf(this.surface.element);
    const gutter = Math.min(gutterWidth(labels.devices), width / 3);
    const drawn = this.linked && !chart.drawn ? this.links : null;
    const n = drawn?.pairs.length;
    const lay = layout(chart.lanes, width, height, ratio, gutter, this.laned, n, kept !== null, this.rows);
    const scroll = this.surface.scroll * ratio;
    return {
      ...{ chart, labels, kept, links: drawn },
      mark: this.mark,
      memory: chart.drawn ? null : this.memory,
      colours: this.colours.index,
      match: this.match,
      layout: this.#held ? steady(lay, this.#held.layout, chart.lanes) : lay,
      paint: this.look,
      span: this.seen,
      // below pinned lanes by whole rows, so that none is seen in part
      scroll: this.rows.pinned ? Math.ceil(scroll / lay.row - 1e-6) * lay.row : Math.round(scroll),
    };
  }

  /** The same span for a page of paper of `width` CSS pixels: all devices, in light colours. */
  onPaper(width: number, ratio: number): Scene | null {
    const scene = this.scene();
    if (!scene) return null;
    const { lanes } = scene.chart;
    const gutter = Math.min(gutterWidth(this.labels.devices), width / 3);
    const drawn = scene.links?.pairs.length;
    const height = preferredHeight(lanes, this.laned, drawn, this.rows.of.length);
    const lay = layout(lanes, width, height, ratio, gutter, this.laned, drawn, this.kept !== null, this.rows);
    return {
      ...scene,
      layout: { ...lay, height: lay.content + lay.axis },
      paint: paint(PAPER, this.colours.palette),
      scroll: 0,
    };
  }

  // ---- what is shown -----------------------------------------------------------------------------------------------

  show(chart: Chart): void {
    const before = this.extent;
    const first = !this.chart;
    this.#whole = chart;
    this.chart = soFar(chart, this.#decided);
    this.#links = null;
    if (this.#keepsAxis || this.#drags) this.#reserved = Math.max(this.#reserved, this.extent);
    if (!this.#held) this.seen = first ? whole(this.extent) : carried(this.seen, before, this.extent);
    if (this.picked >= chart.bars.nOps) this.picked = -1;
    if (this.#busy.length !== chart.lanes.nDevices) this.#busy = busySeconds(chart);
    this.#arrange();
    this.#recolour();
    this.resize();
  }

  /** Shows what is decided so far: an entry per op, then per transfer; all if there is none. */
  showDecided(decided: Uint8Array): void {
    this.#decided = decided;
    const whole = this.#whole;
    if (!whole) return;
    const [kept, before] = [this.kept, this.extent];
    this.chart = soFar(whole, decided);
    this.seen = carried(this.seen, before, this.extent);
    this.#arrange();
    if (this.kept === kept) this.redraw();
    else this.resize(); // the lanes have a strip for it
  }

  /** Another graph comes: its schedule puts the lanes in order anew. */
  forgetOrder(): void {
    this.#busy = new Float64Array();
  }

  /** Puts the lanes in the order that is chosen, as busy as their devices are now. */
  arrange(choice: LaneChoice): void {
    this.lanes = choice;
    if (this.chart) this.#busy = busySeconds(this.chart);
    this.#arrange();
    this.resize();
  }

  #arrange(): void {
    if (this.#whole) this.rows = rowsOf(this.lanes, this.#whole, this.#busy, this.labels.hosts ?? []);
  }

  showKept(kept: Kept | null): void {
    const before = this.extent;
    this.#kept = kept;
    this.seen = carried(this.seen, before, this.extent);
    this.resize();
  }

  /** The kept schedule, unless only a part of a plan is shown that a strategy makes: it would tell of what is to come. */
  get kept(): Kept | null {
    return this.chart?.drawn !== undefined && !this.placing ? null : this.#kept;
  }

  keepAxis(keeps: boolean): void {
    this.#keep(() => (this.#keepsAxis = keeps));
  }

  /** While a hand drags what the schedule depends on, the axis does not shrink. */
  dragAxis(drags: boolean): void {
    if (drags !== this.#drags) this.#keep(() => (this.#drags = drags));
  }

  #keep(change: () => void): void {
    const before = this.extent;
    this.#reserved = before;
    change();
    this.seen = carried(this.seen, before, this.extent);
    this.redraw();
  }

  /** Keeps rows and the span in view as they are until they are released, whatever the schedule: a hand aims at them. */
  hold(held: boolean): void {
    const before = this.#held;
    const scene = this.scene();
    this.#held = held && scene ? (before ?? { extent: this.extent, layout: scene.layout }) : null;
    if (before && !held) this.seen = carried(this.seen, before.extent, this.extent);
    this.redraw();
  }

  get keepsAxis(): boolean {
    return this.#keepsAxis;
  }

  label(labels: Labels): void {
    const moved = labels.hosts?.join("\n") !== this.labels.hosts?.join("\n");
    this.labels = labels;
    if (moved) this.#arrange();
    this.match = matching(labels.names, this.wanted);
    this.#recolour();
  }

  find(text: string): void {
    this.wanted = text.trim();
    this.match = matching(this.labels.names, text);
    this.redraw();
  }

  colourBy(way: string, index: Uint8Array, names: readonly string[]): void {
    this.#way = way;
    this.#sent = { index, names };
    this.#recolour();
  }

  dress(theme: Theme): void {
    this.#theme = theme;
    this.look = paint(theme, this.colours.palette);
    this.redraw();
  }

  #recolour(): void {
    if (!this.chart) return;
    this.colours = colouring(this.#way, this.chart, this.labels, this.#sent);
    this.dress(this.#theme);
  }

  resize(height = this.#height): void {
    this.#height = height;
    if (!this.chart) return;
    const { lanes } = this.chart;
    const ratio = ratioOf(this.surface.element);
    const n = this.linked ? this.links.pairs.length : 0;
    const room = height < 0 ? this.surface.room : height || preferredHeight(lanes, this.laned, n, this.rows.of.length);
    const lay = layout(lanes, 0, room, ratio, 0, this.laned, n, this.kept !== null, this.rows);
    const spare = this.rows.pinned ? lay.row : 0; // scrolled by whole rows
    const all = (lay.content + lay.axis + (lay.content + lay.axis > room * ratio ? spare : 0)) / ratio;
    this.surface.resize(height || Math.min(room, all + 2), all);
    this.redraw();
  }

  // ---- the span in view --------------------------------------------------------------------------------------------

  /** Returns whether anything changed. */
  setSpan(span: Span): boolean {
    const { from, to } = bounded(span, this.extent);
    if (from === this.seen.from && to === this.seen.to) return false;
    this.seen = { from, to };
    this.redraw();
    return true;
  }

  /** Shows the whole schedule; a kept axis ends where it does, from now on. */
  fit(): void {
    this.#reserved = 0;
    this.#reserved = this.extent;
    this.setSpan(whole(this.extent));
  }

  pan(share: number): void {
    this.setSpan(moved(this.seen, share));
  }

  zoom(factor: number, anchor: number): boolean {
    return this.setSpan(zoomAround(this.seen, anchor, factor));
  }

  zoomTo(bar: number): void {
    const { start, finish } = this.chart!.bars;
    this.setSpan(closeUp(start[bar]!, finish[bar]!, this.extent));
  }

  /** Turns the page when `time` is not on it. */
  follow(time: number): void {
    this.setSpan(turned(this.seen, time));
  }

  /** Brings the selected op into view. */
  reveal(): void {
    const scene = this.scene();
    if (!scene || this.picked < 0) return;
    const { bars, columns } = scene.chart;
    this.setSpan(showing(this.seen, bars.start[this.picked]!, bars.finish[this.picked]!));
    const { row, ratio, axis, height, rows } = scene.layout;
    const place = rows.at[columns.ops.device[this.picked]!]!;
    if (place < rows.pinned) return; // always in view, or nowhere
    const y = place * row;
    if (y < scene.scroll + rows.pinned * row) this.surface.scroll = (y - rows.pinned * row) / ratio;
    else if (y + row > scene.scroll + height - axis) this.surface.scroll = (y + row - height + axis) / ratio;
  }

  /** Left edge and width of the plot, right of the device names, in CSS pixels of the stage. */
  plot(): { left: number; width: number } {
    const scene = this.scene();
    if (!scene) return { left: 0, width: 1 };
    const { gutter, width, ratio } = scene.layout;
    return { left: gutter / ratio, width: Math.max((width - gutter) / ratio, 1) };
  }

  timeAt(x: number): number {
    const { left, width } = this.plot();
    return toTime(this.seen, width, x - left);
  }
}
