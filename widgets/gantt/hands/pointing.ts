/** What the pointer does: hover, select, pan, zoom, brush, scrub. */

import type { Description, Tooltip } from "../../shared/tooltip.ts";
import { boxOf, inside } from "../../shared/zoom.ts";
import { barOf } from "../scene/bars.ts";
import { describe, describeHost, describeLink, keptNote, shortLine, usageLine } from "../scene/describe.ts";
import { type Hit, hit, namedAt } from "../scene/hit.ts";
import { AXIS } from "../scene/layout.ts";
import { carriedAt } from "../scene/links.ts";
import { devicesOf, nearestRow } from "../scene/places.ts";
import type { Area, Chart } from "../scene/scene.ts";
import { shortIn } from "../wire/memory.ts";
import type { Board } from "./board.ts";
import type { ByHand } from "./byhand.ts";
import { watchPointer } from "./stage.ts";

/** What was clicked, by number, -1 for nothing: an op, an idle gap, a transfer, a device by its name; or an area. */
export interface Picked {
  readonly op: number;
  readonly gap: number;
  readonly transfer: number;
  readonly lane: number;
  readonly area: Area | null;
}

export const NOTHING: Picked = { op: -1, gap: -1, transfer: -1, lane: -1, area: null };

/** What a click, a double-click or a drag along the axis asks for. */
export interface Pointed {
  /** An op, or with it the idle gap or the transfer that is the reason for it; or a device. */
  choose(picked: Picked): void;
  fit(): void;
  /** The name of a folded host was clicked. */
  unfold(host: string): void;
  scrub(time: number): void;
}

const CARRIED = 26; // CSS pixels between the pointer and what is said of what it carries

export class Pointing {
  hovered: Hit | null = null;
  /** What was clicked, as text: the details say all of it, so that the box beside the pointer would only cover them. */
  #clicked = "";
  /** What a hand is brushing. */
  brushed: Area | null = null;
  readonly #board: Board;
  readonly #root: HTMLElement;
  readonly #bubble: Tooltip;
  readonly #on: Pointed;
  readonly #alone: boolean;
  #carried: readonly [x: number, y: number] | null = null; // where the pointer carries an op

  /** `alone`: no Python says what an area holds, so that a brush zooms. */
  constructor(
    board: Board,
    root: HTMLElement,
    bubble: Tooltip,
    on: Pointed,
    byHand: ByHand,
    { signal, alone }: { signal: AbortSignal; alone: boolean },
  ) {
    this.#alone = alone;
    this.#board = board;
    this.#root = root;
    this.#bubble = bubble;
    this.#on = on;
    const events = {
      holds: (x: number, y: number) => byHand.on && this.#at(x, y)?.kind === "op",
      take: (x: number, y: number) => this.#take(byHand, x, y),
      carry: (x: number, y: number, alt: boolean) => {
        byHand.move(x, y, alt);
        this.#carried = [x, y];
        this.sayCarried(byHand);
      },
      drop: (x: number, y: number, alt: boolean) => {
        byHand.drop(x, y, alt);
        this.sayCarried(byHand);
      },
      putBack: () => {
        byHand.putBack();
        this.sayCarried(byHand);
      },
      onAxis: (x: number, y: number) => y < AXIS && x >= board.plot().left,
      hover: (x: number, y: number) => this.#hover(x, y),
      leave: () => this.leave(),
      click: (x: number, y: number, more: boolean) => this.#click(byHand, x, y, more),
      doubleClick: (x: number, y: number) => this.#doubleClick(this.#at(x, y)),
      pan: (dx: number, dy: number) => this.#pan(dx, dy),
      scrub: (x: number) => on.scrub(board.timeAt(x)),
      brush: (from: readonly [number, number], to: readonly [number, number], done: boolean) =>
        this.#brush(byHand, from, to, done),
      zoom: (x: number, factor: number) => x >= board.plot().left && board.zoom(factor, board.timeAt(x)),
    };
    watchPointer(board.surface.element, events, signal);
  }

  /** Carries an op that is taken from the tray. */
  carryNew(byHand: ByHand, event: PointerEvent): void {
    const [x, y] = inside(event, this.#board.surface.element);
    byHand.move(x, y);
    this.#carried = [x, y];
    this.sayCarried(byHand);
  }

  /** Sets it where it is over the lanes; elsewhere it goes back into the tray. */
  dropNew(byHand: ByHand, event: PointerEvent): void {
    const [x, y] = inside(event, this.#board.surface.element);
    if (y >= AXIS) byHand.drop(x, y);
    else byHand.putBack();
    this.sayCarried(byHand);
  }

  /** Bar under the pointer, -1 for none. */
  get bar(): number {
    return this.hovered && "bar" in this.hovered ? this.hovered.bar : -1;
  }

  leave(): void {
    if (!this.hovered) return;
    this.hovered = null;
    this.#clicked = "";
    this.#bubble.element.hidden = true;
    this.#board.redraw("overlay");
  }

  #at(x: number, y: number): Hit | null {
    const scene = this.#board.scene();
    return scene && hit(scene, x * scene.layout.ratio, y * scene.layout.ratio);
  }

  /** Says beside the pointer what the op that it carries changes. */
  sayCarried(byHand: ByHand): void {
    if (!byHand.held?.at && !this.#carried) return;
    const [x, y] = this.#carried ?? [0, 0];
    if (!byHand.held) this.#carried = null;
    this.#say(byHand.description, x, y + CARRIED);
  }

  #say(text: Description | null, x: number, y: number): void {
    const inner = boxOf(this.#board.surface.element);
    const outer = boxOf(this.#root);
    this.#bubble.show(text, x + inner.left - outer.left, y + inner.top - outer.top, this.#root);
  }

  #take(byHand: ByHand, x: number, y: number): void {
    const found = this.#at(x, y);
    if (found?.kind !== "op") return;
    this.#on.choose({ ...NOTHING, op: found.row });
    byHand.take(found.row, x, y);
  }

  #pan(dx: number, dy: number): void {
    this.#board.pan(-dx / this.#board.plot().width);
    if (dy) this.#board.surface.scroll -= dy;
  }

  #doubleClick(found: Hit | null): void {
    if (found && "bar" in found) this.#board.zoomTo(found.bar);
    else this.#on.fit();
  }

  #brush(byHand: ByHand, a: readonly [number, number], b: readonly [number, number], done: boolean): void {
    const area = this.#areaOf(a, b);
    this.brushed = done ? null : area;
    this.#board.redraw("overlay");
    if (!done || !area) return;
    if (byHand.on) return byHand.chooseIn(area);
    if (this.#alone) this.#board.setSpan(area);
    else this.#on.choose({ ...NOTHING, area });
  }

  /** The time and the devices between two corners. */
  #areaOf([x0, y0]: readonly [number, number], [x1, y1]: readonly [number, number]): Area | null {
    const board = this.#board;
    const scene = board.scene();
    if (!scene) return null;
    const at = (y: number) => nearestRow(scene, y * scene.layout.ratio);
    const [from, to] = [board.timeAt(Math.min(x0, x1)), board.timeAt(Math.max(x0, x1))];
    const all = scene.layout.rows.of.length - 1;
    const [first, last] = this.#alone ? [0, all] : [at(Math.min(y0, y1)), at(Math.max(y0, y1))];
    return {
      from: Math.max(from, 0),
      to: Math.min(to, board.extent),
      devices: devicesOf(scene, first, last),
    };
  }

  #hover(x: number, y: number): void {
    this.hovered = this.#at(x, y);
    const again = JSON.stringify(this.hovered) === this.#clicked;
    if (!again) this.#clicked = "";
    this.#say(this.hovered && !again ? this.#described(this.hovered, this.#board.timeAt(x)) : null, x, y);
    this.#board.redraw("overlay");
  }

  #described(found: Hit, t: number): Description | null {
    const { chart, labels, memory, kept, links } = this.#board;
    if (found.kind === "link") return describeLink(chart!, links, labels, found.link, t);
    if (found.kind === "host") {
      const { rows } = this.#board;
      return describeHost(chart!, labels, rows.hosts[found.host]!, t);
    }
    const row = memory ? shortIn(memory, found.device, t) : -1;
    const short = row < 0 ? [] : [["out of memory", shortLine(memory!, labels, row)] as const];
    if (found.kind === "memory") {
      const title = memory && `${usageLine(memory, labels, found.device, t)} at ${labels.units.time(t, 4)}`;
      return title ? { title, rows: short } : null;
    }
    const { title, rows } = describe(chart!, labels, found);
    const before =
      kept && found.kind === "op" && found.row < kept.start.length ? [keptNote(kept, labels, found.row)] : [];
    return { title, rows: [...rows, ...before, ...short] };
  }

  #click(byHand: ByHand, x: number, y: number, more: boolean): void {
    this.#clicked = JSON.stringify(this.#at(x, y));
    this.#bubble.element.hidden = true;
    const scene = this.#board.scene();
    const named = scene && namedAt(scene, x * scene.layout.ratio, y * scene.layout.ratio);
    if (named === null) {
      const picked = this.#pickedAt(x, y);
      if (more && byHand.on) byHand.toggle(picked.op);
      this.#on.choose(picked);
    } else if (named < 0) this.#on.unfold(this.#board.rows.hosts[-1 - named]!.name);
    else this.#on.choose({ ...NOTHING, lane: named });
  }

  #pickedAt(x: number, y: number): Picked {
    const found = this.#at(x, y);
    const op = this.#opAt(found, this.#board.timeAt(x));
    return {
      ...NOTHING,
      op,
      gap: found?.kind === "idle" ? found.row : -1,
      transfer: found?.kind === "transfer" ? found.row : -1,
    };
  }

  #opAt(found: Hit | null, time: number): number {
    const { chart, links } = this.#board;
    if (!found || !chart || found.kind === "host") return -1;
    if (found.kind !== "link") return opOf(chart, found);
    const [first] = carriedAt(links, chart.bars, found.link, time);
    return first === undefined ? -1 : opOf(chart, { ...barOf(chart.bars, first), bar: first, device: -1 });
  }
}

/** The op that a click on `found` selects: itself, the producer of what travels, or what the device waited for. */
function opOf(chart: Chart, found: Exclude<Hit, { kind: "link" | "host" }>): number {
  const { idle, sends, transfers, nOps } = chart.columns;
  if (found.kind === "op") return found.row;
  if (found.kind === "memory") return -1;
  if (found.kind === "idle") return idle.op[found.row]! < nOps ? idle.op[found.row]! : -1;
  return transfers.producer[found.kind === "send" ? sends.transfer[found.row]! : found.row]!;
}
