/** Change a value: drag it sideways, use keys, or type it. */
import { listen, s, set } from "../shared/dom.ts";
import { clamp, snap } from "../shared/scale.ts";
import { boxOf, pointOf } from "../shared/zoom.ts";
import type { Editor } from "./editor.ts";
import type { Entry } from "./entry.ts";
import { inUnits, PER_DECADE, read, scaled, spoken, writeRange } from "./quantity.ts";
import type { Ruler } from "./ruler.ts";
import type { Range } from "./state.ts";
import type { Target } from "./targets.ts";
import type { Chosen } from "./traits.ts";

type Focusable = HTMLElement | SVGElement;

const FIXED = "the times of all ops are given for this device and hold at any speed";
const IDLE = "only the transfer model fair knows shared links";

/** Factor of a key that changes a value. */
const KEYS: Record<string, number> = {
  ArrowRight: 1.1,
  ArrowUp: 1.1,
  ArrowLeft: 1 / 1.1,
  ArrowDown: 1 / 1.1,
  PageUp: 2,
  PageDown: 0.5,
};

export interface Adjust {
  readonly editor: Editor;
  /** What is being changed now. */
  readonly target: Target | null;
  /** The value of a target as text. */
  text(target: Target): string;
  /** Makes `element` a slider of a target: dragged, changed by keys, or typed. Returns a function that shows the present value. */
  slider(element: SVGElement, target: Target): () => void;
  /** Multiplies by `factor` what the drag has changed so far. */
  step(target: Target, factor: number): void;
  /** Ends the drag. */
  end(): void;
  /** Lets the pointer drag the value that `at` finds under it. On a device, a drag that starts up or down carries the device instead. */
  pull(element: Focusable, at: (event: PointerEvent) => Target | null): void;
  /** Opens the field in which an exact value can be typed, over `element` or over a rectangle in it. */
  type(target: Target, element: Focusable, over?: DOMRect): void;
}

export function adjust(editor: Editor, ruler: Ruler, entry: Entry): Adjust {
  let current: Target | null = null;
  let from: Range = { low: 1, high: 1 };
  let total = 1;

  function begin(target: Target): void {
    if (current?.key === target.key) return;
    if (current) end();
    current = target;
    from = target.read(editor.cluster);
    total = 1;
  }

  function change(factor: number): void {
    const { edit } = current!;
    const quantity = quantityOf(current!);
    total = clamp(factor, 1e-12, 1e12);
    editor.drag(edit(scaled(quantity, from, total, 3)));
  }

  /** In the units of the problem. */
  const quantityOf = (target: Target) => inUnits(target.quantity, editor.cluster.units);
  /** Why a change of the target would change no time; "" where it may. */
  const whyFixed = ({ key }: Target) => {
    if (key.startsWith("shared:")) return editor.model.get("sharing") ? "" : IDLE;
    return editor.model.get("fixed").some((device) => key === `speed:${device}`) ? FIXED : "";
  };
  const text = (target: Target) =>
    whyFixed(target) === FIXED ? "timed" : writeRange(quantityOf(target), target.read(editor.cluster));

  function step(target: Target, factor: number): void {
    begin(target);
    change(total * factor);
  }

  function end(): void {
    editor.release();
    current = null;
    ruler.hide();
  }

  function pull(element: Focusable, at: (event: PointerEvent) => Target | null): void {
    let origin: { x: number; y: number; target: Target; down: PointerEvent } | null = null;
    listen(element, "pointerdown", (event) => {
      const target = event.button === 0 ? at(event) : null;
      if (!target) return;
      event.stopPropagation();
      event.preventDefault();
      element.focus({ preventScroll: true });
      element.setPointerCapture(event.pointerId);
      origin = { ...pointOf(event, element), target, down: event };
    });
    listen(element, "pointermove", (event) => {
      if (!origin) return;
      const { x, y } = pointOf(event, element);
      const pixels = x - origin.x;
      const rise = Math.abs(y - origin.y);
      const device = current ? null : element.closest(".card");
      if (device && rise > Math.abs(pixels)) {
        if (rise < 5) return;
        const { down } = origin;
        origin = null;
        device.dispatchEvent(new PointerEvent(down.type, down)); // as if the drag had started beside the value
        return;
      }
      if (!current && Math.abs(pixels) < 3) return;
      begin(origin.target);
      change(snap(10 ** (pixels / PER_DECADE)));
      ruler.show(
        quantityOf(origin.target),
        from.low,
        origin,
        pixels,
        spoken(text(origin.target)),
        editor.cluster.units,
      );
    });
    const stop = () => {
      if (origin) end();
      origin = null;
    };
    listen(element, "pointerup", stop);
    listen(element, "lostpointercapture", stop);
    listen(element, "keydown", (event) => {
      if (event.key !== "Escape" || !origin) return;
      event.stopPropagation();
      origin = null;
      if (current) change(1); // back to where the drag began
      end();
    });
  }

  function slider(element: SVGElement, target: Target): () => void {
    const { label, key } = target;
    const quantity = quantityOf(target);
    const limits = { "aria-valuemin": decimal(quantity.low), "aria-valuemax": decimal(quantity.high) };
    set(element, { tabindex: 0, role: "slider", "aria-label": label, ...limits, "data-key": key });
    const fixed = whyFixed(target);
    if (fixed) {
      set(element, {
        "aria-disabled": "true",
        "aria-valuenow": decimal(target.read(editor.cluster).low),
        "aria-valuetext": fixed,
      });
      element.prepend(s("title", {}, `${label}: ${fixed}`));
      return () => {};
    }
    element.prepend(s("title", {}, `${label}: pull ← → to change, Enter or double-click to type`));
    pull(element, () => target);
    listen(element, "keydown", (event) => {
      const pressed = event.key;
      const factor = KEYS[pressed];
      if (event.ctrlKey || event.metaKey || (!factor && !["Enter", "Home", "End"].includes(pressed))) return;
      event.preventDefault(); // Home and End would scroll the notebook
      event.stopPropagation();
      if (factor) step(target, event.shiftKey ? factor ** 0.1 : factor);
      else if (pressed === "Enter") type(target, element);
      else if (pressed === "End" && quantity.end) editor.do(target.edit({ value: null }));
    });
    listen(element, "focus", () => editor.choose(chosen(target)));
    listen(element, "keyup", (event) => (KEYS[event.key] ? end() : undefined));
    listen(element, "blur", () => (current ? end() : undefined));
    listen(element, "dblclick", () => type(target, element));
    return () => {
      const now = middle(target.read(editor.cluster));
      set(element, { "aria-valuenow": decimal(Math.min(now, quantity.high)), "aria-valuetext": spoken(text(target)) });
    };
  }

  function type(target: Target, element: Focusable, over: DOMRect = boxOf(element)): void {
    const quantity = quantityOf(target);
    const shown = quantity.write(middle(target.read(editor.cluster)));
    entry.open(over, shown, target.label, element, (typed) => {
      const value = read(quantity, typed, shown);
      if (typeof value === "string") return value;
      editor.do(target.edit({ value: value === Infinity ? null : value }));
      return null;
    });
  }

  return {
    editor,
    get target() {
      return current;
    },
    ...{ text, step, end, pull, slider, type },
  };
}

/** A target as Python knows it. */
function chosen({ edit, label }: Target): Chosen {
  const { kind, ...where } = edit({ value: null }) as Partial<Chosen> & { kind: string };
  return { kind, label, device: where.device, pairs: where.pairs, link: where.link };
}

const middle = ({ low, high }: Range) => (low === high ? low : Math.sqrt(low * high));

/** A number as ARIA takes it: no exponent, which "1e+21" would have. */
const decimal = (value: number) => value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });
