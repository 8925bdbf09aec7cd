/** Layers as cells in a row, coloured by device; borders between them that a hand drags; below, seconds and memory of each device. */
import { h, listen, s, set, style } from "../shared/dom.ts";
import { seconds } from "../shared/format.ts";
import { memoryBar, memoryLegend, used } from "../shared/memory.ts";
import { tail } from "../shared/tail.ts";
import { markTheme, THEME_CSS } from "../shared/theme.ts";
import { inside } from "../shared/zoom.ts";
import { LaunchPanel } from "./launch.ts";
import css from "./layers.css";
import { blockName, content, edges, named, nearest } from "./place.ts";
import { rowsOf } from "./sums.ts";
import type { Asked, Facts, LayersTraits, Row } from "./traits.ts";

type Shown = Omit<LayersTraits, "asked">;

const LABELS = 14; // height of the names over the cells
const LETTER = 7; // px of one in them, at most
const CELLS = 26;
const GHOST = 11; // height of the row of a best split
const HANDLE = 30; // height of a border that can be dragged
const ROW = { least: 12, most: 15, head: 12 }; // heights of a device's bars, and of the line above them
const GRASP = 16; // width in which a pointer finds it
const ANSWER = 500; // ms after the last place that was sent in which the kernel may still speak of an earlier one
const KEYS: Record<string, number> = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -1e9, End: 1e9 };

export class LayersView {
  readonly element: HTMLElement;
  readonly #now = h("b", { role: "status" });
  readonly #jumps = h("div.jumps");
  readonly #ghosts = s("g");
  readonly #launch: LaunchPanel;
  readonly #cells = s("g");
  readonly #labels = s("g");
  readonly #handles = s("g");
  readonly #strip = s("svg.strip", {}, this.#cells, this.#labels, this.#ghosts, this.#handles);
  readonly #top = h("div.top", {}, this.#strip, h("div.side", {}, this.#now, this.#jumps));
  readonly #head = h("div.row.head");
  readonly #seen = h("span", { title: "Scroll for the others" });
  readonly #list = h("div", { role: "list" });
  readonly #rows = h("div.rows", {}, this.#head, this.#list);
  readonly #legend = h("span.legend");
  readonly #message = h("p", { hidden: true });
  readonly #watch = new ResizeObserver(() => this.draw());
  readonly #send: (asked: Asked) => void;
  #traits: Shown | null = null;
  #borders: number[] = []; // shown; ahead of the kernel while a hand drags, and a moment longer
  #places: number[] = [];
  #held = -1; // the border that a pointer has
  #before: number[] = []; // where the borders were when the pointer took it
  #drag = Date.now(); // grows from one movement of a hand to the next, also after the page was loaded again
  #waiting = 0; // timer that ends with the kernel's answer

  constructor(send: (asked: Asked) => void, close: () => void) {
    this.#send = send;
    this.#launch = new LaunchPanel(close);
    this.element = h(
      "div.placelab.pl-layers",
      { "data-lm-suppress-shortcuts": "true" },
      style(THEME_CSS, css),
      this.#top,
      this.#rows,
      this.#message,
      this.#launch.element,
    );
    listen(this.#strip, "pointermove", (event) => this.#held >= 0 && this.#follow(event));
    for (const end of ["pointerup", "pointercancel"] as const) listen(this.#strip, end, () => this.#release());
    this.#watch.observe(this.element);
  }

  show(traits: Shown): void {
    this.#traits = traits;
    if (this.#held < 0 && !this.#waiting) this.#borders = traits.borders;
    if (this.#borders.length !== traits.borders.length) this.#borders = traits.borders;
    this.#message.textContent = traits.message;
    this.#launch.show(traits.launching ? traits.launch : []);
    this.#drawRows(traits);
    this.draw();
  }

  dispose(): void {
    clearTimeout(this.#waiting);
    this.#launch.lift(false);
    this.#watch.disconnect();
  }

  /** Draws the strip at the present size. */
  draw(): void {
    markTheme(this.element);
    const traits = this.#traits;
    if (!traits) return;
    const none = !traits.devices.length;
    this.#message.hidden = !traits.message;
    for (const part of [this.#top, this.#rows]) part.toggleAttribute("hidden", none);
    const width = this.#strip.clientWidth;
    if (none || !width) return;
    this.#fitRows(traits.devices.length);
    const height = LABELS + HANDLE + GHOST * traits.ghosts.length;
    set(this.#strip, { viewBox: `0 0 ${width} ${height}`, height });
    this.#places = edges(traits.sizes, width);
    this.#drawCells(traits);
    this.#drawGhosts(traits);
    this.#drawHandles(traits);
  }

  /** Bars are less high where all are seen then; else as many as have room, none of them cut, and it is said of how many. */
  #fitRows(count: number): void {
    const room = this.element.clientHeight - this.#top.offsetHeight - 1 - ROW.head; // 1: the gap between the two
    const row = Math.min(Math.floor(room / count), ROW.most);
    const cut = row < ROW.least;
    const height = cut ? ROW.most : row;
    const seen = Math.max(Math.floor(room / height), 1);
    this.#rows.style.setProperty("--row", `${height}px`);
    this.#rows.style.maxHeight = cut ? `${ROW.head + seen * height}px` : "";
    this.#seen.textContent = cut ? `${seen} of ${count} ▾` : "";
  }

  /** A line per best split with a tick at each border, and the button that jumps there. */
  #drawGhosts({ ghosts }: Shown): void {
    const lines = ghosts.flatMap(({ borders }, i) => {
      const y = LABELS + HANDLE + GHOST * (i + 0.5);
      const parts = borders.slice(1).map((end, d) => {
        const x = this.#places[borders[d]!]!;
        const colour = `fill: var(--pl-device-${d % 8})`;
        return s("rect.ghost", { x, y: y - 1, width: this.#places[end]! - x, height: 2, style: colour });
      });
      const ticks = borders.slice(1, -1).map((block) => `M${this.#places[block]!.toFixed(1)} ${y - 4}v8`);
      return [...parts, s("path.tick", { d: ticks.join("") })];
    });
    this.#ghosts.replaceChildren(...lines);
    while (this.#jumps.children.length > ghosts.length) this.#jumps.lastElementChild!.remove();
    while (this.#jumps.children.length < ghosts.length) this.#jumps.append(this.#jump(this.#jumps.children.length));
    ghosts.forEach(({ label, value }, i) => {
      const jump = this.#jumps.children[i] as HTMLElement;
      jump.textContent = `${label} ${value}`;
      jump.title = `To the best split by ${label}: ${value}`;
    });
  }

  #jump(i: number): HTMLElement {
    const jump = h("button", { type: "button" });
    listen(jump, "click", () => {
      clearTimeout(this.#waiting);
      this.#waiting = 0;
      this.#send({ kind: "split", objective: this.#traits!.ghosts[i]!.objective, drag: ++this.#drag });
    });
    return jump;
  }

  #drawCells({ devices, sizes }: Shown): void {
    const places = this.#places;
    const top = LABELS + (HANDLE - CELLS) / 2;
    const names = new Set(named(places, this.#borders));
    const cells: SVGElement[] = [];
    const labels: SVGElement[] = [];
    devices.forEach((device, d) => {
      const [first, end] = [this.#borders[d]!, this.#borders[d + 1]!];
      const colour = `fill: var(--pl-device-${d % 8})`;
      for (let block = first; block < end; block++) {
        const [x, wide] = [places[block]!, places[block + 1]! - places[block]!];
        const gap = wide > 4 ? 1 : 0;
        cells.push(
          s("rect", { x, y: top, width: Math.max(wide - gap, 0.5), height: CELLS, style: colour, "data-block": block }),
        );
        if (names.has(block))
          cells.push(
            s("text.cell", { x: x + wide / 2, y: top + 17, "text-anchor": "middle" }, blockName(block, sizes.length)),
          );
      }
      const [left, right] = [places[first]!, places[end]!];
      const whole = `${device}: ${content(first, end, sizes.length)}`;
      const says = [whole, device].find((text) => right - left >= LETTER * text.length);
      if (says === undefined) return;
      const half = (LETTER / 2) * says.length;
      const at = Math.max(Math.min((left + right) / 2, places.at(-1)! - half), half);
      labels.push(s("text", { x: at, y: 10.5, "text-anchor": "middle", style: colour }, s("title", {}, whole), says));
    });
    this.#cells.replaceChildren(...cells);
    this.#labels.replaceChildren(...labels);
  }

  /** One per border, kept from one drawing to the next, so that a hand and the focus stay on it. */
  #drawHandles({ devices, limits, sizes }: Shown): void {
    const wanted = devices.length - 1;
    while (this.#handles.children.length > Math.max(wanted, 0)) this.#handles.lastElementChild!.remove();
    while (this.#handles.children.length < wanted) this.#handles.append(this.#handle(this.#handles.children.length));
    [...this.#handles.children].forEach((handle, border) => {
      const block = this.#borders[border + 1]!;
      const [low, high] = limits[border]!;
      const sides = [border, border + 1].map(
        (d) => `${devices[d]}: ${content(this.#borders[d]!, this.#borders[d + 1]!, sizes.length)}`,
      );
      set(handle, {
        transform: `translate(${this.#places[block]!.toFixed(1)} ${LABELS})`,
        "aria-label": `Border between ${devices[border]} and ${devices[border + 1]}`,
        "aria-valuemin": low!,
        "aria-valuemax": high!,
        "aria-valuenow": block,
        "aria-valuetext": sides.join(", "),
        class: border === this.#held ? "handle held" : "handle",
      });
    });
  }

  #handle(border: number): SVGElement {
    const handle = s(
      "g.handle",
      { tabindex: 0, role: "slider" },
      s("rect.grasp", { x: -GRASP / 2, width: GRASP, height: HANDLE }),
      s("rect.line", { x: -3, width: 6, height: HANDLE, rx: 2 }),
    );
    listen(handle, "pointerdown", (event) => this.#grasp(event, border));
    listen(handle, "keydown", (event) => this.#key(event, border));
    return handle;
  }

  /** Where the borders are ahead of the kernel, the page sums up by itself what it will say. */
  #drawRows(traits: Shown): void {
    const { devices, borders, facts, best, of } = traits;
    const ahead = "links" in facts && this.#borders.some((block, i) => block !== borders[i]);
    const rows = ahead ? rowsOf(facts as Facts, this.#borders) : traits.rows;
    this.#rows.toggleAttribute("data-ahead", ahead);
    this.#now.textContent = ahead ? word(rows) : traits.now;
    this.#now.title = ahead ? "" : traits.said;
    this.#now.classList.toggle(
      "bad",
      rows.some((row) => row.lacks > 0),
    );
    const slowest = Math.max(best, ...rows.map((row) => row.seconds)) || 1;
    this.#head.replaceChildren(this.#seen, h("span", { title: of }, of), this.#legend);
    const lines = rows.map((row, d) => {
      const time = h("span.bar", {}, bar(row.seconds / slowest, `var(--pl-device-${d % 8})`));
      const mark = h("i.best", { title: `The slowest device of the best split: ${seconds(best)}` });
      mark.style.left = `${(100 * best) / slowest}%`;
      const name = tail("span", devices[d] ?? "", devices[d] ?? "");
      name.classList.add("name");
      time.append(mark);
      return h(
        "div.row",
        { role: "listitem", "data-device": d },
        name,
        time,
        h("span.value.time", {}, seconds(row.seconds)),
        memoryBar(row),
        h(row.lacks ? "span.value.bytes.bad" : "span.value.bytes", {}, used(row)),
      );
    });
    this.#list.replaceChildren(...lines);
    this.#legend.replaceChildren(...memoryLegend(rows[0]?.parts ?? []));
  }

  // ---------------------------------------------------------------- hands

  #grasp(event: PointerEvent, border: number): void {
    if (event.button) return;
    this.#held = border;
    this.#before = this.#borders;
    this.#drag += 1;
    this.#strip.setPointerCapture(event.pointerId);
    (this.#handles.children[border] as SVGElement).focus();
    event.preventDefault();
    this.draw();
  }

  #follow(event: PointerEvent): void {
    const [low, high] = this.#traits!.limits[this.#held]!;
    this.#set(this.#held, nearest(this.#places, inside(event, this.#strip)[0], low!, high!));
  }

  #release(): void {
    if (this.#held < 0) return;
    this.#held = -1;
    this.draw();
  }

  #key(event: KeyboardEvent, border: number): void {
    if (event.key === "Escape" && this.#held >= 0) {
      this.#set(this.#held, this.#before[this.#held + 1]!);
      this.#held = -1;
      this.draw();
    } else if (KEYS[event.key] === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else {
      if (!event.repeat) this.#drag += 1;
      const [low, high] = this.#traits!.limits[border]!;
      const to = this.#borders[border + 1]! + KEYS[event.key]! * (event.shiftKey ? 4 : 1);
      this.#set(border, Math.min(Math.max(to, low!), high!));
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Shows a border before another block at once, and tells the kernel; what it cannot take yet, the next one replaces. */
  #set(border: number, to: number): void {
    if (this.#borders[border + 1] === to) return;
    this.#borders = this.#borders.with(border + 1, to);
    this.#send({ kind: "border", border, to, drag: this.#drag });
    this.draw();
    this.#drawRows(this.#traits!);
    this.#wait();
  }

  /** Takes the kernel's word again when it may be expected to be of the last place. */
  #wait(): void {
    clearTimeout(this.#waiting);
    this.#waiting = window.setTimeout(() => {
      this.#waiting = 0;
      if (this.#traits && this.#held < 0) this.show(this.#traits);
    }, ANSWER);
  }
}

/** The slowest device's seconds, or that some lack memory. */
function word(rows: readonly Row[]): string {
  if (rows.some((row) => row.lacks > 0)) return "does not fit";
  return `now ${seconds(Math.max(...rows.map((row) => row.seconds)))}`;
}

function bar(share: number, colour: string): HTMLElement {
  const filled = h("i");
  filled.style.width = `${100 * share}%`;
  filled.style.background = colour;
  return filled;
}
