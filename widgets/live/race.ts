/** All strategies of the page, each simulated at the saved costs and at those that the hand has set, a little at a time. */
import { h, listen } from "../shared/dom.ts";
import { compared } from "./words.ts";

const PAUSE = 200; // ms without a change, after which the others are computed

export interface Race {
  readonly element: HTMLElement;
  /** What is shown holds no more. */
  old(chosen: string): void;
  /** All again at the end of a change, one strategy at a time, so that none keeps the page from drawing. */
  again(scheduler: string): void;
}

/** `makespan` computes one strategy, at the saved costs or as things are; NaN where there is no schedule. */
export function race(
  names: readonly string[],
  makespan: (partitioner: string, scheduler: string, saved: boolean) => Promise<number>,
  time: (x: number) => string,
  choose: (partitioner: string) => void,
): Race {
  const before = new Map<string, number>(); // by pair: these costs never change
  const rows = names.map((name) => row(name, () => choose(name)));
  let timer = 0;
  let turn = 0;

  function old(chosen: string): void {
    stop();
    delete element.dataset.done;
    for (const [i, name] of names.entries()) rows[i]!.mark(name === chosen);
  }

  function stop(): void {
    clearTimeout(timer);
    turn++;
  }

  function again(scheduler: string): void {
    stop();
    timer = window.setTimeout(run, PAUSE, scheduler, turn);
  }

  async function run(scheduler: string, mine: number): Promise<void> {
    const now = new Map<string, number>();
    for (const [i, name] of names.entries()) {
      const pair = `${name}+${scheduler}`;
      if (!before.has(pair)) before.set(pair, await makespan(name, scheduler, true));
      if (mine !== turn) return;
      now.set(name, await makespan(name, scheduler, false));
      if (mine !== turn) return;
      rows[i]!.show(before.get(pair)!, now.get(name)!, time);
      await new Promise((done) => setTimeout(done)); // the page may draw, where it computes by itself
    }
    if (mine === turn) best(now);
  }

  function best(now: ReadonlyMap<string, number>): void {
    const least = Math.min(...[...now.values()].filter((x) => !Number.isNaN(x)));
    for (const [i, name] of names.entries()) rows[i]!.star(now.get(name) === least);
    element.dataset.done = "true";
  }

  const head = h("tr", {}, ...["strategy", "saved", "now", "change"].map((word) => h("th", { scope: "col" }, word)));
  const caption = h("caption", {}, "Strategies in this page");
  const element = h("table.race", {}, caption, h("thead", {}, head));
  element.append(h("tbody", {}, ...rows.map((each) => each.element)));
  return { element, old, again };
}

function row(name: string, choose: () => void) {
  const button = h("button", { type: "button" }, name);
  listen(button, "click", choose);
  const star = h("span", { "aria-hidden": true });
  const [before, now, change] = [h("td"), h("td"), h("td")];
  const element = h("tr", {}, h("th", { scope: "row" }, button, star), before, now, change);
  element.dataset.name = name;
  return {
    element,
    mark: (chosen: boolean) => element.classList.toggle("chosen", chosen),
    star(best: boolean) {
      star.textContent = best ? " ★" : "";
      button.title = best ? "The least of these" : "";
    },
    show(was: number, is: number, time: (x: number) => string) {
      before.textContent = Number.isNaN(was) ? "–" : time(was);
      now.textContent = Number.isNaN(is) ? "–" : time(is);
      now.dataset.makespan = String(is);
      change.textContent = Number.isNaN(was) || Number.isNaN(is) ? "–" : compared(is, was);
    },
  };
}
