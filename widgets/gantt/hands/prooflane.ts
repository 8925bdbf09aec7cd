/** The lane "why not faster" above the axis: what every schedule has to do one after the other, up to the proven bound. */
import { h, listen, set } from "../../shared/dom.ts";
import { type Scene, xOf } from "../scene/scene.ts";
import type { Proof } from "../wire/traits.ts";

const LEAST = 1; // CSS pixels of a segment that is drawn
const WORDS = 48; // and of one with a label that is cut
const [PER_LETTER, AROUND] = [6.5, 8]; // of a label that is whole
const LETTER = 8; // at most, in bold

export interface ProofLane {
  readonly element: HTMLElement;
  show(proof: readonly Proof[]): void;
  reveal(shown: boolean): void;
  readonly shown: boolean;
  /** Puts the segments where their times are. */
  place(scene: Scene): void;
}

/** `choose` is called with the first op of a segment that was clicked, and all of them. */
export function proofLane(choose: (op: number, ops: readonly number[]) => void): ProofLane {
  const name = h(
    "span.name",
    { title: "Why no schedule is faster: what must happen one after the other (y)" },
    "why not faster",
  );
  const plot = h("div.plot");
  const element = h("div.proof", { hidden: true, role: "group", "aria-label": "Why not faster" }, name, plot);
  const bound = h("span.bound");
  let proof: readonly Proof[] = [];
  let segments: HTMLElement[] = [];
  return {
    element,
    get shown() {
      return !element.hidden;
    },
    reveal(shown) {
      element.hidden = !shown;
    },
    show(given) {
      proof = given;
      segments = given.map(({ kind, label, op, ops = [op], said }) => {
        const made = h("button", { type: "button", tabindex: -1, class: kind, title: said }, label);
        listen(made, "click", () => choose(op, ops));
        return made;
      });
      plot.replaceChildren(...segments, bound);
      set(plot, { "aria-busy": String(!given.length) });
    },
    place(scene) {
      const { ratio, gutter, width } = scene.layout;
      name.style.width = `${gutter / ratio}px`;
      const end = width / ratio;
      const at = (time: number) => Math.min(Math.max(xOf(scene, time) / ratio, gutter / ratio), end) - gutter / ratio;
      const last = proof.at(-1)?.finish ?? Number.NaN;
      bound.textContent = Number.isNaN(last) ? "" : `≥ ${scene.labels.units.time(last)}`;
      bound.style.left = `${at(last)}px`;
      const wide = LETTER * bound.textContent.length;
      const before = end - gutter / ratio - at(last) < wide;
      bound.classList.toggle("before", before);
      const covered = before ? at(last) - wide : Number.POSITIVE_INFINITY; // from there on
      proof.forEach(({ start, finish, label }, i) => {
        const [from, to] = [at(start), at(finish)];
        const { style } = segments[i]!;
        style.display = to - from >= LEAST ? "" : "none";
        style.left = `${from}px`;
        style.width = `${to - from}px`;
        const room = Math.min(to, covered) - from;
        style.paddingRight = room < to - from ? `${to - from - room}px` : "";
        const whole = PER_LETTER * label.length + AROUND;
        segments[i]!.textContent = room >= Math.min(WORDS, whole) ? label : "";
      });
      bound.hidden = !(last <= scene.span.to && last >= scene.span.from);
    },
  };
}
