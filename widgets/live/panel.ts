/** The controls above the chart: strategies, dials of the cluster, the makespan that follows from them. */
import { h, listen, style } from "../shared/dom.ts";
import { bandwidth, number, seconds, speed } from "../shared/format.ts";
import { markTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import { DECADES, type Dial, PER_DECADE, type Quantity, scaled } from "./dials.ts";
import css from "./live.css";
import type { Setting } from "./traits.ts";

const REACH = DECADES * PER_DECADE;
const TITLES: Record<Quantity, string> = { speed: "speed of", bandwidth: "bandwidth", latency: "latency" };
const UNITS: Record<Quantity, (x: number) => string> = { speed, bandwidth, latency: seconds };

/** What the hand has set. */
export interface Wish {
  readonly partitioner: string;
  readonly scheduler: string;
  /** Steps of dials by key, 0 left out. */
  readonly steps: ReadonlyMap<string, number>;
}

export interface Answer {
  readonly makespan: number;
  readonly saved: number;
  readonly code: string;
}

export interface Panel {
  readonly element: HTMLElement;
  wish(): Wish;
  show(answer: Answer): void;
  refuse(why: string): void;
}

/** The panel; `changed` is called with each change. */
export function panel(setting: Setting, dials: readonly Dial[], unitless: boolean, changed: () => void): Panel {
  const value = (quantity: Quantity, x: number) => (unitless ? number(x) : UNITS[quantity](x));
  const steps = new Map<string, number>();
  const partitioner = menu("Partitioner", setting.partitioners, setting.partitioner, changed);
  const scheduler = menu("Scheduler", setting.schedulers, setting.scheduler, changed);
  const makespan = h("output.makespan", { "aria-label": "Makespan" });
  const change = h("span.change");
  const error = h("p.error", { role: "alert", hidden: true });
  const text = h("code");
  const rows = dials.map((each) => dial(each, value, steps, changed));
  const reset = h("button", { type: "button" }, "Reset");
  listen(reset, "click", () => {
    for (const row of rows) row.reset();
    partitioner.value = setting.partitioner;
    scheduler.value = setting.scheduler;
    changed();
  });
  const chosen = h("div.row", {}, partitioner, scheduler, reset, h("span.result", {}, "makespan ", makespan), change);
  const more = h("details", {}, h("summary", {}, "Python"), h("pre", {}, text));
  const words = "This page computes by itself. Strategies beyond the list need placelab.";
  const said = h("p.said", {}, setting.still ? `${words} ${setting.still} Ops stay on their devices.` : words);
  const table = h("div.dials", { role: "group", "aria-label": "Cluster" }, ...rows.map(({ element }) => element));
  const element = h("section.placelab.pl-live", { "aria-label": "Recompute" }, style(THEME_CSS, css), said);
  element.append(chosen, error, table, more);
  markTheme(element);
  watchTheme(() => markTheme(element));
  return {
    element,
    wish: () => ({ partitioner: partitioner.value, scheduler: scheduler.value, steps }),
    show(answer) {
      const time = (x: number) => (unitless ? number(x) : seconds(x));
      error.hidden = true;
      element.dataset.makespan = String(answer.makespan);
      makespan.textContent = time(answer.makespan);
      change.textContent = compared(answer.makespan, answer.saved, time);
      text.textContent = answer.code;
    },
    refuse(why) {
      error.hidden = false;
      error.textContent = why;
    },
  };
}

function menu(label: string, names: readonly string[], chosen: string, changed: () => void): HTMLSelectElement {
  const select = h("select", { "aria-label": label }, ...names.map((name) => h("option", { value: name }, name)));
  select.value = chosen;
  listen(select, "change", changed);
  return select;
}

function dial(
  { key, quantity, label, low, high }: Dial,
  value: (quantity: Quantity, x: number) => string,
  steps: Map<string, number>,
  changed: () => void,
) {
  const name = `${TITLES[quantity]} ${label}`;
  const slider = h("input", { type: "range", min: -REACH, max: REACH, step: 1, value: 0, "aria-label": name });
  slider.dataset.key = key;
  const shown = h("output");
  const element = h("label", {}, h("span", { title: name }, name), shown, slider);
  const show = (by: number) => {
    const [from, to] = [scaled(low, by), scaled(high, by)].map((x) => value(quantity, x));
    shown.textContent = from === to ? from! : `${from} … ${to}`;
    slider.setAttribute("aria-valuetext", shown.textContent);
    element.classList.toggle("turned", by !== 0);
  };
  const turn = (by: number) => {
    if (by === 0) steps.delete(key);
    else steps.set(key, by);
    show(by);
  };
  listen(slider, "input", () => {
    turn(Number(slider.value));
    changed();
  });
  show(0);
  return {
    element,
    reset() {
      slider.value = "0";
      turn(0);
    },
  };
}

/** How much the makespan differs from the saved one. */
export function compared(now: number, saved: number, time: (x: number) => string): string {
  if (now === saved) return "as saved";
  const share = saved > 0 ? ` ${number((100 * Math.abs(now - saved)) / saved, 3)} %` : "";
  return `${now < saved ? "▼" : "▲"}${share} from ${time(saved)}`;
}
