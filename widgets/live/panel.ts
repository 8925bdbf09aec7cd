/** The controls above the chart: strategies, dials of the cluster, the makespan that follows from them. */
import { h, listen, style } from "../shared/dom.ts";
import { bandwidth, bytes, number, seconds, speed } from "../shared/format.ts";
import { markTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import { saved, type Wish } from "./address.ts";
import { type Dial, type Quantity, REACH, scaled } from "./dials.ts";
import css from "./live.css";
import { race } from "./race.ts";
import type { Setting } from "./traits.ts";
import { compared } from "./words.ts";

const TITLES: Record<Quantity, string> = { speed: "speed of", bandwidth: "bandwidth", latency: "latency" };
const UNITS: Record<Quantity, (x: number) => string> = { speed, bandwidth, latency: seconds };
const MEMORY: Readonly<Record<string, string>> = { true: " · out of memory", false: " · fits", null: "" };
const NARROW = "(max-width: 600px)"; // a phone: one dial is open, the others behind a line
const SAID = 2_000; // ms that a button says what it did

export interface Answer {
  readonly makespan: number;
  readonly saved: number;
  readonly code: string;
}

/** An op that can be moved, and where it is. */
export interface Offered {
  readonly op: number;
  readonly name: string;
  readonly device: number;
}

/** What the panel calls. */
export interface Hands {
  /** With each change, also in the midst of a drag. */
  changed(): void;
  /** At the end of a change, which then can be undone. */
  settled(): void;
  undo(): void;
  redo(): void;
  /** Of a strategy by itself, at the saved costs or as things are. */
  makespan(partitioner: string, scheduler: string, saved: boolean): number;
}

export interface Panel {
  readonly element: HTMLElement;
  /** What stands below the chart, on a phone. */
  readonly below: HTMLElement | null;
  wish(): Wish;
  put(wish: Wish): void;
  show(answer: Answer): void;
  /** Bytes that travel between devices, and whether some device runs out of memory; null where memory is not counted. */
  tellMoved(sum: number, short: boolean | null): void;
  /** The other strategies again; until then what is said of them is old. */
  compare(): void;
  refuse(why: string): void;
  /** The op that can be moved to another device; null for none. */
  offer(op: Offered | null): void;
  /** The makespan with that op on each device. */
  tellOf(makespans: readonly number[]): void;
  /** Whether there is something to undo, or to do again. */
  reach(undo: boolean, redo: boolean): void;
}

export function panel(setting: Setting, dials: readonly Dial[], unitless: boolean, hands: Hands): Panel {
  const value = (quantity: Quantity, x: number) => (unitless ? number(x) : UNITS[quantity](x));
  const time = (x: number) => (unitless ? number(x) : seconds(x));
  const steps = new Map<string, number>();
  const moves = new Map<number, number>();
  const partitioner = menu("Partitioner", setting.partitioners, setting.partitioner, hands.settled);
  const scheduler = menu("Scheduler", setting.schedulers, setting.scheduler, hands.settled);
  const transfers = menu("Transfers", setting.models, setting.transfers, hands.settled);
  const makespan = h("output.makespan", { "aria-label": "Makespan" });
  const change = h("span.change");
  const facts = h("span.facts");
  const error = h("p.error", { role: "alert", hidden: true });
  const text = h("code");
  const rows = dials.map((each) => dial(each, value, steps, hands));
  const undo = button("↶", "Undo", hands.undo);
  const redo = button("↷", "Redo", hands.redo);
  const put = (wish: Wish) => {
    for (const row of rows) row.put(wish.steps.get(row.key) ?? 0);
    moves.clear();
    for (const [op, device] of wish.moves) moves.set(op, device);
    partitioner.value = wish.partitioner;
    scheduler.value = wish.scheduler;
    transfers.value = wish.transfers;
  };
  const reset = button("Reset", "", () => {
    put(saved(setting));
    hands.settled();
  });
  const others = race(setting.partitioners, hands.makespan, time, (name) => {
    partitioner.value = name;
    hands.settled();
  });
  const byHand = mover(setting.names, moves, time, hands.settled);
  const result = h("span.result", {}, "makespan ", makespan);
  const menus = [partitioner, scheduler, transfers];
  const chosen = h("div.row", {}, ...menus, undo, redo, reset, copyButton(), result, change, facts);
  const more = h("details", {}, h("summary", {}, "Python"), h("pre", {}, text));
  const words = "This page computes by itself. Strategies beyond the list need placelab.";
  const said = h("p.said", {}, setting.still ? `${words} ${setting.still} Ops stay on their devices.` : words);
  const narrow = matchMedia(NARROW).matches;
  const below = narrow ? h("section.placelab.pl-live", { "aria-label": "Strategies" }, others.element) : null;
  const columns = h("div.columns", {}, dialsOf(rows, narrow), ...(narrow ? [] : [others.element]));
  const element = h("section.placelab.pl-live", { "aria-label": "Recompute" }, style(THEME_CSS, css), said);
  element.append(chosen, error, byHand.element, columns, more);
  const mark = () => {
    markTheme(element);
    if (below) markTheme(below);
  };
  mark();
  watchTheme(mark);
  shortcuts(element, hands);
  const reach = (before: boolean, after: boolean) => {
    undo.disabled = !before;
    redo.disabled = !after;
  };
  reach(false, false);
  return {
    element,
    below,
    wish: () => ({
      partitioner: partitioner.value,
      scheduler: scheduler.value,
      transfers: transfers.value,
      steps,
      moves,
    }),
    put,
    show(answer) {
      error.hidden = true;
      element.dataset.makespan = String(answer.makespan);
      makespan.textContent = time(answer.makespan);
      const { makespan: now, saved: before } = answer;
      change.textContent = now === before ? "as saved" : `${compared(now, before)} from ${time(before)}`;
      facts.textContent = "";
      others.old(partitioner.value);
      text.textContent = answer.code;
    },
    compare: () => others.again(scheduler.value),
    tellMoved(sum, short) {
      facts.textContent = `moved ${unitless ? number(sum) : bytes(sum)}${MEMORY[String(short)]}`;
      facts.classList.toggle("error", short === true);
    },
    refuse(why) {
      error.hidden = false;
      error.textContent = why;
    },
    offer: byHand.offer,
    tellOf: byHand.tellOf,
    reach,
  };
}

/** The dials; on a phone the first bandwidth alone, the others behind a line. */
function dialsOf(
  rows: readonly { readonly key: string; readonly element: HTMLElement }[],
  narrow: boolean,
): HTMLElement {
  const group = (...elements: HTMLElement[]) => h("div.dials", {}, ...elements);
  const label = { role: "group", "aria-label": "Cluster" };
  if (!narrow) return h("div", label, group(...rows.map(({ element }) => element)));
  const first = rows.find(({ key }) => key.startsWith("bandwidth")) ?? rows[0];
  const others = rows.filter((row) => row !== first).map(({ element }) => element);
  const shown = group(...(first ? [first.element] : []));
  if (!others.length) return h("div", label, shown);
  return h("div", label, shown, h("details", {}, h("summary", {}, "Speeds and other links"), group(...others)));
}

/** Moves the op that is selected in the chart to another device. */
function mover(names: readonly string[], moves: Map<number, number>, time: (x: number) => string, done: () => void) {
  const name = h("strong");
  const where = h("select", { "aria-label": "Device of the selected op" });
  const options = names.map((_, d) => h("option", { value: d }));
  where.append(...options);
  const element = h("p.hand", { hidden: true }, "By hand: ", name, " on ", where);
  let op = -1;
  listen(where, "change", () => {
    moves.set(op, Number(where.value));
    done();
  });
  return {
    element,
    offer(offered: Offered | null) {
      element.hidden = !offered;
      if (!offered) return;
      op = offered.op;
      name.textContent = offered.name;
      where.value = String(offered.device);
      for (const [d, option] of options.entries()) option.textContent = names[d]!;
    },
    tellOf(makespans: readonly number[]) {
      for (const [d, option] of options.entries()) option.textContent = `${names[d]}: ${time(makespans[d]!)}`;
    },
  };
}

/** Copies the page's address, which has the state; where the browser does not allow that, shows it to be copied. */
function copyButton(): HTMLElement {
  const link = h("input", { "aria-label": "Link to this state", readonly: true, hidden: true });
  const copy = button("Copy link", "An address that opens this page as it is now", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      copy.textContent = "Copied ✓";
      setTimeout(() => (copy.textContent = "Copy link"), SAID);
    } catch {
      link.value = location.href;
      link.hidden = false;
      link.select();
    }
  });
  return h("span", {}, copy, link);
}

/** Ctrl+Z and Ctrl+Shift+Z or Ctrl+Y, anywhere on the page but where text is written. */
function shortcuts(element: HTMLElement, { undo, redo }: Hands): void {
  listen(element.ownerDocument, "keydown", (event) => {
    const { key, ctrlKey, metaKey, shiftKey } = event as KeyboardEvent;
    if (!(ctrlKey || metaKey) || (event.target as Element).matches?.("input:not([type=range]), textarea")) return;
    const letter = key.toLowerCase();
    if (letter !== "z" && letter !== "y") return;
    event.preventDefault();
    if (letter === "y" || shiftKey) redo();
    else undo();
  });
}

function button(text: string, title: string, act: () => void): HTMLButtonElement {
  const element = h(
    "button",
    { type: "button", title, "aria-label": title && text.length < 2 ? title : undefined },
    text,
  );
  listen(element, "click", act);
  return element;
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
  { changed, settled }: Hands,
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
  listen(slider, "change", settled);
  show(0);
  return {
    key,
    element,
    put(by: number) {
      slider.value = String(by);
      turn(by);
    },
  };
}
