/** A page that recomputes: the kernels in the browser, and controls above the chart. Written by placelab/app/export.py. */
import type { HandCommand } from "../shared/commands.ts";
import "../gantt/page.ts"; // shows the schedule of the page, and tells of its model
import type { Hand } from "../gantt/wire/traits.ts";
import { bestMoves } from "../kernels/best.ts";
import { bestBound } from "../kernels/bounds.ts";
import * as plans from "../kernels/hand.ts";
import { partOf } from "../kernels/part.ts";
import { place } from "../kernels/place.ts";
import { decodeProblem, problemOf, withMemory } from "../kernels/problem.ts";
import { simulate } from "../kernels/simulate.ts";
import { inWholeCosts } from "../kernels/whole.ts";
import { packMemory, packRun } from "../kernels/wire.ts";
import type { EngineHost } from "../shared/alone.ts";
import { type Apart, type Ask, here, inWorker, type Notices, said, serve } from "../shared/apart.ts";
import { subscribe } from "../shared/bus.ts";
import { h } from "../shared/dom.ts";
import type { Model } from "../shared/model.ts";
import { CODE, unzipped } from "../shared/packed.ts";
import { HAS_ADDRESS, type Page, read, type Wish, written } from "./address.ts";
import { alone } from "./alone.ts";
import type { Known } from "./canvas.ts";
import { PAIRS, type Pair } from "./curve.ts";
import { dialsOf, timedOf } from "./dials.ts";
import { type Drawn, Engine, type Picture, problemOfWish, type Start } from "./engine.ts";
import { graphOf } from "./file.ts";
import { isPart } from "./lanes.ts";
import { panel } from "./panel.ts";
import { Past } from "./past.ts";
import type { LiveTraits } from "./traits.ts";
import type { Tray } from "./tray.ts";
import { columnsOf, type Values } from "./values.ts";

const SAVED = ["schedule", "kept", "memory", "numbers"] as const; // traits of the chart that a change replaces
const MANY = 1_000; // ops; what takes longer than a picture of as many is computed by a second worker
const REST = 150; // ms without a change, after which what takes longer is computed
const LONG = 10_000; // ms without a picture, after which a sentence says so: a browser may end a worker, and tells nobody
const AWAITED = "#file"; // the address of a page that another one sends a graph
const SLOW = "This takes long. If nothing comes, load the page again: its address keeps what you have found.";
const NOTHING = new DataView(new ArrayBuffer(0));

/** Shows the saved schedule, or waits for the graph of a reader's own that the page around this one has been promised. */
function begin(model: Model<LiveTraits>): void {
  if (location.hash !== AWAITED || parent === window) return void start(model, decodeProblem(model.get("problem")));
  addEventListener("message", function hear({ source, data }: MessageEvent) {
    if (source !== parent || typeof data?.graph !== "string") return;
    removeEventListener("message", hear);
    setAddress(`#${data.state ?? ""}`);
    try {
      void start(model, withGraph(model, data.graph));
    } catch (error) {
      document.querySelector("main")!.before(h("p", { role: "alert" }, said(error)));
    }
  });
  parent.postMessage({ placelab: AWAITED }, "*");
}

/** The problem of another graph on the devices of the page, placed by HEFT; chart and title show it. */
function withGraph(model: Model<LiveTraits>, text: string): ReturnType<typeof decodeProblem> {
  const saved = decodeProblem(model.get("problem"));
  const setting = { ...model.get("live"), partitioner: "heft", scheduler: "planned", still: "" };
  const given = graphOf(text, saved.shape, saved.costs, setting);
  const problem = problemOf(given.shape, given.costs);
  const placed = place(problem, setting.partitioner);
  model.set("live", setting);
  model.set("names", new DataView(new TextEncoder().encode(given.names.join("\n")).buffer));
  model.set("kinds", new DataView(given.kinds.buffer as ArrayBuffer));
  model.set("kind_names", given.kindNames);
  model.set("memory", NOTHING);
  model.set("schedule", packRun(problem, simulate(problem, placed, setting.scheduler)));
  const title = `${given.title} · ${setting.names.length} devices`;
  document.title = title;
  document.querySelector("h1")!.textContent = title;
  return { shape: given.shape, costs: given.costs, placed };
}

/** Puts the controls above the chart whose model this is, and lets the chart follow them. */
async function start(model: Model<LiveTraits>, given: Omit<Start, "setting" | "names" | "unitless">): Promise<void> {
  const setting = model.get("live");
  const { shape, costs } = given;
  const names = new TextDecoder().decode(model.get("names")).split("\n");
  const unitless = model.get("unitless");
  const dials = dialsOf(shape, costs, setting);
  const columns = columnsOf(shape, costs);
  const page: Page = { setting, dials, saved: columns, group: shape.group };
  const past = new Past("#");
  let begun = ""; // the plan with which moves by hand began, which earns no stars
  let beginning = false; // one is awaited
  let frame = 0;
  let busy = false; // a picture is awaited …
  let again = false; // … and a newer one is wanted
  let heard = 0; // words of the chart that are not answered
  let shownPlans = 0; // by hand, of the engine
  let words = ""; // below the chart, once it shows what they are about
  let whole = true; // the hand drags nothing
  let shown: Shown = { device: new Int32Array(shape.nOps), makespan: Number.NaN, stars: null };
  let bound = { of: "", time: 0 as number | null }; // the newest
  let pictures = 0;
  let answered: Promise<unknown> = Promise.resolve(); // once what was asked of a hand that rests is
  let picking = 0; // timers of what follows when the hand rests
  let resting = 0;
  const known: Known = { setting, saved: columns, unitless, timed: timedOf(shape, costs) };

  const { ask, apart } = await engineFor(
    { ...given, setting, names, unitless },
    {
      show(text: string, complete: boolean) {
        shownPlans++;
        controls.setHand(text);
        if (complete) settled();
        else changed();
      },
      tell(held: Partial<Hand>) {
        model.set("candidates", held.ghosts ?? []);
        model.set("hand", held);
      },
      say(text: string) {
        words = text;
        mark();
      },
    },
  );
  let second: Promise<Ask<Engine>> | null = null;
  /** What takes longer than a picture, so that none waits for it; the answer may come after newer pictures. */
  const aside: Ask<Engine> = async (...question) => {
    const silent = { show() {}, tell() {}, say() {} };
    const another = () => engineFor({ ...given, setting, names: [], unitless }, silent);
    if (apart && shape.nOps > MANY) second ??= another().then((it) => (it.apart ? it.ask : ask));
    return ((await second) ?? ask)(...question);
  };
  const curve = {
    makespan: (values: Values, pair: Pair | null) => aside("makespanAt", controls.wish(), values, pair),
    others,
  };
  const makespan = (name: string, scheduler: string, asSaved: boolean) =>
    aside("makespanOf", controls.wish(), name, scheduler, asSaved);
  const controls = panel(known, dials, { changed, settled, undo, redo, makespan, curve });
  controls.element.dataset.apart = String(apart);
  controls.element.ariaBusy = "true";
  const { outline, saved } = await ask("first", model.get("schedule").byteLength === 0);
  if (saved) {
    model.set("memory", saved.memory);
    model.set("schedule", saved.schedule);
  }
  const unchanged = new Map(SAVED.map((name) => [name, model.get(name)]));

  /** Makes a plan by hand of what is shown; on leaving, puts back what is held. */
  async function switched(): Promise<void> {
    if (!model.get("by_hand")) return void ask("putBack");
    if (controls.wish().hand) return;
    beginning = true;
    begun = await ask("planByHand", past.now === "#" && !past.canUndo);
    beginning = false;
    controls.setHand(begun);
    settled();
  }

  function changed(): void {
    if (busy) again = true;
    else if (!frame) frame = requestAnimationFrame(follow); // the newest change wins
    mark();
  }

  /** Says whether something is awaited, and, when nothing is, what there is to be said. */
  function mark(): void {
    controls.element.ariaBusy = String(busy || frame > 0 || heard > 0);
    if (busy || frame || !words) return;
    model.set("detail", words);
    words = "";
  }

  /** Asks for the picture of what is wished now, and shows it; until it comes, newer wishes wait, of which the last one counts. */
  async function follow(): Promise<void> {
    frame = 0;
    again = false;
    busy = true;
    const wish = controls.wish();
    if (!wish.hand && model.get("by_hand") && !beginning) model.set("by_hand", false); // another strategy was chosen
    const final = whole;
    whole = false;
    const late = setTimeout(() => controls.refuse(SLOW), LONG); // what comes after all takes its place
    try {
      show(wish, await ask("picture", wish, final, model.get("memory_shown"), shownPlans));
      void later(wish, final);
    } catch (error) {
      controls.refuse(said(error));
    } finally {
      clearTimeout(late);
    }
    busy = false;
    if (final && setting.puzzle) told(); // what the change has earned
    if (final) controls.compare();
    if (again) changed();
    mark();
  }

  /** Takes what the chart says of a bar in a hand. */
  async function hear(told: HandCommand): Promise<void> {
    heard++;
    mark();
    try {
      await ask("hear", { ...told, predicts: model.get("predicts") }, controls.wish(), shownPlans);
    } finally {
      heard--;
      mark();
    }
  }

  function show(wish: Wish, { makespan, before, code, device, stars, drawn, waits, decided }: Picture): void {
    shown = { device, makespan, stars };
    const waiting = waits.tray.length + waits.tray_more;
    model.set("decided", decided);
    if (drawn) draw(drawn);
    else for (const [name, value] of unchanged) model.set(name, value as never);
    if (!("grip" in model.get("hand"))) fillTray(waits); // what is held has its chip until it is set
    const placed = waiting ? ([names.length - waiting, names.length] as const) : null;
    controls.show({ makespan, before, code, placed });
    if (setting.puzzle) controls.tellStars(stars);
    if (setting.allowed !== undefined && !waiting)
      controls.tellBound(bound.of === problemOfWish(wish) ? bound.time : null);
    pick(wish);
  }

  function fillTray({ tray, tray_more }: Tray): void {
    model.set("tray_more", tray_more);
    model.set("tray", tray);
  }

  /** What else was said of the schedule that was shown holds no more. */
  function draw({ schedule, kept, memory }: Drawn): void {
    model.set("memory", memory);
    model.set("numbers", []);
    model.set("kept", kept ?? outline);
    model.set("schedule", schedule);
  }

  /** What takes longer, once the hand rests; a lower bound after the change that is complete. */
  async function later(wish: Wish, final: boolean): Promise<void> {
    const picture = ++pictures;
    clearTimeout(resting);
    if (isPart(wish.hand)) return; // of a part there is nothing to say
    const rests = new Promise((done) => {
      resting = window.setTimeout(done, REST);
    });
    await rests; // of an older picture for ever
    await answered; // of a slow machine, so that no questions pile up
    if (picture !== pictures) return;
    const asked = aside("rest", wish);
    answered = asked.catch(() => null);
    const { path, moved, short, peak } = await asked;
    if (picture !== pictures) return; // it is of an older one
    controls.tellPath(path);
    controls.tellMoved(moved, short);
    controls.tellPeak(peak);
    const of = problemOfWish(wish);
    if (!final || setting.allowed === undefined || bound.of === of) return;
    bound = { of, time: await aside("bound", wish) };
    if (picture === pictures) controls.tellBound(bound.time);
  }

  function others(): Pair[] {
    const { partitioner, scheduler } = controls.wish();
    return PAIRS.filter(
      ([p, s]) => setting.partitioners.includes(p) && !setting.puzzle && (p !== partitioner || s !== scheduler),
    );
  }

  /** Offers to move the op that is selected in the chart. */
  function pick({ hand }: Wish): void {
    const op = model.get("selection");
    clearTimeout(picking);
    if (op < 0 || hand || setting.partitioners.length === 1) return controls.offer(null); // some ops may not run everywhere
    controls.offer({ op, name: names[op] ?? `op ${op}`, device: shown.device[op]! });
    picking = window.setTimeout(async () => {
      const makespans = await aside("makespansOf", controls.wish(), op);
      if (op === model.get("selection")) controls.tellOf(makespans);
    }, REST);
  }

  /** A change is whole: it can be undone, the address has it, and the other strategies follow. */
  function settled(): void {
    if (past.add(written(controls.wish(), page))) tell();
    whole = true;
    changed();
  }

  function tell(): void {
    controls.reach(past.canUndo, past.canRedo);
    setAddress(past.now);
    if (!setting.puzzle) told(); // else once it is known what that earns
  }

  /** Tells the page that embeds this one. */
  function told(): void {
    const { makespan } = shown;
    const stars = controls.wish().hand !== begun ? shown.stars : null;
    if (parent !== window) parent.postMessage({ placelab: past.now, stars, makespan }, "*");
  }

  function undo(): void {
    goTo(past.undo());
  }

  function redo(): void {
    goTo(past.redo());
  }

  function goTo(state: string | null): void {
    if (state === null) return;
    put(read(state, page));
    tell();
    whole = true;
    changed();
  }

  function put(wish: Wish): void {
    controls.put(wish);
    if (wish.hand) model.set("by_hand", true);
  }

  /** The state that the address has, as a link brings it; where it is of another page, a sentence says so. */
  function heed(): void {
    if (location.hash === past.now || (location.hash === "" && past.now === "#")) return;
    try {
      put(read(location.hash, page));
      settled();
    } catch (error) {
      controls.refuse(said(error));
    }
  }

  const main = document.querySelector("main")!;
  main.before(controls.element);
  if (controls.below) main.after(controls.below);
  model.on("change:memory_shown", () => {
    whole = true;
    changed(); // curves may be wanted that are not there
  });
  model.on("change:selection", () => pick(controls.wish()));
  model.on("change:by_hand", switched);
  model.on("change:hold", () => hear(model.get("hold")));
  model.on("sent", (command) => hear(command as HandCommand));
  model.set("can_hand", setting.allowed !== undefined);
  addEventListener("hashchange", heed);
  await follow();
  heed();
  if (setting.puzzle || (setting.waiting && !controls.wish().hand)) model.set("by_hand", true);
}

/** What is on show. */
interface Shown {
  readonly device: Int32Array;
  readonly makespan: number;
  readonly stars: number | null;
}

/** The engine in a worker, which runs this module's text; where there can be none, in the page. */
async function engineFor(given: Start, notices: Notices): Promise<Apart<Engine>> {
  try {
    const text = await unzipped(document.getElementById(CODE)!.textContent!);
    return await inWorker<Engine>(new TextDecoder().decode(text), "page", given, notices);
  } catch {
    return here(new Engine(given, notices));
  }
}

function setAddress(hash: string): void {
  if (!HAS_ADDRESS) return;
  try {
    history.replaceState(null, "", hash);
  } catch {
    location.replace(hash); // a page from a file may not do the former in older browsers
  }
}

if (typeof document !== "undefined") subscribe(document.body, "model", begin);
else if ("WorkerGlobalScope" in globalThis)
  serve(
    {
      page: (given: Start, notices: Notices) => new Engine(given, notices),
      alone: (traits: LiveTraits, notices: Notices) => alone(traits, notices as unknown as EngineHost),
    },
    ["show", "tell", "say"],
  );

const hand = { ...plans, bestMoves, partOf };

export {
  alone,
  bestBound,
  decodeProblem,
  graphOf,
  hand,
  inWholeCosts,
  packMemory,
  packRun,
  place,
  problemOf,
  simulate,
  withMemory,
};
