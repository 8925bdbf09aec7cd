/** What the pointer does on the picture: points, clicks, pans, zooms, carries a box away. Coordinates are CSS pixels of the stage. */
import { inside } from "../shared/zoom.ts";

export interface Drag {
  /** The pointer is here now, in coordinates of the page's window. */
  move(x: number, y: number): void;
  end(cancelled: boolean): void;
}

export interface PointerEvents {
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  doubleClick(x: number, y: number): void;
  menu(x: number, y: number): void;
  /** A drag that begins here; null: it pans. */
  grab(x: number, y: number): Drag | null;
  pan(dx: number, dy: number): void;
  /** Returns whether the view changed; if not, the wheel belongs to the page. */
  zoom(factor: number, x: number, y: number): boolean;
}

const SLIP = 4; // pixels that a click may move

/** Connects the pointer; everything ends with `signal`. */
export function watchPointer(element: HTMLElement, on: PointerEvents, signal: AbortSignal): void {
  let pressed: { x: number; y: number; moved: boolean; drag: Drag | null; atX: number; atY: number } | null = null;
  const at = (event: MouseEvent) => inside(event, element);
  const listen = <K extends keyof HTMLElementEventMap>(type: K, handle: (event: HTMLElementEventMap[K]) => void) =>
    element.addEventListener(type, handle, { signal, passive: false });
  const end = (cancelled: boolean) => {
    pressed?.drag?.end(cancelled);
    pressed = null;
    delete element.dataset.drag;
  };

  listen("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = at(event);
    pressed = { x, y, atX: x, atY: y, moved: false, drag: null };
    element.setPointerCapture(event.pointerId);
  });
  listen("pointermove", (event) => {
    const [x, y] = at(event);
    if (!pressed) return on.hover(x, y);
    if (!pressed.moved) {
      if (Math.hypot(x - pressed.x, y - pressed.y) < SLIP) return;
      pressed.moved = true;
      pressed.drag = on.grab(pressed.x, pressed.y);
      element.dataset.drag = pressed.drag ? "box" : "pan";
      on.leave();
    }
    if (pressed.drag) pressed.drag.move(event.clientX, event.clientY);
    else on.pan(x - pressed.atX, y - pressed.atY);
    [pressed.atX, pressed.atY] = [x, y];
  });
  listen("pointerup", (event) => {
    const clicked = pressed && !pressed.moved;
    end(false);
    if (clicked) on.click(...at(event));
  });
  listen("pointercancel", () => end(true));
  listen("pointerleave", () => pressed || on.leave());
  listen("dblclick", (event) => on.doubleClick(...at(event)));
  listen("contextmenu", (event) => {
    event.preventDefault();
    on.menu(...at(event));
  });
  listen("wheel", (event) => {
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      on.pan(-(event.deltaX || event.deltaY) * lines, 0);
    else if (!on.zoom(Math.exp(-event.deltaY * lines * 0.0018), ...at(event))) return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && pressed?.drag && end(true), {
    signal,
    capture: true,
  });
}
