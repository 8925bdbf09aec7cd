/** Playback and zoom controls. */
import { h, listen, set } from "../shared/dom.js";
import { seconds } from "../shared/format.js";
import { icon, type Icon } from "../shared/icons.js";
import { KEY_HELP, type Action } from "./keyboard.js";
import { DURATION, SPEEDS, type Playhead } from "./playback.js";

export interface Toolbar {
  readonly element: HTMLElement;
  show(head: Playhead, makespan: number): void;
  showTable(open: boolean): void;
  showMemory(shown: boolean): void;
}

export interface ToolbarEvents {
  act(action: Action): void;
  seek(fraction: number): void;
  speed(speed: number): void;
  table(): void;
  help(): void;
}

const STEPS = 10_000; // positions of the scrubber

export function toolbar(on: ToolbarEvents): Toolbar {
  const act = (name: Icon, label: string, action: Action) => button(name, label, () => on.act(action));
  const play = act("play", "Play (Space)", "play");
  const speed = h("select", { title: "Playback speed", "aria-label": "Playback speed" });
  speed.append(...SPEEDS.map((s) => h("option", { value: s, selected: s === 1 }, `×${s}`)));
  listen(speed, "change", () => on.speed(Number(speed.value)));
  const scrub = h("input", {
    type: "range",
    class: "scrub",
    min: 0,
    max: STEPS,
    step: 1,
    "aria-label": "Time",
    title: "Time: drag to scrub",
  });
  listen(scrub, "input", () => on.seek(Number(scrub.value) / STEPS));
  const time = h("span.time"); // no live region: it changes sixty times a second
  const table = button("table", "Show as a table", on.table);
  const memory = act("memory", "Memory in use over time (m)", "memory");
  const help = h("button", { type: "button", title: KEY_HELP, "aria-label": "Keys" }, "?");
  listen(help, "click", on.help);
  const element = h("div.toolbar", { role: "group", "aria-label": "Playback and zoom" },
    act("restart", "Back to the start (r)", "restart"),
    act("stepBack", "Previous event (,)", "step-back"),
    play,
    act("step", "Next event (.)", "step"),
    speed,
    scrub,
    time,
    h("span.gap"),
    act("minus", "Zoom out (−)", "zoom-out"),
    act("plus", "Zoom in (+)", "zoom-in"),
    act("fit", "Fit the whole schedule (0)", "fit"),
    memory,
    table,
    help,
  );
  let playing = false;
  return {
    element,
    show(head, makespan) {
      const text = `t = ${seconds(head.time)} of ${seconds(makespan)}`;
      if (time.textContent !== text) time.textContent = text;
      scrub.value = String(makespan ? Math.round((head.time / makespan) * STEPS) : 0);
      scrub.setAttribute("aria-valuetext", text);
      speed.value = String(head.speed);
      speed.title = `Playback speed: one second of watching shows ${seconds((makespan / DURATION) * head.speed, 2)}`;
      if (playing !== head.playing) {
        playing = head.playing;
        relabel(play, playing ? "pause" : "play", playing ? "Pause (Space)" : "Play (Space)");
      }
    },
    showTable: (open) => set(table, { "aria-pressed": String(open) }),
    showMemory: (shown) => set(memory, { "aria-pressed": String(shown) }),
  };
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
