/** A device as a card: name, type, speed, and peak use of its memory. */
import { percent, type Units } from "../shared/format.ts";
import { devicePalette } from "../shared/palette.ts";
import { clamp } from "../shared/scale.ts";
import type { Adjust } from "./adjust.ts";
import type { Rect } from "./geometry.ts";
import { pill } from "./pill.ts";
import { fitted, s, set, textWidth, write } from "./svg.ts";
import { memoryOf, speedOf, type Target } from "./targets.ts";

const USED = { x: 10, font: "600 11px sans-serif" };
const WIDE = 140; // pixels from which a card has room for its type

export interface Card {
  readonly element: SVGGElement;
  /** Shows the present values; `peak` in bytes, NaN when not known. */
  update(peak: number, selected: boolean): void;
}

export function card(adjust: Adjust, device: number, rect: Rect, small: boolean): Card {
  const element = s("g.card", {
    tabindex: 0,
    role: "group", // it holds sliders, which a button may not
    "aria-roledescription": "device",
    "data-key": `card:${device}`,
    "data-device": device,
    transform: `translate(${rect.x},${rect.y})`,
  });
  const { cluster } = adjust.editor;
  const { name, type, host } = cluster.devices[device]!;
  const memory = memoryBar(adjust, memoryOf(device, name), rect, small);
  element.append(s("rect.plate", { width: rect.w, height: rect.h, rx: small ? 5 : 8 }), edge(device, rect));
  const update = small ? compact(element, adjust, device, rect) : roomy(element, adjust, device, rect);
  element.append(memory.element);
  return {
    element,
    update(peak, selected) {
      const capacity = adjust.editor.cluster.devices[device]!.memory;
      update(peak);
      memory.update(peak, capacity);
      const share = Number.isNaN(peak) ? 0 : peak / capacity;
      element.classList.toggle("selected", selected);
      set(element, {
        "data-level": share > 1 ? "over" : share > 0.9 ? "high" : "",
        "aria-current": String(selected),
        "aria-label": `${name}, ${type} on ${host}, ${adjust.editor.cluster.units.plain ? "speed " : ""}${adjust.text(speedOf(device, name))}${inWords(peak, capacity, adjust.editor.cluster.units)}`,
      });
    },
  };
}

/** A device's name without that of its host, in whose box it is. */
export function nameIn(host: string, name: string): string {
  return name.startsWith(`${host}/`) ? name.slice(host.length + 1) : name;
}

function roomy(element: SVGGElement, adjust: Adjust, device: number, { w }: Rect): (peak: number) => void {
  const { name, type, host } = adjust.editor.cluster.devices[device]!;
  const speed = pill(adjust, speedOf(device, name));
  const memory = pill(adjust, memoryOf(device, name));
  const used = s("text.faint.amount", { x: USED.x, y: 69 });
  const caption = s("text.faint", { x: 10, y: 39 });
  const kind = w < WIDE ? "" : fitted(type, 48, "11px sans-serif"); // else it is under the pointer
  element.append(
    grip(),
    titled(
      s("text.name", { x: 19, y: 18 }, fitted(nameIn(host, name), w - 38 - 6.2 * kind.length, "600 13px sans-serif")),
      `${name}, ${type}`,
    ),
    titled(s("text.faint", { x: w - 10, y: 18, "text-anchor": "end" }, kind), type),
    caption,
    speed.element,
    used,
    memory.element,
  );
  return (peak) => {
    write(caption, w - speed.width > 54 ? "speed" : "");
    speed.update(w - 8 - speed.width, 35); // the middle of the card stays free to be dragged
    memory.update(w - 8 - memory.width, 65);
    const room = w - 8 - memory.width - USED.x - 3;
    const said = Number.isNaN(peak)
      ? w < WIDE
        ? ""
        : "memory"
      : `${adjust.editor.cluster.units.bytes(peak)}${w < WIDE ? "" : " of"}`;
    write(used, said);
    // In bold when it is too much; a number is set closer rather than cut or covered by the pill.
    if (textWidth(said, USED.font) > room) set(used, { textLength: room, lengthAdjust: "spacingAndGlyphs" });
    else used.removeAttribute("textLength");
  };
}

function compact(element: SVGGElement, adjust: Adjust, device: number, { w }: Rect): (peak: number) => void {
  const { name, host } = adjust.editor.cluster.devices[device]!;
  const speed = pill(adjust, speedOf(device, name), w - 4);
  element.append(
    grip("translate(-3,-4)"),
    titled(
      s(
        "text.name",
        { x: w / 2, y: 14, "text-anchor": "middle" },
        fitted(nameIn(host, name), w - 28, "600 11px sans-serif"),
      ),
      name,
    ),
    speed.element,
  );
  return () => speed.update((w - speed.width) / 2, 29);
}

/** The device's colour, at the left. */
function edge(device: number, { h }: Rect): SVGRectElement {
  const made = s("rect.edge", { x: 0, y: 6, width: 4, height: Math.max(h - 12, 4), rx: 2 });
  made.style.fill = `var(--pl-device-${device % devicePalette(false).length})`;
  return made;
}

/** Dots that mark where a card can be dragged. */
function grip(at = ""): SVGGElement {
  const dots = [0, 1, 2].flatMap((row) =>
    [0, 1].map((column) => s("circle", { cx: 9 + 4 * column, cy: 9.5 + 4 * row, r: 1.2 })),
  );
  return s("g.grip", { transform: at }, ...dots);
}

function titled(element: SVGTextElement, text: string): SVGTextElement {
  const title = s("title");
  title.textContent = text;
  element.append(title);
  return element;
}

interface Bar {
  readonly element: SVGGElement;
  update(peak: number, capacity: number): void;
}

/** Peak use against capacity, which can be dragged; above capacity the bar is full and red. On small cards, without a pill, the bar is the slider. */
function memoryBar(adjust: Adjust, target: Target, { w, h }: Rect, small: boolean): Bar {
  const full = w - (small ? 12 : 20);
  const height = small ? 4 : 5;
  const x = small ? 6 : 10;
  const y = small ? h - 6 : h - 13;
  const bar = s("rect.used", { x, y, height, rx: height / 2 });
  const track = s("rect.track", { x, y, width: full, height, rx: height / 2 });
  const element = s("g.memory-bar", {}, track, bar, s("rect.hold", { x, y: y - 3, width: full, height: height + 7 }));
  const tell = small ? adjust.slider(element, target) : adjust.pull(element, () => target);
  const title = element.querySelector("title") ?? element.insertBefore(s("title"), track);
  return {
    element,
    update(peak, capacity) {
      set(bar, { width: full * clamp(peak / capacity || 0, 0, 1) });
      const use = Number.isNaN(peak) ? "" : `, peak ${adjust.editor.cluster.units.bytes(peak)}`;
      write(title, `${target.label}: ${adjust.text(target)}${use}`);
      tell?.();
    },
  };
}

function inWords(peak: number, capacity: number, { bytes }: Units): string {
  if (Number.isNaN(peak)) return capacity < Infinity ? `, memory ${bytes(capacity)}` : "";
  if (capacity === Infinity) return `, memory ${bytes(peak)}, unlimited`;
  return `, memory ${bytes(peak)} of ${bytes(capacity)} (${percent(peak / capacity)})`;
}
