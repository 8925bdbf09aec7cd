/**
 * The links of many devices as a heat map, from the device of a row to the device of a column.
 *
 * Dragging a cell, a row's or a column's header, or the corner scales those links together; so do the keys.
 */
import type { Pair } from "../shared/commands.ts";
import { h, listen } from "../shared/dom.ts";
import { inkOn } from "../shared/palette.ts";
import { clamp } from "../shared/scale.ts";
import type { Theme } from "../shared/theme.ts";
import { boxOf, inside, ratioOf } from "../shared/zoom.ts";
import type { Adjust } from "./adjust.ts";
import { COLOURS, colourOf } from "./colours.ts";
import { BANDWIDTH, inUnits, LATENCY } from "./quantity.ts";
import { between, block, type Cluster, type Host, hostsOf, type Range, rangeOf, within } from "./state.ts";
import { fitted, textWidth } from "./svg.ts";
import { linkOf, type Target } from "./targets.ts";

type Kind = "bandwidth" | "latency";
type Scope = "cell" | "pair" | "block";

/** A place: row and column in the drawn order, -1 for a header. */
interface Place {
  readonly row: number;
  readonly column: number;
}

const FADED = 0.18; // opacity
const FINE = 5; // pixels of a cell below which it may have a fraction of one
const COLUMN = 140; // width of the controls beside the links
const LINES = 56; // height of the controls above them, which may be two lines
const TEXT = 11; // pixels; all text has at least that
const END = 6; // pixels behind the last row, whose name may be higher than it

const SCOPES: [Scope, string, string][] = [
  ["cell", "one direction", "a cell is the link from its row's device to its column's"],
  ["pair", "both directions", "a cell and its mirror image change together"],
  ["block", "hosts", "all links from a host to a host change together"],
];

export interface Matrix {
  readonly element: HTMLElement;
  /** Takes the cluster's structure, and the room there is: all of it is seen, though a cell has but few pixels. */
  build(width: number, height: number, theme: Theme): void;
  /** Shows changed values; the colour scale stays as it is during a drag. */
  update(): void;
  /** Marks the links that carry something while a schedule is played. */
  light(links: readonly Pair[]): void;
  /** Fades all links but these; null: none. */
  fade(links: readonly Pair[] | null): void;
}

/** The side of the square for the links in a room, and whether its controls stand beside it rather than above. */
export function placed(width: number, height: number): { side: number; beside: boolean } {
  const left = Math.min(width - COLUMN, height - 4);
  const under = Math.min(width, height - LINES);
  return { side: Math.max(left, under), beside: left > under };
}

export function matrix(adjust: Adjust, say: (text: string) => void): Matrix {
  const canvas = h("canvas", {
    tabindex: 0,
    role: "application",
    "data-key": "matrix",
    "aria-roledescription": "link matrix",
    "aria-label":
      "links between devices: arrows move, + and − change, page keys double and halve, Enter types a value, R and C choose a row or a column",
  });
  const kindMenu = h(
    "select",
    { "aria-label": "quantity of the links" },
    h("option", { value: "bandwidth" }, "bandwidth"),
    h("option", { value: "latency" }, "latency"),
  );
  const scopeMenu = h("select", { "aria-label": "links that change together" });
  const legend = h("div.legend");
  const tip = h("div.tip", { hidden: true });
  const element = h("div.matrix", {}, h("div.bar", {}, kindMenu, scopeMenu, legend), canvas, tip);
  let order: number[] = [];
  let hosts: Host[] = [];
  let cell = 10;
  let head = 70;
  let cursor: Place = { row: 0, column: 1 };
  let hover: Place | null = null;
  let domain: Range = { low: 1, high: 1 };
  let look: Theme;
  let carrying: readonly Pair[] = [];
  let pointed: ReadonlySet<string> | null = null;

  function build(width: number, height: number, theme: Theme): void {
    const { cluster } = adjust.editor;
    look = theme;
    hosts = hostsOf(cluster);
    order = hosts.flatMap((host) => host.members);
    const k = order.length;
    const names = cluster.devices.map((device) => textWidth(device.name, `${TEXT}px sans-serif`));
    head = clamp(Math.ceil(Math.max(...names)) + 16, 46, 130);
    const { side, beside } = placed(Math.min(width, 620) - 8, height);
    element.classList.toggle("wide", beside);
    const fits = (side - head - END) / k;
    cell = clamp(fits < FINE ? fits : Math.floor(fits), 1, 44);
    cursor = { row: Math.min(cursor.row, k - 1), column: Math.min(cursor.column, k - 1) };
    hover = null; // the next move of the pointer finds out what is under it
    tip.hidden = true;
    const edge = Math.floor(head + cell * k + END); // whole, so that texts keep their size
    const ratio = ratioOf(canvas);
    Object.assign(canvas, { width: Math.round(edge * ratio), height: Math.round(edge * ratio) });
    Object.assign(canvas.style, { width: `${edge}px`, height: `${edge}px` });
    scopeMenu.querySelector<HTMLOptionElement>("[value=block]")!.disabled = hosts.length < 2;
    rescale();
    draw();
  }

  function update(): void {
    if (!adjust.editor.dragging) rescale();
    draw();
  }

  function light(links: readonly Pair[]): void {
    if (!links.length && !carrying.length) return;
    carrying = links;
    draw();
  }

  function fade(links: readonly Pair[] | null): void {
    if (!links && !pointed) return;
    pointed = links && new Set(links.map(String));
    if (element.isConnected) draw();
  }

  function draw(): void {
    if (stale()) return;
    const g = canvas.getContext("2d")!;
    const ratio = ratioOf(canvas);
    const k = order.length;
    const c = cell;
    const o = head;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, o + c * k + END, o + c * k + END);
    const { cluster } = adjust.editor;
    const matrix = cluster[chosen()];
    const sharp = (at: number) => Math.round((o + at * c) * ratio) / ratio; // else a narrow cell would run into the next
    const line = c > 6 ? 1 : c < 4 ? 0 : 0.5;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.font = `${clamp(c / 3, TEXT, 12)}px system-ui, sans-serif`;
    order.forEach((i, row) =>
      order.forEach((j, column) => {
        const x = sharp(column);
        const y = sharp(row);
        const colour = i === j ? null : colourOf(matrix[i]![j]!, domain);
        g.fillStyle = colour ?? look.surface;
        g.globalAlpha = pointed && !pointed.has(`${i},${j}`) ? FADED : 1;
        g.fillRect(x, y, sharp(column + 1) - x - line, sharp(row + 1) - y - line);
        g.globalAlpha = 1;
        if (!colour || c < 3 * TEXT) return;
        g.fillStyle = inkOn(colour);
        const [value, unit = ""] = adjust.text(targetAt(cluster, { row, column }, "cell")!).split(" ");
        g.fillText(value!, x + c / 2, y + c / 2 - c / 8);
        g.fillText(unit, x + c / 2, y + c / 2 + c / 5);
      }),
    );
    for (const [i, j] of carrying) {
      const x = o + order.indexOf(j) * c;
      const y = o + order.indexOf(i) * c;
      const inset = c / 4;
      g.fillStyle = look.bg;
      g.fillRect(x + inset - 1, y + inset - 1, c - 2 * inset - line + 2, c - 2 * inset - line + 2);
      g.fillStyle = look.ink;
      g.fillRect(x + inset, y + inset, c - 2 * inset - line, c - 2 * inset - line);
    }
    drawHeads(g, cluster);
    drawChosen(g);
  }

  /** Whether the editor holds another cluster than was built: losing the focus to its elements asks for a drawing before they are there. */
  function stale(): boolean {
    return order.length !== adjust.editor.cluster.devices.length;
  }

  function chosen(): Kind {
    return kindMenu.value as Kind;
  }

  function drawHeads(g: CanvasRenderingContext2D, cluster: Cluster): void {
    const c = cell;
    const o = head;
    const k = order.length;
    const font = `${TEXT}px system-ui, sans-serif`;
    const every = Math.ceil((TEXT + 1) / c); // of narrow rows, some have a name
    g.font = font;
    g.fillStyle = look.ink;
    order.forEach((device, at) => {
      if (at % every) return;
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
    g.fillStyle = look.faint;
    g.textAlign = "right";
    g.fillText("to →", o - 8, o - 26);
    g.fillText("from ↓", o - 8, o - 12);
    if (hosts.length < 2) return;
    let at = 0;
    g.fillStyle = look.faint;
    for (const { members } of hosts) {
      g.fillRect(o + at * c, o - 6, members.length * c - 2, 3);
      g.fillRect(o - 6, o + at * c, 3, members.length * c - 2);
      at += members.length;
      if (at < k && hosts.length < k) {
        g.fillRect(o + at * c - 1, o, 1, k * c);
        g.fillRect(o, o + at * c - 1, k * c, 1);
      }
    }
  }

  /** Frames the links that a drag would change, or is changing. */
  function drawChosen(g: CanvasRenderingContext2D): void {
    const focused = canvas.matches(":focus-visible");
    const place = adjust.target && document.activeElement === canvas ? cursor : (hover ?? (focused ? cursor : null));
    if (!place) return;
    const c = cell;
    const o = head;
    const mirrored = scopeMenu.value === "pair" && place.row >= 0 && place.column >= 0;
    for (const { row, column } of mirrored ? [place, { row: place.column, column: place.row }] : [place]) {
      const [top, bottom] = spanOf(row);
      const [left, right] = spanOf(column);
      const rect = [o + left * c, o + top * c, (right - left) * c - 1, (bottom - top) * c - 1] as const;
      g.lineWidth = 3.5;
      g.strokeStyle = look.bg;
      g.strokeRect(...rect);
      g.lineWidth = 2;
      g.strokeStyle = look.critical;
      g.strokeRect(...rect);
    }
  }

  /** The rows, or columns, that change with one: from, to. */
  function spanOf(at: number): [number, number] {
    if (at < 0) return [0, order.length];
    if (scopeMenu.value !== "block") return [at, at + 1];
    const { members } = hostAt(at);
    const first = order.indexOf(members[0]!);
    return [first, first + members.length];
  }

  function hostAt(at: number): Host {
    return hosts.find((host) => host.members.includes(order[at]!))!;
  }

  /** The links that change together at a place; null on the diagonal, and before a new cluster is built. */
  function targetAt(cluster: Cluster, place: Place, scope = scopeMenu.value as Scope): Target | null {
    if (stale()) return null;
    const ends = (at: number): { devices: readonly number[]; name: string } => {
      if (at < 0) return { devices: order, name: "all" };
      const device = order[at]!;
      return scope === "block"
        ? { devices: hostAt(at).members, name: hostAt(at).name }
        : { devices: [device], name: cluster.devices[device]!.name };
    };
    const from = ends(place.row);
    const to = ends(place.column);
    const pairs: Pair[] =
      scope === "pair" && place.row >= 0 && place.column >= 0
        ? between(from.devices, to.devices).filter(([i, j]) => i !== j)
        : block(from.devices, to.devices);
    if (!pairs.length) return null;
    return linkOf(
      chosen(),
      pairs,
      scope === "pair" ? `between ${from.name} and ${to.name}` : `from ${from.name} to ${to.name}`,
    );
  }

  function rescale(): void {
    const { cluster } = adjust.editor;
    const pairs = within(order);
    const positive = pairs.filter(([i, j]) => cluster[chosen()][i]![j]! > 0 && cluster[chosen()][i]![j]! < Infinity);
    domain = positive.length ? rangeOf(cluster[chosen()], positive) : { low: 1, high: 1 };
    const quantity = inUnits(chosen() === "bandwidth" ? BANDWIDTH : LATENCY, cluster.units);
    const { low, high } = domain;
    const ramp = h("span.ramp");
    ramp.style.background = `linear-gradient(to right,${COLOURS.join(",")})`;
    if (low === high) ramp.style.background = colourOf(low, domain);
    legend.replaceChildren(quantity.write(low), ramp, ...(low === high ? [] : [quantity.write(high)]));
  }

  function placeAt(event: PointerEvent): Place | null {
    const [column, row] = inside(event, canvas).map((offset) => Math.max(-1, Math.floor((offset - head) / cell))) as [
      number,
      number,
    ];
    return Math.max(row, column) < order.length ? { row, column } : null;
  }

  function connect(): void {
    adjust.pull(canvas, (event) => {
      const place = placeAt(event);
      if (place) cursor = place;
      return place && targetAt(adjust.editor.cluster, place);
    });
    listen(canvas, "pointermove", (event) => {
      if (!adjust.target) point(placeAt(event), event);
      else tip.hidden = true;
    });
    listen(canvas, "pointerleave", () => point(null));
    listen(canvas, "focus", () => speak());
    listen(canvas, "blur", () => {
      if (adjust.target) adjust.end();
      draw();
    });
    listen(canvas, "keydown", (event) => onKey(event));
    listen(canvas, "keyup", (event) =>
      "+-=_".includes(event.key) || event.key.startsWith("Page") ? adjust.end() : undefined,
    );
    listen(canvas, "dblclick", () => type());
  }

  function point(place: Place | null, event?: PointerEvent): void {
    const target = place && targetAt(adjust.editor.cluster, place);
    hover = target ? place : null;
    tip.hidden = !target;
    if (target && event) {
      tip.textContent = `${target.label.replace(/^\w+ /, "")}: ${adjust.text(target)}`;
      const [x, y] = inside(event, element);
      tip.style.left = `${Math.max(0, Math.min(x + 14, boxOf(element).width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${y + 18}px`;
    }
    draw();
  }

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const k = order.length;
    const { row, column } = cursor;
    const moves: Record<string, Place> = {
      ArrowUp: { row: row - 1, column },
      ArrowDown: { row: row + 1, column },
      ArrowLeft: { row, column: column - 1 },
      ArrowRight: { row, column: column + 1 },
      r: { row, column: -1 },
      c: { row: -1, column },
      Home: { row, column: 0 },
      End: { row, column: k - 1 },
    };
    const factors: Record<string, number> = { "+": 1.1, "=": 1.1, "-": 1 / 1.1, _: 1 / 1.1, PageUp: 2, PageDown: 0.5 };
    const target = targetAt(adjust.editor.cluster, cursor);
    const move = moves[event.key];
    const factor = factors[event.key];
    if (move) {
      cursor = { row: clamp(move.row, -1, k - 1), column: clamp(move.column, -1, k - 1) };
      hover = null;
      draw();
    } else if (factor && target) adjust.step(target, factor);
    else if (event.key === "Enter") type();
    else return;
    event.preventDefault();
    event.stopPropagation();
    speak();
  }

  function type(): void {
    const target = targetAt(adjust.editor.cluster, cursor);
    if (!target) return;
    const bounds = boxOf(canvas);
    const at = (index: number) => head + Math.max(index, 0) * cell;
    const over = new DOMRect(bounds.x + at(cursor.column), bounds.y + at(cursor.row), cell, cell);
    adjust.type(target, canvas, over);
  }

  function speak(): void {
    if (stale()) return;
    const target = targetAt(adjust.editor.cluster, cursor);
    say(target ? `${target.label}: ${adjust.text(target)}` : "a device has no link to itself");
  }

  for (const [value, text, title] of SCOPES) scopeMenu.append(h("option", { value, title }, text));
  listen(kindMenu, "change", () => {
    rescale();
    draw();
  });
  listen(scopeMenu, "change", () => draw());
  connect();
  return { element, build, update, light, fade };
}
