/** The scrolling, zooming surface: canvases, playhead, and the pointer's actions on them. Coordinates are CSS pixels. */
import { h } from "../../shared/dom.ts";
import { inside } from "../../shared/zoom.ts";

export interface Stage {
  readonly element: HTMLElement;
  readonly base: HTMLCanvasElement;
  readonly overlay: HTMLCanvasElement;
  /** CSS size of the canvases. */
  size(): { width: number; height: number };
  /** CSS height that the element has on the page. */
  readonly room: number;
  /** Reads the element's size again. It is kept, since a page that has changed is laid out anew for each question. */
  measure(): void;
  /** Vertical scroll in CSS pixels; set to bring a row into view. */
  scroll: number;
  /** CSS height of the chart, -1 for all there is, and of what is in it: more than that scrolls. */
  resize(height: number, content: number): void;
  /** Puts the playhead at `x` of the plot that begins at `left`; what comes after it is faint unless it stands at the end. */
  playhead(x: number, left: number, axis: number, inside: boolean): void;
}

export function stage(): Stage {
  const base = h("canvas");
  const overlay = h("canvas");
  const future = h("div.future");
  const head = h("div.playhead");
  const plot = h("div.plot", {}, future, head);
  const sticky = h("div.sticky", {}, base, plot, overlay);
  const content = h("div", {}, sticky);
  const role = { role: "application", "aria-roledescription": "Gantt chart" };
  const element = h("div.stage", { tabindex: 0, ...role }, content);
  let tall = 0;
  let top = 0;
  let found = { width: 0, height: 0 };
  const measure = () => (found = { width: element.clientWidth, height: element.clientHeight });
  const known = () => (found.width ? found : measure());
  element.addEventListener("scroll", () => (top = element.scrollTop));
  return {
    element,
    base,
    overlay,
    size: () => ({ width: known().width, height: tall }),
    get room() {
      return known().height;
    },
    measure,
    get scroll() {
      return top;
    },
    set scroll(y) {
      element.scrollTop = y;
      top = element.scrollTop;
    },
    resize(height, all) {
      element.style.height = height < 0 ? "" : `${height}px`;
      tall = height < 0 ? known().height : height;
      sticky.style.height = `${tall}px`;
      content.style.height = `${Math.max(all, tall)}px`;
    },
    playhead(x, left, axis, inside) {
      future.hidden = !inside;
      plot.style.left = `${left}px`;
      plot.style.setProperty("--axis", `${axis}px`);
      head.style.transform = future.style.transform = `translateX(${x}px)`;
    },
  };
}

export interface PointerEvents {
  /** Whether dragging at (x, y) moves what is there. */
  holds(x: number, y: number): boolean;
  take(x: number, y: number): void;
  /** `alt`: with that key down. */
  carry(x: number, y: number, alt: boolean): void;
  /** Sets what was carried, or puts it back. */
  drop(x: number, y: number, alt: boolean): void;
  putBack(): void;
  /** Whether (x, y) is on the time axis, where dragging moves the playhead. */
  onAxis(x: number, y: number): boolean;
  hover(x: number, y: number): void;
  leave(): void;
  /** `more`: with Ctrl or its like. */
  click(x: number, y: number, more: boolean): void;
  doubleClick(x: number, y: number): void;
  /** Dragged by this much since the last call. */
  pan(dx: number, dy: number): void;
  scrub(x: number): void;
  /** From one corner of an area to the other. */
  brush(from: readonly [number, number], to: readonly [number, number], done: boolean): void;
  /** Returns whether the view changed; if not, the wheel belongs to the page. */
  zoom(x: number, factor: number): boolean;
}

const CLICK = 4; // pixels a click may slip

/** Connects the pointer; everything ends with `signal`. */
export function watchPointer(element: HTMLElement, on: PointerEvents, signal: AbortSignal): void {
  type Kind = "pan" | "scrub" | "brush" | "carry";
  let drag: { kind: Kind; x0: number; y0: number; x: number; y: number; moved: boolean } | null = null;
  const at = (event: MouseEvent) => inside(event, element);
  const listen = <K extends keyof HTMLElementEventMap>(type: K, handle: (event: HTMLElementEventMap[K]) => void) =>
    element.addEventListener(type, handle, { signal, passive: false });

  listen("pointerdown", (event) => {
    const [x, y] = at(event);
    if (event.button !== 0 || x > element.clientWidth) return; // leaves the scroll bar alone
    const kind = on.onAxis(x, y) ? "scrub" : event.shiftKey ? "brush" : on.holds(x, y) ? "carry" : "pan";
    drag = { kind, x0: x, y0: y, x, y, moved: false };
    element.setPointerCapture(event.pointerId);
    if (kind === "scrub") on.scrub(x);
  });
  listen("pointermove", (event) => {
    const [x, y] = at(event);
    if (!drag) return on.hover(x, y);
    const begins = !drag.moved && Math.hypot(x - drag.x0, y - drag.y0) >= CLICK;
    drag.moved ||= begins;
    if (!drag.moved) return;
    on.leave();
    if (drag.kind === "carry" && begins) on.take(drag.x0, drag.y0);
    if (drag.kind === "scrub") on.scrub(x);
    else if (drag.kind === "carry") on.carry(x, y, event.altKey);
    else if (drag.kind === "brush") on.brush([drag.x0, drag.y0], [x, y], false);
    else on.pan(x - drag.x, y - drag.y);
    [drag.x, drag.y] = [x, y];
    element.dataset.drag = drag.kind;
  });
  listen("pointerup", (event) => {
    const [x, y] = at(event);
    if (drag?.kind === "brush" && drag.moved) on.brush([drag.x0, drag.y0], [x, y], true);
    if (drag?.kind === "carry" && drag.moved) on.drop(x, y, event.altKey);
    if (drag?.kind !== "scrub" && drag && !drag.moved) on.click(x, y, event.ctrlKey || event.metaKey);
    drag = null;
    delete element.dataset.drag;
  });
  listen("pointercancel", () => {
    if (drag?.kind === "carry" && drag.moved) on.putBack();
    drag = null;
    delete element.dataset.drag;
  });
  listen("pointerleave", () => on.leave());
  listen("dblclick", (event) => on.doubleClick(...at(event)));
  listen("wheel", (event) => {
    const [x] = at(event);
    const lines = event.deltaMode === 1 ? 16 : 1;
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways) {
      on.pan(-(event.deltaX || event.deltaY) * lines, 0);
      return event.preventDefault();
    }
    const held = event.ctrlKey || event.metaKey;
    if (!held && element.scrollHeight > element.clientHeight + 1) return; // the wheel scrolls the lanes
    if (held) event.preventDefault(); // never zooms the page
    if (on.zoom(x, Math.exp(event.deltaY * lines * 0.0018))) event.preventDefault();
  });
}
