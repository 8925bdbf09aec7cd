/** What a newcomer can do first: three hints at their places, shown once per browser, each until it is done or all until *Got it*. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { boxOf, zoomOf } from "../shared/zoom.ts";
import { aside } from "./aside.ts";

const KEY = "placelab-hints"; // of the browser's storage; what is there was shown
const WAIT = 250; // ms between two looks for the places, until they are there
const READY = ".pl-gantt:not([data-makespan=''])";
const MESSAGES = ".pl-messages > *, :is([role=status], [role=alert]):not(.pl-hints *)"; // what a hint never lies on
const SEEN = { visibilityProperty: true, opacityProperty: true };

export interface Hint {
  title: string;
  more: string;
  /** What the hint is about; a press on what matches `done`, or without it on this, ends the hint. */
  place: string;
  done?: string;
  side: "left" | "below";
  /** Whether it lies over the top bar; all others lie below what that opens. */
  bar?: true;
}

export const HINTS: readonly Hint[] = [
  {
    title: "Pull a value ← →",
    more: "the schedule follows at once",
    place: ".pl-canvas [data-key^='bandwidth']",
    done: ".pl-canvas [data-key]",
    side: "left",
  },
  {
    title: "Drop a scope on a device",
    more: "all in it goes there; undo takes it back",
    place: ".pl-titles button:nth-of-type(3)",
    done: ".pl-titles button:nth-of-type(3), .pl-graph",
    side: "below",
  },
  {
    title: "Keep this",
    more: "to compare",
    place: ".pl-actions [title^='Keep']",
    side: "left", // below it is what is best known
    bar: true,
  },
];

interface Placed extends Hint {
  number: number;
  style: { left?: string; right?: string; top: string };
}

interface Given {
  root: HTMLElement;
  /** Hints that are not done yet. */
  left: readonly Hint[];
  setLeft: (left: readonly Hint[]) => void;
}

/** The hints over `root`. */
export function Hints({ root, left, setLeft }: Given) {
  const [placed, setPlaced] = useState<readonly Placed[]>([]);
  useEffect(() => {
    if (!left.length) return setPlaced([]);
    const look = () => {
      const ready = root.querySelector(READY);
      if (ready) remember();
      setPlaced(ready ? left.flatMap((hint) => place(root, hint)) : []);
    };
    const timer = setInterval(look, WAIT);
    const press = ({ target }: Event) => {
      if (!(target instanceof Element)) return;
      const rest = left.filter(({ place, done = place }) => !target.closest(done));
      if (rest.length < left.length) setLeft(rest);
    };
    root.addEventListener("pointerdown", press, true);
    return () => {
      clearInterval(timer);
      root.removeEventListener("pointerdown", press, true);
    };
  }, [left, root]);
  if (!placed.length) return null;
  return (
    <div class="pl-hints">
      {placed.map((hint) => (
        <One key={hint.title} root={root} hint={hint} />
      ))}
      <End root={root} end={() => setLeft([])} />
    </div>
  );
}

function One({ root, hint: { number, title, more, style, bar } }: { root: HTMLElement; hint: Placed }) {
  return (
    <div class={bar ? "pl-hint pl-hint-bar" : "pl-hint"} style={style} role="note" ref={useAside(root, 1)}>
      <i>{number}</i>
      <b>{title}</b> {more}
    </div>
  );
}

function End({ root, end }: { root: HTMLElement; end: () => void }) {
  return (
    <div class="pl-hint-end" role="status" ref={useAside(root, -1)}>
      <span>Hints, shown once; Ctrl+K and “hints” shows them again.</span>
      <button type="button" onClick={end}>
        Got it
      </button>
    </div>
  );
}

/** Moves an element down, or up, where it would lie on a message: with each look for the places. */
function useAside(root: HTMLElement, way: 1 | -1) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const hint = element.current!;
    hint.style.setProperty("--pl-aside", "0px");
    const zoom = zoomOf(root);
    const messages = [...root.querySelectorAll(MESSAGES)].filter(
      (each) => each.textContent && each.checkVisibility(SEEN),
    );
    const by = aside(
      boxOf(hint, zoom),
      messages.map((each) => boxOf(each, zoom)),
      way,
    );
    hint.style.setProperty("--pl-aside", `${by}px`);
  });
  return element;
}

/** The hint beside what it is about, if that is seen on the page: in a narrow one a tab may lie over the canvas. */
function place(root: HTMLElement, hint: Hint): Placed[] {
  const about = root.querySelector(hint.place);
  if (!about?.checkVisibility(SEEN)) return [];
  const outer = boxOf(root);
  const { left, top, width, height } = boxOf(about);
  if (!width) return [];
  const number = HINTS.indexOf(hint) + 1;
  const at = { x: left - outer.left, y: top - outer.top };
  const style =
    hint.side === "left"
      ? { right: `${outer.width - at.x + 10}px`, top: `${at.y + height / 2 - 13}px` }
      : below(at, width, height, outer.width);
  return [{ ...hint, number, style }];
}

/** Below a place, and within the page. */
function below({ x, y }: { x: number; y: number }, width: number, height: number, most: number) {
  const top = `${y + height + 8}px`;
  return x > 0.6 * most ? { right: `${Math.max(most - x - width, 4)}px`, top } : { left: `${x}px`, top };
}

/** Whether this browser has shown what a newcomer sees first. */
export function wereShown(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return true; // a page that may not remember them would show them every time
  }
}

function remember(): void {
  try {
    localStorage.setItem(KEY, "shown");
  } catch {
    // asked for by the user
  }
}
