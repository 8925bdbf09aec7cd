/** The devices that a decision looked at: a row each with a bar, the score and the winner's mark. */
import { h, listen, set } from "../shared/dom.ts";
import { align } from "./digits.ts";
import type { Decision } from "./page.ts";
import type { Candidate, Times } from "./traits.ts";

const NUMBERED = 9; // devices that a key chooses

export interface CandidatesView {
  readonly devices: readonly string[];
  readonly unit: string;
  readonly times: Times;
  /** Whether score and winner are still to be guessed; then a click on a device calls `guess`. */
  readonly hidden: boolean;
  readonly guess: (device: number) => void;
  /** The device that was guessed, -1 for none. */
  readonly guessed: number;
}

/** Starts and finishes of each device, in seconds; NaN where a device was no candidate, empty where scores are no times. */
export function spans(decision: Decision, times: Times): { start: number; finish: number }[] {
  if (!times) return [];
  return Array.from(decision.score, (score, d) => {
    const took = decision.took[d]!;
    return times === "start" ? { start: score, finish: score + took } : { start: score - took, finish: score };
  });
}

/** Ghost bars of a decision: a device each that the op could have run on. */
export function ghosts(decision: Decision & { op: number }, times: Times): Candidate[] {
  return spans(decision, times)
    .map((span, device) => ({ device, ...span, op: decision.op, chosen: device === decision.device }))
    .filter(({ start }) => !Number.isNaN(start));
}

/** Where bars begin and end, as shares of the width: times on one axis, other scores from 0 on; NaN for none. */
export function bars(decision: Decision, times: Times): [number, number][] {
  const found = spans(decision, times);
  if (!found.length) {
    const largest = Math.max(...decision.score.filter((score) => !Number.isNaN(score)), 0);
    return Array.from(decision.score, (score) => [0, largest > 0 ? score / largest : score]);
  }
  const seen = found.filter(({ start }) => !Number.isNaN(start));
  const from = Math.min(...seen.map(({ start }) => start));
  const length = Math.max(...seen.map(({ finish }) => finish)) - from || 1;
  return found.map(({ start, finish }) => [(start - from) / length, (finish - from) / length]);
}

/** A list of the candidates of one decision. */
export function candidates(decision: Decision, view: CandidatesView): HTMLElement {
  const written = align(decision.score, decision.device, view.unit);
  const widths = bars(decision, view.times);
  const list = h("ol.candidates", {
    "aria-label": "Devices that were looked at",
    "data-hidden": view.hidden && "true",
  });
  let passed = 0;
  view.devices.forEach((device, d) => {
    if (Number.isNaN(decision.score[d])) passed++;
    else list.append(candidate(d, device));
  });
  if (passed) list.append(h("li.passed", {}, `${passed} ${passed > 1 ? "devices were" : "device was"} no candidate`));
  return list;

  function candidate(d: number, device: string): HTMLElement {
    const name = h("span.device", { title: device }, device);
    if (view.hidden) {
      const key = d < NUMBERED ? h("kbd", {}, String(d + 1)) : "";
      const button = h("button", { type: "button", "data-device": d }, key, name);
      listen(button, "click", () => view.guess(d));
      return h("li", {}, button);
    }
    const chosen = d === decision.device;
    const { same, differs, unit } = written[d]!;
    const [from, to] = widths[d]!;
    const bar = h("span.bar", { "aria-hidden": "true" }, h("i"));
    set(bar.firstElementChild!, { style: `left:${100 * from}%;width:${100 * (to - from)}%` });
    const mark = chosen ? "✓" : d === view.guessed ? "✗" : "";
    return h(
      "li",
      {
        "data-chosen": chosen,
        "data-guessed": d === view.guessed,
        "aria-label": `${device}: ${same}${differs} ${unit}${chosen ? ", chosen" : ""}`,
      },
      h("span.mark", {}, mark),
      name,
      bar,
      h("span.score", {}, same, h("b", {}, differs), h("small", {}, ` ${unit}`)),
    );
  }
}
