/** The row of buttons: stepping, playing, prediction, ranks, and the strategy to compare with. */
import { h, listen, set } from "../shared/dom.ts";
import { count as grouped } from "../shared/format.ts";
import { type Icon, icon } from "../shared/icons.ts";
import type { Quiz } from "./steps.ts";

export interface ControlsState {
  readonly mode: string;
  readonly row: number;
  readonly count: number;
  readonly playing: boolean;
  readonly quiz: Quiz;
  /** Whether the strategy has ranks. */
  readonly ranks: boolean;
  /** Whether the chart shows the whole plan. */
  readonly whole: boolean;
  readonly choices: readonly string[];
  readonly against: string;
}

export interface ControlsEvents {
  go(row: number): void;
  play(): void;
  predict(): void;
  ranks(): void;
  whole(): void;
  against(name: string): void;
}

export interface Controls {
  readonly element: HTMLElement;
  show(state: ControlsState): void;
}

export const KEYS =
  "arrows: previous, next decision · Page ↑, ↓: ten at once · Home, End: first, last · Space: play · p: predict first · 1–9: predict a device · r: ranks · d: first difference";

export function controls(on: ControlsEvents): Controls {
  let at = { row: 0, count: 0 };
  const button = (name: Icon, label: string, act: () => void) => {
    const made = h("button", { type: "button", title: label, "aria-label": label }, icon(name));
    listen(made, "click", act);
    return made;
  };
  const toggle = (text: string, title: string, act: () => void) => {
    const made = h("button.toggle", { type: "button", title, "aria-pressed": "false" }, text);
    listen(made, "click", act);
    return made;
  };
  const first = button("restart", "First (Home)", () => on.go(0));
  const back = button("stepBack", "Previous (←)", () => on.go(at.row - 1));
  const play = button("play", "Play (Space)", on.play);
  const next = button("step", "Next (→)", () => on.go(at.row + 1));
  const slider = h("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": "Step" });
  listen(slider, "input", () => on.go(Number(slider.value)));
  const place = h("span.place");
  const predict = toggle("Predict first", "Guess each device before it is shown (p)", on.predict);
  const ranks = toggle("Ranks", "How ranks add up, from the exits backwards (r)", on.ranks);
  const whole = toggle("Whole plan", "The chart shows everything, not only what is decided so far", on.whole);
  const against = h("select", {
    "aria-label": "Compare with",
    title: "Compare with the decisions of another strategy",
  });
  listen(against, "change", () => on.against(against.value));
  const help = h("span.help", { title: KEYS, role: "img", "aria-label": `Keys: ${KEYS}` }, "?");
  const element = h(
    "div.controls",
    { role: "toolbar", "aria-label": "Steps" },
    h("span.steps", {}, first, back, play, next, slider), // beside a chart, its transport has them
    place,
    predict,
    ranks,
    whole,
    against,
    help,
  );
  return {
    element,
    show({ mode, row, count, playing, quiz, ranks: has, whole: all, choices, against: name }) {
      at = { row, count };
      const alone = mode === "ranks";
      set(slider, { max: Math.max(count - 1, 0), "aria-valuetext": `${row + 1} of ${count}` });
      slider.value = String(row);
      place.textContent = count ? `${grouped(row + 1)} / ${grouped(count)}` : "";
      first.disabled = back.disabled = row <= 0;
      next.disabled = row >= count - 1;
      play.disabled = !count || (quiz.on && !alone);
      play.replaceChildren(icon(playing ? "pause" : "play"));
      set(play, {
        "aria-label": playing ? "Pause (Space)" : "Play (Space)",
        title: playing ? "Pause (Space)" : "Play (Space)",
      });
      set(predict, { "aria-pressed": String(quiz.on) });
      predict.disabled = alone || !count;
      predict.textContent = quiz.on ? `Predict ${quiz.right} / ${quiz.guesses}` : "Predict first";
      set(ranks, { "aria-pressed": String(alone) });
      set(whole, { "aria-pressed": String(all) });
      ranks.disabled = !has;
      ranks.title = has ? "How ranks add up, from the exits backwards (r)" : "This strategy has no ranks that add up";
      against.disabled = alone || !count;
      against.hidden = !choices.length;
      const names = ["", ...choices];
      if (names.join("\n") !== Array.from(against.options, ({ value }) => value).join("\n"))
        against.replaceChildren(
          ...names.map((value) => h("option", { value }, value ? `against ${value}` : "against …")),
        );
      against.value = name;
    },
  };
}
