/** The drawer: what was clicked, with facts, bars to compare, and the chain to the root cause. Python says it, as data. */
import { COMPUTING } from "../../shared/current.ts";
import { h, listen, set } from "../../shared/dom.ts";
import { count, SI, type Units } from "../../shared/format.ts";
import { devicePalette } from "../../shared/palette.ts";
import type { CurveSoFar } from "../../shared/sensitivity.ts";
import { IDLE_LOOK, isAwaited } from "../scene/colours.ts";
import { IDLE_REASONS } from "../wire/decode.ts";
import type { Bars, Chain, Details, Step } from "../wire/details.ts";
import { curveOf } from "./curve.ts";
import { asText, folded } from "./telling.ts";

const NOTHING =
  "Click an op, a transfer, an idle gap, the name of a device, or a link's value: what it is, why it is there, why then. Shift+drag: what is in an area.";
/** What it says while it has nothing to tell: nothing is chosen, the kernel computes, or it would tell of the future. */
const SAID = {
  chosen: NOTHING,
  computed: "computing …",
  decided: "Not decided yet: where and when it runs is told once it is.",
};
type Nothing = keyof typeof SAID;
const LEAST = 96; // CSS pixels of the drawer
const STEP = 24; // by which a key moves its edge

export interface Drawer {
  readonly element: HTMLElement;
  /** Whether it is open. */
  readonly open: boolean;
  /** `nothing`: why there is nothing to tell, where that is so. */
  show(details: Details, nothing: Nothing): void;
  /** Draws the curve of a value, if that is what is shown. */
  draw(curve: CurveSoFar, units: Units): void;
  /** Whether what it says is said of another state than the newest; of the curve, too. */
  outdate(outdated: boolean): void;
  outdateCurve(outdated: boolean): void;
  reveal(open: boolean): void;
}

export interface DrawerEvents {
  /** A step of a chain was clicked. */
  go(step: Step): void;
  close(): void;
  /** Show only the area that was brushed. */
  zoom(): void;
  /** What a user is told. */
  say(text: string): void;
}

export function drawer(on: DrawerEvents): Drawer {
  const title = h("b");
  const note = h("span.note");
  const columns = h("div.columns");
  const copy = h("button", { type: "button", title: "Copy all of it as text" }, "Copy");
  const zoom = h("button", { type: "button", title: "Show only this span of time (z)", hidden: true }, "Zoom here");
  const close = h("button", { type: "button", title: "Close the details (i)", "aria-label": "Close the details" }, "✕");
  const grip = h("div.grip", {
    role: "separator",
    tabindex: 0,
    "aria-label": "Size of the details",
    title: "Drag to resize",
  });
  const head = h("header", {}, title, note, zoom, copy, close);
  const element = h("section.drawer", { "aria-label": "Details", hidden: true }, grip, head, columns);
  let shown: Details = {};
  let curve: CurveSoFar = {};
  let curveOutdated = false;
  let units = SI;
  const drawnCurve = () => {
    const drawn = curveOf(curve, shown.title!, units);
    drawn.classList.toggle(COMPUTING, curveOutdated);
    return drawn;
  };
  const redrawCurve = () => {
    if (shown.over) columns.querySelector(".over")!.replaceWith(drawnCurve());
  };
  listen(close, "click", on.close);
  listen(zoom, "click", on.zoom);
  listen(copy, "click", () => {
    const done = () => on.say("copied");
    navigator.clipboard?.writeText(asText(shown)).then(done, () => on.say("the browser does not let this page copy"));
  });
  resizing(grip, element);
  const show = (details: Details, nothing: Nothing) => {
    shown = details;
    title.replaceChildren(name(details.title ?? "Details"));
    note.textContent = details.note ?? "";
    copy.hidden = !details.title;
    zoom.hidden = !details.area;
    columns.replaceChildren(
      ...(details.title ? parts(details, on.go, details.over ? drawnCurve() : null) : [h("p", {}, SAID[nothing])]),
    );
  };
  show({}, "chosen");
  return {
    element,
    get open() {
      return !element.hidden;
    },
    show,
    draw(now, its) {
      [curve, units] = [now, its];
      redrawCurve();
    },
    outdate(outdated) {
      columns.classList.toggle(COMPUTING, outdated);
      copy.disabled = outdated;
    },
    outdateCurve(outdated) {
      curveOutdated = outdated;
      redrawCurve();
    },
    reveal(open) {
      element.hidden = !open;
    },
  };
}

function parts(
  { facts, bars, idle, chain }: Details,
  go: (step: Step) => void,
  curve: HTMLElement | null,
): HTMLElement[] {
  const lines = (facts ?? []).flatMap(([label, text]) => [h("dt", {}, label), h("dd", { title: text }, text)]);
  const made: HTMLElement[] = [h("div.facts", {}, h("dl", {}, ...lines))];
  if (curve) made.push(curve);
  for (const compared of [bars, idle])
    if (compared && (compared.rows.length || compared.foot)) made.push(barsOf(compared, compared === idle));
  if (chain?.rows.length) made.push(chainOf(chain, go));
  return made;
}

/** Bars of devices, or of reasons to be idle, which look as the gaps of the chart. */
function barsOf({ head, rows, foot, origin }: Bars, idle: boolean): HTMLElement {
  const drawn = rows.map(([number, label, length, text, note, chosen]) => {
    const name = h("span", { title: label }, label);
    const bar = h("i");
    const reason = IDLE_REASONS[number];
    if (idle && isAwaited(reason)) {
      bar.className = IDLE_LOOK[reason].pattern;
      bar.style.setProperty("--pl-mark", IDLE_LOOK[reason].colour);
    } else if (!idle && number >= 0) {
      name.className = "device";
      name.style.borderColor = `var(--pl-device-${number % devicePalette(false).length})`;
    }
    bar.style.width = `${Math.max(100 * length, 1)}%`;
    const whole = h("span.bar", {}, bar);
    return h("li", chosen ? { class: "chosen" } : {}, name, whole, h("b", {}, text), h("span.note", {}, note));
  });
  const about = origin ? h("span.note", {}, " (bars do not begin at 0)") : "";
  return h("div.compared", {}, h("h4", {}, head, about), h("ol", {}, ...drawn), h("p.note", {}, foot));
}

function chainOf(chain: Chain, go: (step: Step) => void): HTMLElement {
  const items = folded(chain).map((step) => {
    if (typeof step === "number") return h("li.left", {}, `⋮ ${count(step)} more`);
    const link = h("button", { type: "button", title: step[0] }, name(step[0]));
    listen(link, "click", () => go(step));
    const root = chain.root && step === chain.rows.at(-1);
    return h(
      "li",
      root ? { class: "root" } : {},
      link,
      h("span.note", { title: step[1] }, step[1]),
      h("span.when", {}, step[2]),
    );
  });
  return h(
    "div.chain",
    {},
    h("h4", {}, chain.head, h("span.note.when", {}, "begins")),
    h("ol", chain.root ? { class: "cause" } : {}, ...items),
  );
}

/** A name that is cut at its beginning where it is too long. */
function name(text: string): HTMLElement {
  return h("bdi", { dir: "ltr" }, text);
}

/** Lets the edge be dragged, and moved by arrows; the drawer is below the chart, or where the page is wide beside it. */
function resizing(grip: HTMLElement, element: HTMLElement): void {
  const beside = () => getComputedStyle(element.parentElement!).flexDirection === "row";
  const size = () => (beside() ? element.offsetWidth : element.offsetHeight);
  const all = () => (beside() ? element.parentElement!.offsetWidth : element.parentElement!.offsetHeight);
  const most = () => Math.max(all() - LEAST, LEAST);
  new ResizeObserver(() => {
    const orientation = beside() ? "vertical" : "horizontal"; // of the edge
    const range = { "aria-valuemin": LEAST, "aria-valuemax": most(), "aria-valuetext": `${size()} pixels` };
    set(grip, { "aria-orientation": orientation, "aria-valuenow": size(), ...range });
  }).observe(element);
  const resize = (to: number) =>
    element.style.setProperty(beside() ? "--wide" : "--high", `${Math.min(Math.max(to, LEAST), most())}px`);
  listen(grip, "pointerdown", (event) => {
    const began = beside() ? event.clientX : event.clientY;
    const before = size();
    grip.setPointerCapture(event.pointerId);
    const move = (at: PointerEvent) => resize(before + began - (beside() ? at.clientX : at.clientY));
    grip.onpointermove = move;
    grip.onpointerup = grip.onpointercancel = () => {
      grip.onpointermove = null;
    };
    event.preventDefault();
  });
  listen(grip, "keydown", (event) => {
    const by = { ArrowUp: STEP, ArrowLeft: STEP, ArrowDown: -STEP, ArrowRight: -STEP }[event.key];
    if (!by) return;
    resize(size() + by);
    event.preventDefault();
    event.stopPropagation();
  });
}
