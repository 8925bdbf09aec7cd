/** The controls above the chart: strategies, dials of the cluster, the makespan that follows from them. */
import { SINGLE } from "../kernels/place.ts";
import { h, listen, style } from "../shared/dom.ts";
import { bytes, number, seconds } from "../shared/format.ts";
import { markTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import { BY_HAND, HAS_ADDRESS, saved, type Wish } from "./address.ts";
import { canvas, type Known } from "./canvas.ts";
import type { CurveHost } from "./curve.ts";
import { dialRows } from "./dialrows.ts";
import type { Dial } from "./dials.ts";
import css from "./live.css";
import { race } from "./race.ts";
import type { Puzzle } from "./traits.ts";
import type { Values } from "./values.ts";
import { aboveOptimum, compared, pathText } from "./words.ts";

const MEMORY: Readonly<Record<string, string>> = { true: " · out of memory", false: " · fits", null: "" };
const NARROW = "(max-width: 600px)"; // a phone: dials instead of the canvas, one of them open, the others behind a line
const MOST = 3; // stars
const SAID = 2_000; // ms that a button says what it did

export interface Answer {
  readonly makespan: number;
  /** What it is compared with. */
  readonly before: number;
  readonly code: string;
  /** How many ops of how many are placed, where some wait; null: all. */
  readonly placed: readonly [count: number, of: number] | null;
}

/** An op that can be moved, and where it is. */
export interface Offered {
  readonly op: number;
  readonly name: string;
  readonly device: number;
}

/** What the panel calls. */
export interface Hands {
  readonly curve: Omit<CurveHost, "show">;
  /** With each change, also in the midst of a drag. */
  changed(): void;
  /** At the end of a change, which then can be undone. */
  settled(): void;
  undo(): void;
  redo(): void;
  /** Of a strategy by itself, at the saved costs or as things are. */
  makespan(partitioner: string, scheduler: string, saved: boolean): Promise<number>;
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
  /** A lower bound on all makespans of the problem [s]; null while it is not known. */
  tellBound(bound: number | null): void;
  /** Seconds of the critical path in ops, in transfers and in line. */
  tellPath(parts: readonly number[]): void;
  /** The other strategies again; until then what is said of them is old. */
  compare(): void;
  refuse(why: string): void;
  /** The op that can be moved to another device; null for none. */
  offer(op: Offered | null): void;
  /** The makespan with that op on each device. */
  tellOf(makespans: readonly number[]): void;
  /** Whether there is something to undo, or to do again. */
  reach(undo: boolean, redo: boolean): void;
  /** The most bytes in use on each device. */
  tellPeak(bytes: readonly number[]): void;
  /** The stars that a puzzle's plan earns; null where the cluster is not the puzzle's. */
  tellStars(earned: number | null): void;
  /** Another plan by hand, see lanes.ts; "" for none. */
  setHand(text: string): void;
}

export function panel(known: Known, dials: readonly Dial[], hands: Hands): Panel {
  const { setting, unitless } = known;
  const time = (x: number) => (unitless ? number(x) : seconds(x));
  let values: Values = new Map();
  let hand = "";
  const moves = new Map<number, number>();
  const choose = () => {
    setHand("");
    if (partitioner.value === SINGLE && scheduler.value === "planned") scheduler.value = "pct"; // it has no plan
    hands.settled();
  };
  const partitioner = menu("Partitioner", setting.partitioners, setting.partitioner, choose);
  const scheduler = menu("Scheduler", setting.schedulers, setting.scheduler, hands.settled);
  const transfers = menu("Transfers", setting.models, setting.transfers, hands.settled);
  const memory = menu("Memory", setting.memories, setting.memory, hands.settled);
  const makespan = h("output.makespan", { "aria-label": "Makespan" });
  const difference = h("span.change");
  const gap = h("span.gap");
  const path = h("span.path");
  const facts = h("span.facts");
  let shown = 0; // makespan
  let unplaced = false; // some ops wait in the tray
  const error = h("p.error", { role: "alert", hidden: true });
  const text = h("code");
  const change = (now: Values) => {
    values = now;
    hands.changed();
  };
  const narrow = matchMedia(NARROW).matches;
  const cluster = narrow
    ? dialRows(known, dials, { ...hands, ...hands.curve, change })
    : canvas(known, { ...hands, ...hands.curve, change });
  const undo = button("↶", "Undo", hands.undo);
  const redo = button("↷", "Redo", hands.redo);
  const against = menu("Compare with", ["as saved", ...setting.partitioners.slice(1)], "as saved", hands.settled);
  const setHand = (text: string) => {
    hand = text;
    if (hand && !own.parentElement) partitioner.append(own);
    if (hand) {
      partitioner.value = BY_HAND;
      scheduler.value = "planned";
      moves.clear(); // they are in the plan
    } else own.remove();
    scheduler.disabled = hand !== "";
  };
  const own = h("option", { value: BY_HAND }, BY_HAND);
  const put = (wish: Wish) => {
    values = wish.values;
    cluster.put(values);
    setHand(wish.hand);
    moves.clear();
    for (const [op, device] of wish.moves) moves.set(op, device);
    if (!wish.hand) partitioner.value = wish.partitioner;
    scheduler.value = wish.scheduler;
    transfers.value = wish.transfers;
    memory.value = wish.memory;
    against.value = wish.against || "as saved";
  };
  const reset = button("Reset", "", () => {
    put(saved(setting));
    hands.settled();
  });
  const others = race(setting.partitioners, hands.makespan, time, (name) => {
    partitioner.value = name;
    choose();
  });
  const { puzzle } = setting;
  const stars = h("strong.stars", { "aria-label": "Stars", hidden: !puzzle });
  const byHand = mover(setting.names, moves, time, hands.settled);
  const result = h("span.result", {}, "makespan ", makespan);
  const menus = [partitioner, scheduler, transfers, memory];
  const chosen = h(
    "div.row",
    {},
    ...(puzzle ? [stars] : menus),
    undo,
    redo,
    reset,
    ...(HAS_ADDRESS ? [copyButton()] : []),
    result,
    difference,
    ...(puzzle ? [] : [h("label.against", {}, "compare with ", against)]),
  );
  const figures = h("div.figures", {}, gap, path, facts);
  const more = h("details", {}, h("summary", {}, "Python"), h("pre", {}, text));
  const words = "This page computes by itself. Strategies beyond the list need placelab.";
  const still = setting.still ? `${words} ${setting.still} Ops stay on their devices.` : words;
  const said = h("p.said", {}, puzzle ? `${puzzle.task} ${goals(puzzle, time)}` : still);
  const below =
    narrow && !puzzle ? h("section.placelab.pl-live", { "aria-label": "Strategies" }, others.element) : null;
  const columns = h("div.columns", {}, cluster.element, ...(narrow || puzzle ? [] : [others.element]));
  const element = h("section.placelab.pl-live", { "aria-label": "Recompute" }, style(THEME_CSS, css), said);
  element.append(chosen, figures, error, byHand.element, columns, more);
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
      memory: memory.value,
      hand,
      against: against.value === "as saved" ? "" : against.value,
      values,
      moves,
    }),
    put,
    show(answer) {
      error.hidden = true;
      element.dataset.makespan = String(answer.makespan);
      element.dataset.placed = answer.placed ? String(answer.placed[0]) : "";
      unplaced = answer.placed !== null;
      makespan.textContent = answer.placed ? `of ${answer.placed.join(" of ")} ops` : time(answer.makespan);
      const { makespan: now, before } = answer;
      const equal = against.value === "as saved" ? "as saved" : "the same";
      difference.textContent = unplaced ? "" : now === before ? equal : `${compared(now, before)} from ${time(before)}`;
      facts.textContent = "";
      path.textContent = "";
      if (unplaced) gap.textContent = "";
      shown = answer.makespan;
      others.old(partitioner.value);
      cluster.share(transfers.value === "fair");
      text.textContent = answer.code;
    },
    tellBound(bound) {
      const text = bound === null ? "…" : aboveOptimum(shown, bound);
      gap.textContent = text === "proven optimal" ? text : `above optimum ${text}`;
      gap.dataset.bound = bound === null ? "" : String(bound);
      gap.title =
        bound === null
          ? "Follows on release"
          : `No schedule of this problem is faster than ${time(bound)}: a lower bound`;
    },
    tellPath(parts) {
      path.textContent = `path: ${pathText(parts, shown)}`;
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
    tellPeak: cluster.tellPeak,
    setHand,
    tellStars(earned) {
      stars.textContent = unplaced
        ? "not all ops are placed"
        : earned === null
          ? "no stars on a changed cluster"
          : "★".repeat(earned) + "☆".repeat(MOST - earned);
      stars.dataset.stars = String(earned ?? 0);
    },
  };
}

/** What stars are for. */
function goals({ heft, optimum }: Puzzle, time: (x: number) => string): string {
  const two = heft === null ? "" : `★★ at most ${time(heft)}, as HEFT; `;
  return `★ any plan within memory; ${two}★★★ ${time(optimum)}, which is proven to be the least. Drag bars, or press arrows.`;
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
