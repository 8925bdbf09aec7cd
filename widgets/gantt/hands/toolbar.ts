/** Playback, what is shown, and zoom. */
import { h, listen, set } from "../../shared/dom.ts";
import { count as grouped, type Units } from "../../shared/format.ts";
import { type Icon, icon } from "../../shared/icons.ts";
import { OF_JOBS, SENT, WAYS, type Way } from "../scene/colouring.ts";
import { DURATION, type Playhead, SPEEDS } from "../scene/playback.ts";
import { type Action, KEY_HELP } from "./keyboard.ts";
import type { Steps } from "./steps.ts";

const FINISH = "Local search from here; Stop keeps the best so far";
const FINISH_ALONE =
  "Best move after best move until none saves anything; what you do next ends it, Undo takes back one by one";

const EMPTY = "Take all ops off, to place them one by one: only those whose inputs are placed can be";
const PREDICT = "Choose a device for an op before you see when it would run";

/** Buttons that stay down. */
export type Toggle = "table" | "memory" | "links" | "axis" | "byHand" | "predict";

export interface Toolbar {
  readonly element: HTMLElement;
  /** `part`: of the plan, so that its end is not to be told. */
  show(head: Playhead, makespan: number, units: Units, part: boolean): void;
  /** Shows the transport's place among decisions, if it moves through these. */
  step(steps: Steps): void;
  press(toggle: Toggle, down: boolean): void;
  colour(way: string, more: readonly string[]): void;
  /** Offers to move bars by hand, or not. */
  offer(byHand: boolean): void;
  /** Puts the cursor into the box that finds ops. */
  find(): void;
}

export interface ToolbarEvents {
  act(action: Action): void;
  seek(fraction: number): void;
  speed(speed: number): void;
  /** The transport is to move through decisions, or through time. */
  turn(decisions: boolean): void;
  colour(way: string): void;
  find(text: string): void;
  table(): void;
  help(): void;
  /** Asks for help with moves by hand. */
  ask(what: "best" | "finish" | "empty"): void;
  /** Hides where an op would run until it is set. */
  predict(on: boolean): void;
}

const STEPS = 10_000; // positions of the scrubber

/** `alone`: no Python is there to work out what the colours of the ops need. */
export function toolbar(on: ToolbarEvents, alone: boolean): Toolbar {
  const act = (name: Icon, label: string, action: Action) => button(name, label, () => on.act(action));
  const player = playing(on);
  const ways = colours(on, alone);
  const search = finder(on);
  const axis = h(
    "button.word",
    { type: "button", title: "Keep the time axis as it is when the makespan changes (k)" },
    "hold axis",
  );
  listen(axis, "click", () => on.act("keep-axis"));
  const byHand = h("button.word", { type: "button", hidden: true, title: "Move bars by hand (b)" }, "✎ By hand");
  listen(byHand, "click", () => on.act("by-hand"));
  const word = (text: string, title: string, act: () => void) => {
    const made = h("button.word", { type: "button", title }, text);
    listen(made, "click", act);
    return made;
  };
  const predict: HTMLElement = word("Predict first", PREDICT, () =>
    on.predict(predict.getAttribute("aria-pressed") !== "true"),
  );
  const tools = h(
    "span.tools",
    { role: "group", "aria-label": "By hand" },
    word("Best move", "The single move of an op that saves most (h); Enter takes it", () => on.ask("best")),
    word("Finish for me", alone ? FINISH_ALONE : FINISH, () => on.ask("finish")),
    word("Empty", EMPTY, () => on.ask("empty")),
    predict,
  );
  const toggles: Record<Toggle, HTMLElement> = {
    ...{ axis, byHand, predict },
    memory: act("memory", "Memory in use over time (m)", "memory"),
    links: act("links", "Use of each link over time (l)", "links"),
    table: button("table", "Show as a table", on.table),
  };
  const help = h("button", { type: "button", title: KEY_HELP, "aria-label": "Keys" }, "?");
  listen(help, "click", on.help);
  const element = h(
    "div.toolbar",
    { role: "group", "aria-label": "Playback and zoom" },
    ...player.elements,
    h("span.gap"),
    byHand,
    tools,
    axis,
    ways,
    search,
    h("span.gap"),
    act("minus", "Zoom out (−)", "zoom-out"),
    act("plus", "Zoom in (+)", "zoom-in"),
    act("fit", "Fit the whole schedule (0)", "fit"),
    toggles.memory,
    toggles.links,
    toggles.table,
    help,
  );
  return {
    element,
    show: player.show,
    step: player.step,
    press: (toggle, down) => set(toggles[toggle], { "aria-pressed": String(down) }),
    colour: (way, more) => {
      for (const option of ways.options)
        option.hidden = option.disabled = OF_JOBS.includes(option.value as Way) && !more.includes(option.value);
      ways.value = way;
    },
    offer: (offered) => {
      byHand.hidden = !offered;
    },
    find: () => search.focus(),
  };
}

function playing(on: ToolbarEvents) {
  const act = (name: Icon, label: string, action: Action) => button(name, label, () => on.act(action));
  const play = act("play", "Play (Space)", "play");
  const speed = h("select", { title: "Playback speed", "aria-label": "Playback speed" });
  speed.append(...SPEEDS.map((s) => h("option", { value: s, selected: s === 1 }, `×${s}`)));
  listen(speed, "change", () => on.speed(Number(speed.value)));
  const range = { type: "range", min: 0, max: STEPS, step: 1 };
  const scrub = h("input.scrub", { ...range, "aria-label": "Time", title: "Time: drag to scrub" });
  listen(scrub, "input", () => on.seek(Number(scrub.value) / STEPS));
  const time = h("span.time"); // no live region: it changes sixty times a second
  const restart = act("restart", "Back to the start (r)", "restart");
  const back = act("stepBack", "Previous event (,)", "step-back");
  const next = act("step", "Next event (.)", "step");
  const ways = (["time", "decisions"] as const).map((way) => {
    const made = h("button.word", { type: "button", title: `Play ${way === "time" ? "the schedule" : way}` }, way);
    listen(made, "click", () => on.turn(way === "decisions"));
    return made;
  });
  const turn = h("span.turn", { role: "group", "aria-label": "What is played", hidden: true }, ...ways);
  let running = false;
  let decides = false; // what is shown are decisions
  const shownAs = (playing: boolean, what: string) => {
    running = playing;
    relabel(play, playing ? "pause" : "play", playing ? "Pause (Space)" : "Play (Space)");
    relabel(back, "stepBack", `Previous ${what} (,)`);
    relabel(next, "step", `Next ${what} (.)`);
  };
  return {
    elements: [turn, restart, back, play, next, speed, scrub, time],
    step({ on, place: { row, count, playing, open, waits } }: Steps) {
      turn.hidden = !open || !count;
      ways.forEach((button, i) => set(button, { "aria-pressed": String(on === (i === 1)) }));
      speed.hidden = on;
      play.disabled = on && waits;
      if (on !== decides || (on && playing !== running)) shownAs(on && playing, on ? "decision" : "event");
      decides = on;
      set(scrub, {
        "aria-label": on ? "Decision" : "Time",
        title: on ? "Decision: drag to go there" : "Time: drag to scrub",
      });
      if (!on) return;
      const text = `decision ${grouped(count && row + 1)} of ${grouped(count)}`;
      time.textContent = text;
      scrub.value = String(count > 1 ? Math.round((row / (count - 1)) * STEPS) : 0);
      scrub.setAttribute("aria-valuetext", text);
    },
    show(head: Playhead, makespan: number, units: Units, part: boolean) {
      if (decides) return;
      const text = part ? "plan so far" : `t = ${units.time(head.time)} of ${units.time(makespan)}`;
      if (time.textContent !== text) time.textContent = text;
      scrub.value = String(makespan ? Math.round((head.time / makespan) * STEPS) : 0);
      scrub.setAttribute("aria-valuetext", text);
      speed.value = String(head.speed);
      const rate = `Playback speed: one second of watching shows ${units.time((makespan / DURATION) * head.speed, 2)}`;
      if (speed.title !== rate) speed.title = rate;
      if (running !== head.playing) shownAs(head.playing, "event");
    },
  };
}

function colours(on: ToolbarEvents, alone: boolean): HTMLSelectElement {
  const menu = h("select", { title: "What the colours of the ops mean", "aria-label": "Colour by" });
  const offered = alone ? WAYS.filter((way: Way) => !SENT.includes(way)) : WAYS;
  menu.append(...offered.map((way) => h("option", { value: way }, `colour: ${way}`)));
  listen(menu, "change", () => on.colour(menu.value));
  return menu;
}

function finder(on: ToolbarEvents): HTMLInputElement {
  const title = "Find ops by a part of their name (/); Enter: next, Shift+Enter: previous, Esc: end";
  const box = h("input.find", { type: "search", placeholder: "find…", "aria-label": "Find ops", title });
  listen(box, "input", () => on.find(box.value));
  listen(box, "keydown", (event) => {
    if (event.key === "Escape") {
      box.value = "";
      on.find("");
    } else if (event.key === "Enter") on.act(event.shiftKey ? "find-previous" : "find-next");
    else return;
    event.preventDefault();
  });
  return box;
}

function button(name: Icon, label: string, click: () => void): HTMLButtonElement {
  const element = h("button", { type: "button" });
  relabel(element, name, label);
  listen(element, "click", click);
  return element;
}

function relabel(element: HTMLButtonElement, name: Icon, label: string): void {
  element.replaceChildren(icon(name));
  element.title = label;
  element.setAttribute("aria-label", label.replace(/ \(.*\)$/, ""));
}
