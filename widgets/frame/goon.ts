/** Where the kernel is busy or gone: canvas and chart go on in the page, by the page that recomputes, which the notebook keeps beside the explorer. */
import { COMPUTED, EDITED, type Edited, type Engine, HELD, type Held } from "../shared/alone.ts";
import { type Apart, here, inWorker, said } from "../shared/apart.ts";
import { publish, subscribe } from "../shared/bus.ts";
import { h, listen } from "../shared/dom.ts";
import { CODE, PAYLOAD, unpack, unzipped } from "../shared/packed.ts";

const HEIGHT = "860px";
const MOST_TOLD = 100; // words of a hand that are kept for the page
const ALONE = "pl-alone"; // class of an explorer that goes on
const GOES_ON = "Canvas and chart go on in this page";

type Module = { alone(traits: object, host: object): Engine };

/** The text of the page that the output with this class holds; "" where it holds none, or one that only plays. */
function keptPage(name: string): string {
  const data = name ? document.querySelector<HTMLElement>(`.${CSS.escape(name)} script[data-kind="live"]`) : null;
  return data ? JSON.parse(data.textContent!) : "";
}

/** A cluster without the functions that write its numbers, which no message to a worker takes; null for none. */
function plain(cluster: unknown): object | null {
  const isPlain = ([name]: [string, unknown]) => name !== "units";
  return cluster ? Object.fromEntries(Object.entries(cluster).filter(isPlain)) : null;
}

/** A bar over the explorer that says so, and offers to go on in the whole page. */
export class GoOn {
  readonly #el: HTMLElement;
  readonly #root: () => HTMLElement | null;
  readonly #picture: () => string;
  readonly #bar: HTMLElement;
  readonly #said = h("span");
  readonly #ends: (() => void)[];
  #why = "";
  #page: HTMLElement | null = null;
  #engine: Apart<Engine> | null = null;
  #edited: Edited | null = null; // the newest
  #told: Held[] = []; // what a hand has told the kernel, which has not answered
  #frame = 0;
  #busy = false; // an edit is computed

  /** `el` is the frame's element, `root` the explorer, `picture` the class of the output that has the page. */
  constructor(el: HTMLElement, root: () => HTMLElement | null, picture: () => string) {
    this.#el = el;
    this.#root = root;
    this.#picture = picture;
    const button = h("button", { type: "button", title: "With menus for strategies and models" }, "Go on in this page");
    this.#bar = h("div.pl-goon", { role: "status" }, this.#said, button);
    listen(button, "click", () => this.#open());
    this.#ends = [
      subscribe<Edited>(el, EDITED, (edited) => this.#hear(edited)),
      subscribe<Held | null>(el, HELD, (told) => this.#hold(told)),
    ];
  }

  /** Goes on, for a reason; "" ends that, and leaves a page that is open. */
  offer(why: string): void {
    const text = why ? keptPage(this.#picture()) : "";
    if (!text) return this.#end();
    const begins = !this.#why;
    this.#why = why;
    this.#root()?.append(this.#bar);
    if (!begins) return;
    this.#say("What you do waits. You can");
    this.#mark(true);
    void this.#begin(text);
  }

  close(): void {
    for (const end of this.#ends) end();
    this.#end();
    this.#shut();
  }

  // ---- in the explorer itself --------------------------------------------------------------------------------------

  /** Takes the engine out of the page, if what that has is what the explorer shows. */
  async #begin(text: string): Promise<void> {
    try {
      const engine = await this.#engineIn(text);
      const before = await engine.ask("makespan", plain(this.#edited?.answered()));
      if (!this.#why || this.#engine || before !== this.#makespan()) return engine.end();
      this.#engine = engine;
      this.#root()?.classList.add(ALONE);
      this.#say(`${GOES_ON}.`);
      if (this.#edited) this.#hear(this.#edited);
      for (const told of this.#told) await this.#try(engine.ask("held", told));
    } catch (error) {
      console.warn("placelab: the page that the notebook keeps cannot be run here", error); // its button is left
    } finally {
      if (!this.#frame) this.#mark(false);
    }
  }

  /** In a worker, so that the page goes on drawing; where there can be none, in the page. */
  async #engineIn(text: string): Promise<Apart<Engine>> {
    const page = new DOMParser().parseFromString(text, "text/html");
    const of = (id: string) => unzipped(page.getElementById(id)!.textContent!);
    const code = await of(CODE);
    const traits = unpack(await of(PAYLOAD));
    const host = {
      show: (computed: object, words: string) => this.#show(computed, words),
      say: (words: string) => this.#say(words),
    };
    try {
      return await inWorker<Engine>(new TextDecoder().decode(code), "alone", traits, host);
    } catch {
      const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
      const { alone }: Module = await import(url);
      URL.revokeObjectURL(url);
      return here(alone(traits, host));
    }
  }

  /** The newest edit is computed in the next frame, once what was computed before is shown. */
  #hear(edited: Edited): void {
    this.#edited = edited;
    if (!this.#engine || this.#frame || this.#busy) return;
    this.#mark(true);
    this.#frame = requestAnimationFrame(async () => {
      this.#frame = 0;
      this.#busy = true;
      const newest = this.#edited!;
      await this.#try(this.#engine?.ask("edited", plain(newest.now)));
      this.#busy = false;
      if (newest !== this.#edited) this.#hear(this.#edited!);
      else this.#mark(false);
    });
  }

  /** What a hand tells of a bar; null: the kernel has answered it. */
  #hold(told: Held | null): void {
    if (!told) this.#told = [];
    else if (this.#engine) void this.#try(this.#engine.ask("held", told));
    else this.#told = [...this.#told.slice(1 - MOST_TOLD), told];
  }

  async #try(what: Promise<unknown> | undefined): Promise<void> {
    try {
      await what;
    } catch (error) {
      this.#say(said(error));
    }
  }

  #show(computed: object, words: string): void {
    if (!this.#why) return; // it came late
    publish(this.#el, COMPUTED, computed);
    this.#say(`${GOES_ON}: ${words}`);
  }

  /** Of the schedule on show. */
  #makespan(): number {
    return Number(this.#root()?.querySelector<HTMLElement>(".pl-gantt")?.dataset.makespan);
  }

  /** Says whether the page is still to show what the newest edit leads to. */
  #mark(busy: boolean): void {
    this.#bar.ariaBusy = String(busy);
  }

  #say(words: string): void {
    this.#said.textContent = `${this.#why} ${words}`;
  }

  #end(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#bar.remove();
    this.#root()?.classList.remove(ALONE);
    if (this.#engine) publish(this.#el, COMPUTED, null);
    this.#engine?.end();
    this.#engine = null;
    this.#busy = false;
    this.#why = "";
  }

  // ---- the whole page ----------------------------------------------------------------------------------------------

  #open(): void {
    const root = this.#root();
    if (!root || this.#page) return;
    const scheme = `color-scheme: ${root.dataset.theme}`; // the notebook's, which need not be the system's
    const frame = h("iframe", { title: "The explorer without its kernel", sandbox: "allow-scripts" });
    frame.style.cssText = `width:100%;height:${HEIGHT};border:0;${scheme}`;
    frame.setAttribute("srcdoc", keptPage(this.#picture()).replace("color-scheme: light dark", scheme));
    const back = h("button", { type: "button" }, "Back to the explorer");
    listen(back, "click", () => this.#shut());
    const said = "Without the kernel: this page goes on from the explorer's last picture, and computes by itself. ";
    this.#page = h("div.pl-without", {}, h("p", {}, said, back), frame);
    root.after(this.#page);
    root.hidden = true;
    root.style.display = "none";
  }

  #shut(): void {
    const root = this.#root();
    this.#page?.remove();
    this.#page = null;
    if (!root) return;
    root.hidden = false;
    root.style.removeProperty("display");
  }
}
