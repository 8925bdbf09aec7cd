/** A training run: where its time goes, and its expected overhead by the interval between checkpoints, which a hand drags on the curve. */
import { h, listen, s, set, style } from "../shared/dom.ts";
import { percent } from "../shared/format.ts";
import { markTheme, THEME_CSS } from "../shared/theme.ts";
import { boxOf, inside } from "../shared/zoom.ts";
import { height as heightOf, lasting, overhead, Scale } from "./curve.ts";
import css from "./job.css";
import type { JobTraits } from "./traits.ts";

const COLOURS: Record<string, string> = {
  useful: "#009E73",
  saving: "#0072B2",
  lost: "#D55E00",
  detecting: "#CC79A7",
  restoring: "#E69F00",
};
const BAR = 22; // height of the bar over time, under the marks of failures
const MARKS = 10;
const FOOT = 15; // room for the numbers under the curve
const LOW = 6; // room for the marker under the least
const TOP = 5; // room for the marker over the curve
const TIP =
  "Expected time beyond the useful one, by the work between two checkpoints; both logarithmic. Drag the marker, or use the arrow keys";
const PATIENCE = 40; // ms between two intervals that are sent
const ANSWER = 500; // ms after the last of them in which the kernel may still speak of an earlier one
const STEP = 0.02; // of a key, as a power of ten
const KEYS: Record<string, number> = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  PageUp: 10,
  PageDown: -10,
  Home: -1e9,
  End: 1e9,
};

export class RunView {
  readonly element: HTMLElement;
  readonly #legend = h("div.legend");
  readonly #time = s("svg.time", { role: "img" });
  readonly #costs = s("svg.costs");
  readonly #line = s("polyline.pl-curve");
  readonly #axis = s("path.pl-axis");
  readonly #best = s("circle.pl-optimum", { r: 4 });
  readonly #here = s("path.pl-here");
  readonly #knob = s("circle.knob", { r: 5 });
  readonly #handle = s(
    "g.handle",
    { tabindex: 0, role: "slider", "aria-label": "Interval between checkpoints" },
    this.#here,
    this.#knob,
  );
  readonly #texts = { best: s("text"), left: s("text.foot"), now: s("text.foot.now"), right: s("text.foot") };
  readonly #message = h("p", { hidden: true });
  readonly #watch = new ResizeObserver(() => this.draw());
  #traits: JobTraits | null = null;
  #interval = 0; // shown; ahead of the kernel while a hand drags, and a moment longer
  #held = false;
  #timer = 0;
  #waiting = 0; // timer that ends with the kernel's answer
  readonly #send: (interval: number) => void;

  constructor(send: (interval: number) => void) {
    this.#send = send;
    this.#costs.append(
      s("title", {}, TIP),
      this.#axis,
      this.#line,
      this.#best,
      this.#handle,
      ...Object.values(this.#texts),
    );
    this.element = h(
      "div.placelab.pl-training",
      { "data-lm-suppress-shortcuts": "true" },
      style(THEME_CSS, css),
      this.#legend,
      this.#time,
      this.#costs,
      this.#message,
    );
    listen(this.#costs, "pointerdown", (event) => this.#grasp(event));
    listen(this.#costs, "pointermove", (event) => this.#held && this.#move(event));
    for (const end of ["pointerup", "pointercancel"] as const) listen(this.#costs, end, () => this.#release());
    listen(this.#handle, "keydown", (event) => this.#key(event));
    this.#watch.observe(this.element);
  }

  show(traits: JobTraits): void {
    this.#traits = traits;
    if (!this.#held && !this.#timer && !this.#waiting) this.#interval = traits.interval;
    const { said, kinds } = traits.run;
    const parts = kinds.map(({ name, share }) => h("span", {}, swatch(name), `${name} ${share}`));
    this.#legend.replaceChildren(h("b", {}, said), ...parts);
    this.#legend.title = [said, ...kinds.map(({ name, share }) => `${name} ${share}`)].join(" · ");
    set(this.#time, { "aria-label": said });
    this.#message.textContent = traits.message;
    this.draw();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#waiting);
    this.#watch.disconnect();
  }

  /** Draws at the present size. */
  draw(): void {
    markTheme(this.element);
    const traits = this.#traits;
    const width = this.element.clientWidth;
    if (!traits || !width) return;
    const none = !traits.curve.seconds.length;
    for (const part of [this.#legend, this.#time]) part.toggleAttribute("hidden", !traits.run.kinds.length);
    this.#costs.toggleAttribute("hidden", none);
    this.#message.hidden = !traits.message;
    this.#drawTime(width);
    if (!none) this.#drawCosts(width, this.#costs.clientHeight);
  }

  /** Columns of what is done, useful work at the foot, and marks of failures. */
  #drawTime(width: number): void {
    const { kinds, failures } = this.#traits!.run;
    set(this.#time, { viewBox: `0 0 ${width} ${MARKS + BAR}`, height: MARKS + BAR });
    const wide = width / (kinds[0]?.columns.length ?? 1);
    const sums = new Array<number>(kinds[0]?.columns.length ?? 0).fill(0);
    const areas = kinds.map(({ name, columns }) => {
      const steps = columns.map((share, i) => {
        const sum = sums[i]! + share;
        sums[i] = sum;
        return `V${(MARKS + BAR * (1 - Math.min(sum, 1))).toFixed(1)}h${wide.toFixed(3)}`;
      });
      return s(
        "path",
        { d: `M0 ${MARKS + BAR}${steps.join("")}V${MARKS + BAR}z`, fill: COLOURS[name] },
        s("title", {}, name),
      );
    });
    const marks = failures.map((at) => `M${(at * width - 3).toFixed(1)} 1h6l-3 8z`).join("");
    this.#time.replaceChildren(
      ...areas.reverse(),
      ...(marks ? [s("path.pl-failures", { d: marks }, s("title", {}, "failures"))] : []),
    );
  }

  #drawCosts(width: number, height: number): void {
    const { curve, optimum, limits } = this.#traits!;
    const scale = new Scale(curve, width);
    const foot = height - FOOT;
    const y = (over: number) => foot - LOW - (foot - LOW - TOP) * heightOf(curve, over);
    set(this.#costs, { viewBox: `0 0 ${width} ${height}` });
    set(this.#axis, { d: `M0 ${foot}H${width}` });
    set(this.#line, {
      points: curve.seconds.map((at, i) => `${scale.x(at).toFixed(1)},${y(curve.over[i]!).toFixed(1)}`).join(" "),
    });
    const [best, least, x, over] = [
      scale.x(optimum),
      Math.min(...curve.over),
      scale.x(this.#interval),
      overhead(curve, this.#interval),
    ];
    set(this.#best, { cx: best.toFixed(1), cy: y(least).toFixed(1), "data-seconds": optimum });
    set(this.#here, { d: `M${x.toFixed(1)} 0V${foot}` });
    set(this.#knob, { cx: x.toFixed(1), cy: y(over).toFixed(1) });
    const says = `${lasting(this.#interval)}: + ${percent(over)}`;
    set(this.#handle, {
      "aria-valuemin": limits[0],
      "aria-valuemax": limits[1],
      "aria-valuenow": this.#interval,
      "aria-valuetext": `${says} expected`,
    });
    write(
      this.#texts.best,
      Math.min(Math.max(best, 85), width - 85),
      13,
      "middle",
      `optimum ${lasting(optimum)}: + ${percent(least)}`,
    );
    write(this.#texts.left, 0, height - 3, "start", lasting(curve.seconds[0]!));
    write(this.#texts.right, width, height - 3, "end", lasting(curve.seconds.at(-1)!));
    write(this.#texts.now, width / 2, height - 3, "middle", `interval ${says}`);
  }

  #grasp(event: PointerEvent): void {
    if (event.button || !this.#traits?.curve.seconds.length) return;
    this.#held = true;
    this.#costs.setPointerCapture(event.pointerId);
    this.#handle.focus();
    event.preventDefault();
    this.#move(event);
  }

  #move(event: PointerEvent): void {
    const scale = new Scale(this.#traits!.curve, boxOf(this.#costs).width || 1);
    this.#set(scale.interval(inside(event, this.#costs)[0]));
  }

  #release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#tell(0);
  }

  #key(event: KeyboardEvent): void {
    const steps = KEYS[event.key];
    if (steps === undefined || !this.#traits || event.ctrlKey || event.metaKey || event.altKey) return;
    this.#set(10 ** (Math.log10(this.#interval) + STEP * Math.min(Math.max(steps, -1e3), 1e3)));
    event.preventDefault();
    event.stopPropagation();
  }

  /** Shows an interval at once, and tells the kernel soon. */
  #set(interval: number): void {
    const [low, high] = this.#traits!.limits;
    this.#interval = Math.min(Math.max(interval, low!), high!);
    this.draw();
    if (!this.#timer) this.#tell(PATIENCE);
  }

  #tell(after: number): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      this.#send(this.#interval);
      this.#wait(this.#traits);
    }, after);
  }

  /** Takes the kernel's word again when it may be expected to be of the last interval, if it has said anything since. */
  #wait(before: JobTraits | null): void {
    clearTimeout(this.#waiting);
    this.#waiting = window.setTimeout(() => {
      this.#waiting = 0;
      if (this.#traits && this.#traits !== before) this.show(this.#traits);
    }, ANSWER);
  }
}

function swatch(kind: string): HTMLElement {
  const colour = h("i");
  colour.style.background = COLOURS[kind] ?? "";
  return colour;
}

function write(text: SVGTextElement, x: number, y: number, anchor: string, says: string): void {
  set(text, { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor });
  text.textContent = says;
}
