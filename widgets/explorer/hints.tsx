/** What a newcomer can do first: three hints at their places, shown once per browser, each until it is done or all until *Got it*. */
import { useEffect, useState } from "preact/hooks";
import { boxOf } from "../shared/zoom.ts";

const KEY = "placelab-hints"; // of the browser's storage; what is there was shown
const WAIT = 250; // ms between two looks for the places, until they are there
const READY = ".pl-gantt:not([data-makespan=''])";

export interface Hint {
  title: string;
  more: string;
  /** What the hint is about; a press on what matches `done`, or without it on this, ends the hint. */
  place: string;
  done?: string;
  side: "left" | "below";
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
      {placed.map(({ number, title, more, style, side }) => (
        <div key={title} class={`pl-hint ${side}`} style={style} role="note">
          <i>{number}</i>
          <b>{title}</b> {more}
        </div>
      ))}
      <div class="pl-hint-end" role="status">
        <span>Hints, shown once; Ctrl+K and “hints” shows them again.</span>
        <button type="button" onClick={() => setLeft([])}>
          Got it
        </button>
      </div>
    </div>
  );
}

/** The hint beside what it is about, if that is on the page. */
function place(root: HTMLElement, hint: Hint): Placed[] {
  const about = root.querySelector(hint.place);
  if (!about) return [];
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
