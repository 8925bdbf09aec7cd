/** What the chart says in words: warning, legend, the line a screen reader hears, the reason for the selection. */
import { h } from "../shared/dom.js";
import { count, seconds } from "../shared/format.js";
import { opLine } from "./describe.js";
import type { Chart, Labels } from "./scene.js";

export interface Words {
  readonly warning: HTMLElement;
  readonly legend: HTMLElement;
  readonly status: HTMLElement;
  readonly detail: HTMLElement;
}

export function words(): Words {
  return {
    warning: h("div.warning", { role: "status", hidden: true }),
    legend: h("div.legend"),
    status: h("div.status", { role: "status", "aria-live": "polite" }),
    detail: h("div.detail", { hidden: true }),
  };
}

/** Sets the text of `element` and hides it when there is none. */
export function say(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = text === "";
}

/** The selected op and the makespan; without a selection, what the schedule is. */
export function summary(chart: Chart, labels: Labels, selection: number): string {
  const { nOps, nDevices, nTransfers, makespan } = chart.columns;
  if (selection >= 0 && selection < nOps) return `${opLine(chart, labels, selection)} · makespan ${seconds(makespan)}`;
  return `${many(nOps, "op")} on ${many(nDevices, "device")} · ${many(nTransfers, "transfer")} · makespan ${seconds(makespan)}`;
}

function many(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? "" : "s"}`;
}
