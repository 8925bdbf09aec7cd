/** The view as a whole: what is on show, where the reader is, and what keys and clicks do. */
import { publish, subscribe } from "../shared/bus.ts";
import { h, listen, style } from "../shared/dom.ts";
import { markTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import { ghosts } from "./candidates.ts";
import { controls } from "./controls.ts";
import css from "./decisions.css";
import { decisionDetail, isRight, rankDetail } from "./detail.ts";
import { list } from "./list.ts";
import type { DecisionRow, Page, RankRow } from "./page.ts";
import { guess, hides, missing, moved, OFF, start, within } from "./steps.ts";
import { amount } from "./sums.ts";
import type { About, Candidate } from "./traits.ts";

/** What Python says; see traits.ts. */
export interface Facts {
  readonly page: Page;
  readonly generation: number;
  readonly mode: string;
  readonly counts: readonly number[];
  readonly devices: readonly string[];
  readonly about: About;
  readonly step: number;
  readonly selection: number;
  readonly choices: readonly string[];
  readonly against: string;
  readonly differs: readonly number[];
  readonly note: string;
  readonly stale: boolean;
  readonly whole: boolean;
}

export interface Events {
  /** The reader went to a row of the present mode, about an op (-1: not known yet). */
  went(row: number, op: number): void;
  want(row: number): void;
  mode(mode: string): void;
  against(name: string): void;
  /** The whole plan is to be shown, or what is decided so far. */
  whole(whole: boolean): void;
  hides(hides: boolean): void;
  ghosts(candidates: Candidate[]): void;
}

const PACE = 1000; // ms per step of play

/** Scrolls a list so far that its item is in sight; nothing else of the page moves. */
function intoSight(item: HTMLElement): void {
  const list = item.parentElement!;
  list.scrollTop = Math.max(0, item.offsetTop - list.offsetTop - (list.clientHeight - item.offsetHeight) / 2);
}

export function decisionsView(on: Events) {
  let facts: Facts | undefined;
  let quiz = OFF;
  let guessed = -1;
  let chosen = ""; // the strategy that was just chosen to compare with; its first difference is gone to
  let playing = 0; // of the timer
  let inSight = false;
  let home: Element | null = null; // the explorer, also when its tab no longer holds this element
  let asked = ""; // what was asked for last: a row of a mode of a generation
  let known: { generation: number; row: DecisionRow | RankRow } | undefined; // the current row, also when its page is gone

  const bar = controls({ go, play, predict, ranks, whole: () => on.whole(!facts?.whole), against: compare });
  const rows = list({ choose: go, scrolled: ask });
  const detail = h("div.detail");
  const note = h("p.note", { role: "status" });
  const main = h("div.main", {}, rows.element, detail);
  const element = h(
    "div.placelab.pl-decisions",
    { "data-lm-suppress-shortcuts": "true", "data-keys": "", role: "region", "aria-label": "Decisions" },
    style(THEME_CSS, css),
    bar.element,
    note,
    main,
  );

  const count = () => facts?.counts[facts.mode === "ranks" ? 1 : 0] ?? 0;
  /** The current row: the step, or in the list of ranks that of the selected op. */
  const current = () => {
    if (!facts) return 0;
    if (facts.mode !== "ranks") return within(facts.step, count());
    return within(facts.selection < 0 ? 0 : count() - 1 - facts.selection, count());
  };
  const rowOf = (row: number): DecisionRow | RankRow | undefined => {
    const { page, generation, mode } = facts!;
    return page.mode === mode && page.generation === generation ? page.rows[row - page.first] : undefined;
  };
  const hidden = () => facts!.mode === "decisions" && hides(quiz, current());

  function go(row: number): void {
    if (!facts || !count()) return;
    const to = within(row, count());
    const op = facts.mode === "ranks" ? count() - 1 - to : (rowOf(to)?.op ?? -1);
    guessed = -1;
    on.went(to, op);
  }
  function play(): void {
    if (playing) return pause();
    if (!count() || (quiz.on && facts!.mode === "decisions")) return;
    if (current() >= count() - 1) go(0);
    playing = window.setInterval(() => (current() < count() - 1 ? go(current() + 1) : pause()), PACE);
    draw();
  }
  function pause(): void {
    clearInterval(playing);
    playing = 0;
    draw();
  }
  function predict(): void {
    if (playing) pause();
    quiz = quiz.on ? OFF : start(current());
    guessed = -1;
    draw();
  }
  function ranks(): void {
    if (!facts?.counts[1]) return;
    on.mode(facts.mode === "ranks" ? "decisions" : "ranks");
  }
  function compare(name: string): void {
    chosen = name;
    on.against(name);
  }
  function predicted(device: number): void {
    const row = rowOf(current()) as DecisionRow | undefined;
    if (!row || !hidden() || Number.isNaN(row.score[device] ?? NaN)) return;
    quiz = guess(quiz, row.row, isRight(row, device));
    guessed = device;
    draw();
  }

  /** Asks for rows that are not known: first the current one, then those in sight. */
  function ask(): void {
    if (!facts || !count()) return;
    const { generation, mode, page } = facts;
    const here = page.mode === mode && page.generation === generation ? page : { first: 0, rows: [] };
    const [from, to] = rows.range();
    const row = remembered() ? (missing(here, from, to, count()) < 0 ? -1 : Math.floor((from + to) / 2)) : current();
    const question = `${generation} ${mode} ${row}`;
    if (row < 0 || question === asked) return;
    asked = question;
    on.want(row);
  }
  function remembered(): DecisionRow | RankRow | undefined {
    const found = rowOf(current());
    if (found) known = { generation: facts!.generation, row: found };
    const fits = known?.generation === facts!.generation && isCurrent(known.row);
    return fits ? known!.row : undefined;
  }
  const isCurrent = (row: DecisionRow | RankRow) =>
    facts!.mode === "ranks"
      ? "terms" in row && row.op === count() - 1 - current()
      : "why" in row && row.row === current();

  function cells(i: number): string[] | undefined {
    const row = rowOf(i);
    if (!row) return undefined;
    const { about, devices } = facts!;
    if ("terms" in row)
      return [row.name, amount(row.rank, about.sums_unit ?? ""), row.terms[0] ? `→ ${row.terms[0].name}` : "exit"];
    const rank = Number.isNaN(row.rank) ? "" : amount(row.rank, about.rank_unit ?? "");
    return [row.name, rank, hides(quiz, i) ? "?" : devices[row.device]!];
  }
  function marks(): Map<number, string> {
    const found = new Map<number, string>();
    const { page, generation, mode, against, devices } = facts!;
    if (!against || mode !== "decisions" || page.mode !== "decisions" || page.generation !== generation) return found;
    for (const { row, device, other } of page.rows)
      if (other && other.device !== device && !hides(quiz, row)) found.set(row, `${against}: ${devices[other.device]}`);
    return found;
  }

  function draw(): void {
    if (!facts) return;
    const { about, counts, choices, against, devices, differs, mode, selection, stale } = facts;
    const [row, total] = [current(), count()];
    const focused = element.contains(document.activeElement) ? (document.activeElement as HTMLElement) : undefined;
    element.dataset.stale = String(stale);
    main.hidden = !total;
    note.textContent = facts.note;
    note.hidden = !facts.note;
    bar.show({
      mode,
      row,
      count: total,
      playing: playing > 0,
      quiz,
      ranks: !!counts[1],
      whole: facts.whole,
      choices,
      against,
    });
    rows.show({
      count: total,
      current: row,
      label: mode === "ranks" ? "Ranks, from the exits on" : "Decisions in planning order",
      cells,
      marks: marks(),
    });
    const shown = total ? remembered() : undefined;
    detail.replaceChildren(...(shown ? details(shown) : []));
    detail.dataset.columns = String(detail.children.length);
    for (const chosen of detail.querySelectorAll<HTMLElement>("li[data-chosen]")) intoSight(chosen);
    const lit = shown && "why" in shown && shown.op === selection && !hidden() ? ghosts(shown, about.times ?? "") : [];
    on.hides(!!total && hidden());
    on.ghosts(lit);
    if (focused && (!focused.isConnected || focused.matches(":disabled"))) rows.element.focus({ preventScroll: true }); // keys go on
    ask();
    tellPlace();

    function details(found: DecisionRow | RankRow): HTMLElement[] {
      if ("terms" in found) return rankDetail(found, about, (op) => go(total - 1 - op));
      const state = {
        about,
        devices,
        differs,
        hidden: hidden(),
        guess: predicted,
        guessed,
        times: about.times ?? "",
        compared: !!about.against,
      };
      return decisionDetail(found, state, go);
    }
  }

  listen(element, "keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.matches("select")) return;
    const pressed = target.matches("button") && (event.key === " " || event.key === "Enter");
    if (pressed || (target.matches("input") && event.key.startsWith("Arrow"))) return;
    const to = moved(event.key, current(), count());
    if (to !== undefined) go(to);
    else if (event.key === " ") play();
    else if (event.key === "p" && facts?.mode === "decisions") predict();
    else if (event.key === "r") ranks();
    else if (/^[1-9]$/.test(event.key) && facts && hidden()) predicted(Number(event.key) - 1);
    else if (/^d$/i.test(event.key) && facts?.mode === "decisions") jump(facts.differs[event.key === "d" ? 0 : 1]!);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  function jump(row: number): void {
    if (facts!.against && row >= 0) go(row);
  }
  const seen = new IntersectionObserver(([entry]) => {
    inSight = entry!.isIntersecting;
    if (!inSight && playing) pause();
    tellPlace();
  });
  seen.observe(element);
  /** Tells the chart beside this list where it is. */
  function tellPlace(): void {
    if (!facts) return;
    const open = inSight && facts.mode === "decisions";
    home = element.closest(".placelab-explorer") ?? home;
    publish(home ?? element, "decisions", {
      row: current(),
      count: count(),
      playing: playing > 0,
      open,
      waits: quiz.on,
    });
  }
  const unheard = subscribe<{ row?: number; play?: boolean; guess?: number }>(
    element,
    "decide",
    ({ row, play: plays, guess: device }) => {
      if (row !== undefined) go(row);
      if (plays) play();
      if (device !== undefined && facts && hidden()) predicted(device);
    },
  );
  markTheme(element);
  const unwatch = watchTheme(() => markTheme(element));

  return {
    element,
    show(news: Facts): void {
      const before = facts;
      facts = news;
      if (before && before.generation !== news.generation) [quiz, guessed] = [quiz.on ? start(current()) : OFF, -1];
      if (before?.step !== news.step || before.generation !== news.generation)
        guessed = before?.step === news.step ? guessed : -1;
      draw();
      if (chosen && news.about.against === chosen) {
        chosen = "";
        jump(news.differs[0]!);
      }
      if (before?.step !== news.step || before.mode !== news.mode || before.selection !== news.selection || !before)
        rows.reveal(current());
    },
    dispose(): void {
      clearInterval(playing);
      inSight = false;
      tellPlace();
      seen.disconnect();
      unheard();
      unwatch();
      rows.dispose();
    },
  };
}
