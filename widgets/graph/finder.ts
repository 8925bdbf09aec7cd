/** What was found: in which boxes, and which of it was looked at last. */
import type { Picture } from "./picture.ts";
import type { Toolbar } from "./toolbar.ts";

export class Finder {
  /** Boxes with something found in them. */
  boxes: ReadonlySet<number> = new Set();
  #hits = new Uint32Array();
  #at = -1;
  readonly #bar: Pick<Toolbar, "search" | "showFound">;

  constructor(bar: Pick<Toolbar, "search" | "showFound">) {
    this.#bar = bar;
  }

  show(hits: Uint32Array, query: string, picture: Picture): void {
    this.#hits = new Uint32Array(hits);
    this.#at = -1;
    if (document.activeElement !== this.#bar.search) this.#bar.search.value = query;
    this.locate(picture);
  }

  /** Finds the boxes again after others have come on show. */
  locate(picture: Picture): void {
    this.boxes = new Set(Array.from(this.#hits, (op) => picture.owner[op] ?? -1).filter((box) => box >= 0));
    this.#bar.showFound(this.#hits.length, this.#at + 1);
  }

  /** The op found after (1) or before (-1) the one looked at last; round and round. */
  next(step: 1 | -1): number | undefined {
    const n = this.#hits.length;
    if (!n) return undefined;
    this.#at = this.#at < 0 ? (step > 0 ? 0 : n - 1) : (this.#at + step + n) % n;
    this.#bar.showFound(n, this.#at + 1);
    return this.#hits[this.#at];
  }
}
