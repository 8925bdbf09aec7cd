/**
 * The links of many devices as a heat map, from the device of a row to the device of a column.
 *
 * A pull on a cell, a row's or a column's header, or the corner scales those links together; so do the keys.
 */
import { h, listen } from "../shared/dom";
import { ceil, floor, max, min, round } from "../shared/math";
import { inkOn } from "../shared/palette";
import { clamp } from "../shared/scale";
import type { Theme } from "../shared/theme";
import type { Adjust } from "./adjust";
import { colourOf, COLOURS } from "./colours";
import { BANDWIDTH, LATENCY } from "./quantity";
import { between, block, hostsOf, rangeOf, within, type Cluster, type Host, type Range } from "./state";
import { fitted, textWidth } from "./svg";
import { linkOf, type Target } from "./targets";
import type { Pair } from "./traits";

type Kind = "bandwidth" | "latency";
type Scope = "cell" | "pair" | "block";

/** A place: row and column in the drawn order, -1 for a header. */
interface Place {
  readonly row: number;
  readonly column: number;
}

const SCOPES: [Scope, string, string][] = [
  ["cell", "one direction", "a cell is the link from its row's device to its column's"],
  ["pair", "both directions", "a cell and its mirror image change together"],
  ["block", "hosts", "all links from a host to a host change together"],
];

export class Matrix {
  readonly element: HTMLElement;
  readonly #adjust: Adjust;
  readonly #say: (text: string) => void;
  readonly #canvas = h("canvas", {
    tabindex: 0, role: "application", "data-key": "matrix", "aria-roledescription": "link matrix", "aria-describedby": "",
    "aria-label": "links between devices: arrows move, + and − change, page keys double and halve, Enter types a value, R and C choose a row or a column",
  });
  readonly #kind = h("select", { "aria-label": "quantity of the links" }, h("option", { value: "bandwidth" }, "bandwidth"), h("option", { value: "latency" }, "latency"));
  readonly #scope = h("select", { "aria-label": "links that change together" });
  readonly #legend = h("div.legend");
  readonly #tip = h("div.tip", { hidden: true });
  #order: number[] = [];
  #hosts: Host[] = [];
  #cell = 10;
  #head = 70;
  #cursor: Place = { row: 0, column: 1 };
  #hover: Place | null = null;
  #domain: Range = { low: 1, high: 1 };
  #theme!: Theme;

  constructor(adjust: Adjust, say: (text: string) => void) {
    this.#adjust = adjust;
    this.#say = say;
    for (const [value, text, title] of SCOPES) this.#scope.append(h("option", { value, title }, text));
    this.element = h("div.matrix", {}, h("div.bar", {}, this.#kind, this.#scope, this.#legend), this.#canvas, this.#tip);
    listen(this.#kind, "change", () => (this.#rescale(), this.draw()));
    listen(this.#scope, "change", () => this.draw());
    this.#listen();
  }

  /** Takes the cluster's structure, and the width there is. */
  build(width: number, theme: Theme): void {
    const { cluster } = this.#adjust.editor;
    this.#theme = theme;
    this.#hosts = hostsOf(cluster);
    this.#order = this.#hosts.flatMap((host) => host.members);
    const k = this.#order.length;
    const names = cluster.devices.map((device) => textWidth(device.name, k > 20 ? "9px sans-serif" : "11px sans-serif"));
    this.#head = clamp(ceil(max(...names)) + 16, 46, 130);
    this.#cell = clamp(floor((min(width, 620) - this.#head - 8) / k), 5, 44);
    this.#cursor = { row: min(this.#cursor.row, k - 1), column: min(this.#cursor.column, k - 1) };
    this.#hover = null; // what lies under the pointer now, its next move tells
    this.#tip.hidden = true;
    const side = this.#head + this.#cell * k + 2, ratio = devicePixelRatio || 1;
    Object.assign(this.#canvas, { width: round(side * ratio), height: round(side * ratio) });
    Object.assign(this.#canvas.style, { width: `${side}px`, height: `${side}px` });
    this.#scope.querySelector<HTMLOptionElement>("[value=block]")!.disabled = this.#hosts.length < 2;
    this.#rescale();
    this.draw();
  }

  /** The values have changed; colours keep their meaning while a hand drags. */
  update(): void {
    if (!this.#adjust.editor.dragging) this.#rescale();
    this.draw();
  }

  draw(): void {
    if (this.#stale) return;
    const g = this.#canvas.getContext("2d")!;
    const ratio = devicePixelRatio || 1, k = this.#order.length, c = this.#cell, o = this.#head;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, o + c * k + 2, o + c * k + 2);
    const { cluster } = this.#adjust.editor;
    const matrix = cluster[this.#quantity];
    const line = c > 6 ? 1 : 0.5;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.font = `${min(12, c / 3)}px system-ui, sans-serif`;
    this.#order.forEach((i, row) =>
      this.#order.forEach((j, column) => {
        const x = o + column * c, y = o + row * c;
        const colour = i === j ? null : colourOf(matrix[i]![j]!, this.#domain);
        g.fillStyle = colour ?? this.#theme.surface;
        g.fillRect(x, y, c - line, c - line);
        if (!colour || c < 30) return;
        g.fillStyle = inkOn(colour);
        g.fillText(this.#adjust.text(this.#target(cluster, { row, column }, "cell")!).split(" ")[0]!, x + c / 2, y + c / 2 - c / 8);
        g.fillText(this.#adjust.text(this.#target(cluster, { row, column }, "cell")!).split(" ")[1] ?? "", x + c / 2, y + c / 2 + c / 5);
      }),
    );
    this.#drawHeads(g, cluster);
    this.#drawChosen(g);
  }

  /** Whether the editor holds another cluster than was built: losing the focus to its elements asks for a drawing before they are there. */
  get #stale(): boolean {
    return this.#order.length !== this.#adjust.editor.cluster.devices.length;
  }

  get #quantity(): Kind {
    return this.#kind.value as Kind;
  }

  #drawHeads(g: CanvasRenderingContext2D, cluster: Cluster): void {
    const c = this.#cell, o = this.#head, k = this.#order.length;
    const font = `${clamp(c - 1, 7, 11)}px system-ui, sans-serif`;
    g.font = font;
    g.fillStyle = this.#theme.ink;
    this.#order.forEach((device, at) => {
      const name = fitted(cluster.devices[device]!.name, o - 14, font);
      g.textAlign = "right";
      g.fillText(name, o - 10, o + (at + 0.5) * c);
      g.save();
      g.translate(o + (at + 0.5) * c, o - 10);
      g.rotate(-Math.PI / 2);
      g.textAlign = "left";
      g.fillText(name, 0, 0);
      g.restore();
    });
    g.fillStyle = this.#theme.faint;
    g.textAlign = "right";
    g.fillText("to →", o - 8, o - 26);
    g.fillText("from ↓", o - 8, o - 12);
    if (this.#hosts.length < 2) return;
    let at = 0;
    g.fillStyle = this.#theme.faint;
    for (const { members } of this.#hosts) {
      g.fillRect(o + at * c, o - 6, members.length * c - 2, 3);
      g.fillRect(o - 6, o + at * c, 3, members.length * c - 2);
      at += members.length;
      if (at < k && this.#hosts.length < k) {
        g.fillRect(o + at * c - 1, o, 1, k * c);
        g.fillRect(o, o + at * c - 1, k * c, 1);
      }
    }
  }

  /** Frames what a pull would change, or is changing. */
  #drawChosen(g: CanvasRenderingContext2D): void {
    const focused = this.#canvas.matches(":focus-visible");
    const place = this.#adjust.target && document.activeElement === this.#canvas ? this.#cursor : (this.#hover ?? (focused ? this.#cursor : null));
    if (!place) return;
    const c = this.#cell, o = this.#head;
    const mirrored = this.#scope.value === "pair" && place.row >= 0 && place.column >= 0;
    for (const { row, column } of mirrored ? [place, { row: place.column, column: place.row }] : [place]) {
      const [top, bottom] = this.#span(row), [left, right] = this.#span(column);
      const rect = [o + left * c, o + top * c, (right - left) * c - 1, (bottom - top) * c - 1] as const;
      g.lineWidth = 3.5;
      g.strokeStyle = this.#theme.bg;
      g.strokeRect(...rect);
      g.lineWidth = 2;
      g.strokeStyle = this.#theme.critical;
      g.strokeRect(...rect);
    }
  }

  /** The rows, or columns, that change with one: from, to. */
  #span(at: number): [number, number] {
    if (at < 0) return [0, this.#order.length];
    if (this.#scope.value !== "block") return [at, at + 1];
    const { members } = this.#hostAt(at);
    const first = this.#order.indexOf(members[0]!);
    return [first, first + members.length];
  }

  #hostAt(at: number): Host {
    return this.#hosts.find((host) => host.members.includes(this.#order[at]!))!;
  }

  /** The links that change together at a place; null on the diagonal, and before a new cluster is built. */
  #target(cluster: Cluster, place: Place, scope = this.#scope.value as Scope): Target | null {
    if (this.#stale) return null;
    const ends = (at: number): { devices: readonly number[]; name: string } => {
      if (at < 0) return { devices: this.#order, name: "all" };
      const device = this.#order[at]!;
      return scope === "block" ? { devices: this.#hostAt(at).members, name: this.#hostAt(at).name } : { devices: [device], name: cluster.devices[device]!.name };
    };
    const from = ends(place.row), to = ends(place.column);
    const pairs: Pair[] = scope === "pair" && place.row >= 0 && place.column >= 0 ? between(from.devices, to.devices).filter(([i, j]) => i !== j) : block(from.devices, to.devices);
    if (!pairs.length) return null;
    return linkOf(this.#quantity, pairs, scope === "pair" ? `between ${from.name} and ${to.name}` : `from ${from.name} to ${to.name}`);
  }

  #rescale(): void {
    const { cluster } = this.#adjust.editor;
    const pairs = within(this.#order);
    const positive = pairs.filter(([i, j]) => cluster[this.#quantity][i]![j]! > 0 && cluster[this.#quantity][i]![j]! < Infinity);
    this.#domain = positive.length ? rangeOf(cluster[this.#quantity], positive) : { low: 1, high: 1 };
    const quantity = this.#quantity === "bandwidth" ? BANDWIDTH : LATENCY;
    const { low, high } = this.#domain;
    const ramp = h("span.ramp");
    ramp.style.background = `linear-gradient(to right,${COLOURS.join(",")})`;
    if (low === high) ramp.style.background = colourOf(low, this.#domain);
    this.#legend.replaceChildren(quantity.write(low), ramp, ...(low === high ? [] : [quantity.write(high)]));
  }

  #place(event: PointerEvent): Place | null {
    const bounds = this.#canvas.getBoundingClientRect();
    const at = (offset: number) => max(-1, floor((offset - this.#head) / this.#cell));
    const row = at(event.clientY - bounds.top), column = at(event.clientX - bounds.left);
    return max(row, column) < this.#order.length ? { row, column } : null;
  }

  #listen(): void {
    const canvas = this.#canvas;
    this.#adjust.pull(canvas, (event) => {
      const place = this.#place(event);
      if (place) this.#cursor = place;
      return place && this.#target(this.#adjust.editor.cluster, place);
    });
    listen(canvas, "pointermove", (event) => {
      if (!this.#adjust.target) this.#point(this.#place(event), event);
      else this.#tip.hidden = true;
    });
    listen(canvas, "pointerleave", () => this.#point(null));
    listen(canvas, "focus", () => this.#speak());
    listen(canvas, "blur", () => (this.#adjust.target && this.#adjust.end(), this.draw()));
    listen(canvas, "keydown", (event) => this.#key(event));
    listen(canvas, "keyup", (event) => "+-=_".includes(event.key) || event.key.startsWith("Page") ? this.#adjust.end() : undefined);
    listen(canvas, "dblclick", () => this.#type());
  }

  #point(place: Place | null, event?: PointerEvent): void {
    const target = place && this.#target(this.#adjust.editor.cluster, place);
    this.#hover = target ? place : null;
    this.#tip.hidden = !target;
    if (target && event) {
      this.#tip.textContent = `${target.label.replace(/^\w+ /, "")}: ${this.#adjust.text(target)}`;
      const bounds = this.element.getBoundingClientRect();
      const x = event.clientX - bounds.left + 14;
      this.#tip.style.left = `${max(0, min(x, bounds.width - this.#tip.offsetWidth - 4))}px`;
      this.#tip.style.top = `${event.clientY - bounds.top + 18}px`;
    }
    this.draw();
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const k = this.#order.length, { row, column } = this.#cursor;
    const moves: Record<string, Place> = {
      ArrowUp: { row: row - 1, column }, ArrowDown: { row: row + 1, column },
      ArrowLeft: { row, column: column - 1 }, ArrowRight: { row, column: column + 1 },
      r: { row, column: -1 }, c: { row: -1, column }, Home: { row, column: 0 }, End: { row, column: k - 1 },
    };
    const factors: Record<string, number> = { "+": 1.1, "=": 1.1, "-": 1 / 1.1, _: 1 / 1.1, PageUp: 2, PageDown: 0.5 };
    const target = this.#target(this.#adjust.editor.cluster, this.#cursor);
    const move = moves[event.key], factor = factors[event.key];
    if (move) {
      this.#cursor = { row: clamp(move.row, -1, k - 1), column: clamp(move.column, -1, k - 1) };
      this.#hover = null;
      this.draw();
    } else if (factor && target) this.#adjust.step(target, factor);
    else if (event.key === "Enter") this.#type();
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.#speak();
  }

  #type(): void {
    const target = this.#target(this.#adjust.editor.cluster, this.#cursor);
    if (!target) return;
    const bounds = this.#canvas.getBoundingClientRect();
    const at = (index: number) => this.#head + max(index, 0) * this.#cell;
    const over = new DOMRect(bounds.x + at(this.#cursor.column), bounds.y + at(this.#cursor.row), this.#cell, this.#cell);
    this.#adjust.type(target, this.#canvas, over);
  }

  #speak(): void {
    if (this.#stale) return;
    const target = this.#target(this.#adjust.editor.cluster, this.#cursor);
    this.#say(target ? `${target.label}: ${this.#adjust.text(target)}` : "a device has no link to itself");
  }
}
