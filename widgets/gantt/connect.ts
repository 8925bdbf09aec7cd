/** Connects the model's traits with the chart. */

import { COMPUTED, type Computed, HELD, Waiting } from "../shared/alone.ts";
import { publish, subscribe, TOGETHER, type Together } from "../shared/bus.ts";
import type { HandCommand, Of } from "../shared/commands.ts";
import { follow } from "../shared/current.ts";
import { unitsOf } from "../shared/format.ts";
import { type Model, overlaid } from "../shared/model.ts";
import type { Save, Wanted } from "./hands/picture.ts";
import type { Picked } from "./hands/pointing.ts";
import { decodeKept } from "./scene/kept.ts";
import { chart } from "./scene/scene.ts";
import { GanttView } from "./view.ts";
import { decodeNames } from "./wire/decode.ts";
import { decodeMemory } from "./wire/memory.ts";
import type { GanttTraits, Hand, LaneChoice } from "./wire/traits.ts";

const SAME = 2_000; // ms after which a kernel that is back has no other schedule than the page
const ANSWERED = ["step", "set", "empty"]; // commands that always are
const OUTDATED = { incoming: [], candidates: [], proof: [], detail: "", details: {}, stale: false }; // what was said of the kernel's schedule

interface Context {
  readonly model: Model<GanttTraits, HandCommand>;
  readonly el: HTMLElement;
  /** There is no Python to ask. */
  readonly alone?: boolean;
  /** Saves the chart as a picture, which only Python asks for: a page alone does without that code. */
  readonly save?: Save;
}

export function render({ model: python, el, alone = false, save }: Context): () => void {
  const { model, asked: askedPython, end } = withComputed(python, el);
  const send = <K extends keyof GanttTraits>(name: K, value: GanttTraits[K]) => {
    model.set(name, value);
    model.save_changes();
  };
  const tell = {
    selected: ({ op, gap, transfer, lane, area }: Picked) => {
      model.set("area", area ? [area.from, area.to, ...area.devices] : []);
      model.set("gap", gap);
      model.set("transfer", transfer);
      model.set("lane", lane);
      model.set("value", {});
      send("selection", op);
    },
    drawer: (open: boolean) => send("drawer", open),
    proof: (shown: boolean) => send("proof_shown", shown),
    memory: (shown: boolean) => send("memory_shown", shown),
    links: (shown: boolean) => send("links_shown", shown),
    axis: (kept: boolean) => send("keep_axis", kept),
    colour: (way: string) => send("colour_by", way),
    byHand: (on: boolean) => send("by_hand", on),
    arranged: (choice: LaneChoice) => send("lanes", choice),
    predicts: (on: boolean) => send("predicts", on),
    hold: (at: Of<"hold">) => {
      publish(el, HELD, { ...at, predicts: model.get("predicts") });
      send("hold", at);
    },
    say: (what: HandCommand) => {
      if (ANSWERED.includes(what.kind)) askedPython();
      publish(el, HELD, { ...what, predicts: model.get("predicts") });
      model.send(what);
    },
  };
  const view = new GanttView(tell, alone);
  el.append(view.element);
  const callbacks = connections(model, view, el);
  for (const callback of new Set(callbacks.map(([, callback]) => callback))) callback();
  for (const [name, callback] of callbacks) model.on(`change:${name}`, callback);
  const states = [
    outdating(model, "details", (is) => view.outdateDetails(is)),
    outdating(model, "curve", (is) => view.outdateCurve(is)),
  ];
  const stopHearing = subscribe<Together>(el, TOGETHER, (selected) => view.gather(selected));
  const asked = (message: unknown) => save && view.savePicture(save, message as Wanted);
  model.on("msg:custom", asked);
  return () => {
    end();
    for (const stop of [...states, stopHearing]) stop();
    model.off("msg:custom", asked);
    for (const [name, callback] of callbacks) model.off(`change:${name}`, callback);
    view.dispose();
  };
}

/**
 * The model, in which what the page computes stands before what the kernel has sent, as long as that does not answer; then the
 * kernel's next schedule takes its place.
 */
function withComputed(
  python: Model<GanttTraits, HandCommand>,
  el: HTMLElement,
): { model: Model<GanttTraits, HandCommand>; asked(): void; end(): void } {
  const { model, put } = overlaid(python);
  const waiting = new Waiting(el);
  let leaving = 0;
  const leave = () => {
    clearTimeout(leaving);
    leaving = 0;
    put({});
  };
  const answered = () => {
    waiting.answered();
    if (leaving) leave();
  };
  const stop = subscribe<Computed | null>(el, COMPUTED, (computed) => {
    clearTimeout(leaving);
    leaving = computed ? 0 : window.setTimeout(leave, SAME);
    if (!computed) return;
    const { schedule, memory, hand, tray, tray_more, decided } = computed;
    const candidates = (hand as Partial<Hand>).ghosts ?? [];
    const waiting = { tray: tray as GanttTraits["tray"], tray_more, decided };
    put({ ...OUTDATED, ...waiting, schedule, memory, hand, candidates: [...candidates] });
  });
  const asked = () => waiting.asked();
  const events = [
    ["change:hold", asked],
    ["change:hand", answered],
    ["change:decided", answered],
    ["change:schedule", answered],
  ] as const;
  for (const [event, callback] of events) python.on(event, callback);
  const end = () => {
    stop();
    waiting.end();
    clearTimeout(leaving);
    for (const [event, callback] of events) python.off(event, callback);
  };
  return { model, asked, end };
}

/** Tells whether what a trait says is said of another state than the newest. */
function outdating(
  model: Model<GanttTraits, HandCommand>,
  name: "details" | "curve",
  tell: (outdated: boolean) => void,
): () => void {
  const { look, end } = follow(model.whole, () => model.get(name)?.of ?? "", tell);
  look();
  model.on(`change:${name}`, look);
  return () => {
    end();
    model.off(`change:${name}`, look);
  };
}

/** What to do when a trait changes, and at first for all of them, in this order. */
function connections(
  model: Model<GanttTraits, HandCommand>,
  view: GanttView,
  el: HTMLElement,
): [keyof GanttTraits, () => void][] {
  /** A message that cannot be read leaves the previous schedule on show. */
  const read = (what: () => void) => () => {
    try {
      what();
    } catch (error) {
      view.warn(error instanceof Error ? error.message : String(error));
    }
  };
  const labels = () =>
    view.label({
      names: decodeNames(model.get("names")),
      kinds: bytes(model.get("kinds")),
      kindNames: model.get("kind_names"),
      devices: model.get("devices"),
      hosts: model.get("hosts") ?? [],
      units: unitsOf(model.get("unitless")),
      shared: model.get("shared_links") ?? [],
    });
  const names = () => {
    labels();
    view.restart();
  };
  const schedule = read(() => {
    const message = model.get("schedule");
    if (message.byteLength) view.show(chart(message));
  });
  const height = () => {
    el.classList.toggle("pl-gantt-fill", model.get("height") < 0);
    view.resize(model.get("height"));
  };
  const trayed = () => view.showTray(model.get("tray") ?? [], model.get("tray_more") ?? 0);
  const colours = () =>
    view.colourBy(
      model.get("colour_by"),
      bytes(model.get("colours")),
      model.get("colour_names"),
      model.get("colour_ways"),
    );
  return [
    ["names", names],
    ["kinds", labels],
    ["kind_names", labels],
    ["devices", labels],
    ["hosts", labels],
    ["lanes", () => view.arrange(model.get("lanes") ?? {})],
    ["unitless", labels],
    ["shared_links", labels],
    ["embedded", () => view.embed(model.get("embedded"))],
    ["numbers", () => view.strip.show(model.get("numbers"))],
    ["warning", () => view.warn(model.get("warning"))],
    ["detail", () => view.explain(model.get("detail"))],
    ["details", () => view.tell(model.get("details") ?? {})],
    ["value", () => view.turnTo(Object.keys(model.get("value") ?? {}).length > 0)],
    ["curve", () => view.drawCurve(model.get("curve") ?? {})],
    ["proof", () => view.showProof(model.get("proof") ?? [])],
    ["proof_shown", () => view.showProofLane(model.get("proof_shown") ?? false)],
    ["drawer", () => view.openDrawer(model.get("drawer") ?? false)],
    ["stale", () => view.showStale(model.get("stale"))],
    ["height", height],
    ["schedule", schedule],
    ["kept", read(() => view.showKept(decodeKept(model.get("kept"))))],
    ["keep_axis", () => view.keepAxis(model.get("keep_axis"))],
    ["dragging", () => view.dragAxis(model.get("dragging") ?? false)],
    ["memory", read(() => view.showMemory(decodeMemory(model.get("memory"))))],
    ["memory_shown", () => view.showLanes(model.get("memory_shown"))],
    ["links_shown", () => view.showLinks(model.get("links_shown"))],
    ["colour_by", colours],
    ["colours", colours],
    ["colour_names", colours],
    ["colour_ways", colours],
    ["can_hand", () => view.offerHand(model.get("can_hand") ?? false)],
    ["by_hand", () => view.moveByHand(model.get("by_hand") ?? false)],
    ["tray", trayed],
    ["tray_more", trayed],
    ["predicts", () => view.predicts(model.get("predicts") ?? false)],
    ["hand", () => view.hear(model.get("hand") ?? {})],
    ["selection", () => view.showSelection(model.get("selection"))],
    ["decided", () => view.showDecided(bytes(model.get("decided") ?? new DataView(new ArrayBuffer(0))))],
    ["incoming", () => view.showIncoming(model.get("incoming"))],
    ["mark", () => view.mark(model.get("mark") ?? {})],
    ["candidates", () => view.showCandidates(model.get("candidates"))],
  ];
}

function bytes({ buffer, byteOffset, byteLength }: DataView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
