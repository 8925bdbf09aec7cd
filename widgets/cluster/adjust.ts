/** Changing a value by pulling it sideways, by keys, or by typing it. */
import { listen } from "../shared/dom";
import { abs, sqrt } from "../shared/math";
import { clamp, snap } from "../shared/scale";
import type { Editor } from "./editor";
import type { Entry } from "./entry";
import { PER_DECADE, read, scaled, writeRange } from "./quantity";
import type { Ruler } from "./ruler";
import type { Range } from "./state";
import type { Target } from "./targets";

type Focusable = HTMLElement | SVGElement;

/** Factor of a key that changes a value. */
const KEYS: Record<string, number> = { ArrowRight: 1.1, ArrowUp: 1.1, ArrowLeft: 1 / 1.1, ArrowDown: 1 / 1.1, PageUp: 2, PageDown: 0.5 };

export class Adjust {
  readonly editor: Editor;
  readonly #ruler: Ruler;
  readonly #entry: Entry;
  #target: Target | null = null;
  #from: Range = { low: 1, high: 1 };
  #total = 1;

  constructor(editor: Editor, ruler: Ruler, entry: Entry) {
    this.editor = editor;
    this.#ruler = ruler;
    this.#entry = entry;
  }

  /** What is being changed now. */
  get target(): Target | null {
    return this.#target;
  }

  /** The value of a target as text. */
  text(target: Target): string {
    return writeRange(target.quantity, target.read(this.editor.cluster));
  }

  /** Multiplies by `factor` what the drag has changed so far. */
  step(target: Target, factor: number): void {
    this.#begin(target);
    this.#set(this.#total * factor, 3);
  }

  /** The drag is over. */
  end(): void {
    this.editor.release();
    this.#target = null;
    this.#ruler.hide();
  }

  /** Back to where the drag began. */
  cancel(): void {
    if (this.#target) this.#set(1, 3);
    this.end();
  }

  /** Lets the pointer pull what `at` finds under it. On a device, a hand that sets out up or down carries the device instead. */
  pull(owner: Focusable, at: (event: PointerEvent) => Target | null): void {
    const element = owner as HTMLElement; // for the types of its events
    let origin: { x: number; y: number; target: Target; down: PointerEvent } | null = null;
    listen(element, "pointerdown", (event) => {
      const target = event.button === 0 ? at(event) : null;
      if (!target) return;
      event.stopPropagation();
      event.preventDefault();
      element.focus({ preventScroll: true });
      element.setPointerCapture(event.pointerId);
      origin = { x: event.clientX, y: event.clientY, target, down: event };
    });
    listen(element, "pointermove", (event) => {
      if (!origin) return;
      const pixels = event.clientX - origin.x, rise = abs(event.clientY - origin.y);
      const device = this.#target ? null : element.closest(".card");
      if (device && rise > abs(pixels)) {
        if (rise < 5) return;
        const { down } = origin;
        origin = null;
        device.dispatchEvent(new PointerEvent(down.type, down)); // as if it had been gripped beside the value
        return;
      }
      if (!this.#target && abs(pixels) < 3) return;
      this.#begin(origin.target);
      this.#set(snap(10 ** (pixels / PER_DECADE)), 3);
      this.#ruler.show(origin.target.quantity, this.#from.low, origin, pixels, this.text(origin.target));
    });
    const stop = () => {
      if (origin) this.end();
      origin = null;
    };
    listen(element, "pointerup", stop);
    listen(element, "lostpointercapture", stop);
    listen(element, "keydown", (event) => {
      if (event.key !== "Escape" || !origin) return;
      event.stopPropagation();
      origin = null;
      this.cancel();
    });
  }

  /** Gives a slider its keys: arrows and page keys change, Enter opens the field. */
  keys(owner: Focusable, target: Target): void {
    const element = owner as HTMLElement;
    listen(element, "keydown", (event) => {
      const factor = KEYS[event.key];
      if (event.ctrlKey || event.metaKey || (!factor && event.key !== "Enter")) return;
      event.preventDefault();
      event.stopPropagation();
      if (factor) this.step(target, event.shiftKey ? factor ** 0.1 : factor);
      else this.type(target, element);
    });
    listen(element, "keyup", (event) => (KEYS[event.key] ? this.end() : undefined));
    listen(element, "blur", () => (this.#target ? this.end() : undefined));
    listen(element, "dblclick", () => this.type(target, element));
  }

  /** Opens the field in which an exact value can be typed, over `element` or over a rectangle in it. */
  type(target: Target, element: Focusable, over: DOMRect = element.getBoundingClientRect()): void {
    const range = target.read(this.editor.cluster);
    const text = target.quantity.write(range.low === range.high ? range.low : sqrt(range.low * range.high));
    this.#entry.open(over, text, target.label, element, (typed) => {
      const value = read(target.quantity, typed, text);
      if (typeof value === "string") return value;
      this.editor.do(target.edit({ value: value === Infinity ? null : value }));
      return null;
    });
  }

  #begin(target: Target): void {
    if (this.#target?.key === target.key) return;
    if (this.#target) this.end();
    this.#target = target;
    this.#from = target.read(this.editor.cluster);
    this.#total = 1;
  }

  #set(total: number, digits: number): void {
    const { quantity, edit } = this.#target!;
    this.#total = clamp(total, 1e-12, 1e12);
    this.editor.drag(edit(scaled(quantity, this.#from, this.#total, digits)));
  }
}
