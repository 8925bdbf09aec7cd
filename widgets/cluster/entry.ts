/** The field in which an exact value or a name is typed, over the thing it is about. */
import { h, listen } from "../shared/dom";
import { max, min } from "../shared/math";
import type { Rect } from "./geometry";
import { fit } from "./room";

const HEIGHT = 26; // of the field
const GAP = 3;

export class Entry {
  readonly element = h("div.entry", { hidden: true });
  readonly #root: HTMLElement;
  readonly #room: () => Rect;
  #close: (() => void) | null = null;

  constructor(root: HTMLElement, room: () => Rect) {
    this.#root = root;
    this.#room = room;
  }

  /** `commit` takes the text and returns why it is refused, or null; focus returns to `owner`. */
  open(over: DOMRect, text: string, label: string, owner: HTMLElement | SVGElement, commit: (text: string) => string | null): void {
    this.#close?.();
    const input = h("input", { type: "text", "aria-label": label, spellcheck: "false", autocomplete: "off" });
    const complaint = h("div", { role: "alert" });
    input.value = text;
    const key = owner.dataset.key;
    const close = (focus: boolean) => {
      if (!this.#close) return;
      this.#close = null;
      this.element.hidden = true;
      const back = owner.isConnected ? owner : this.#root.querySelector<SVGElement>(`[data-key="${CSS.escape(key ?? "")}"]`);
      if (focus) back?.focus({ preventScroll: true });
    };
    const bounds = this.#root.getBoundingClientRect();
    const place = () => {
      const room = this.#room();
      const width = min(max(over.width + 24, 110), room.w);
      const top = fit(over.top + over.height / 2 - bounds.top - HEIGHT / 2, HEIGHT, room.y, room.h);
      const left = fit(over.left + over.width / 2 - bounds.left - width / 2, width, room.x, room.w);
      Object.assign(this.element.style, { left: `${left}px`, top: `${top}px`, width: `${width}px` });
      const { offsetWidth, offsetHeight } = complaint;
      Object.assign(complaint.style, {
        left: `${fit(left, offsetWidth, room.x, room.w) - left}px`,
        top: `${top + HEIGHT + GAP + offsetHeight <= room.y + room.h ? HEIGHT + GAP : -GAP - offsetHeight}px`,
      });
    };
    const attempt = () => {
      const refused = input.value === text ? null : commit(input.value);
      complaint.textContent = refused ?? "";
      input.setAttribute("aria-invalid", String(refused !== null));
      place();
      return refused === null;
    };
    listen(input, "keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && attempt()) close(true);
      if (event.key === "Escape") close(true);
    });
    listen(input, "keyup", (event) => event.stopPropagation());
    listen(input, "blur", () => this.#close && (attempt(), close(false)));
    this.element.replaceChildren(input, complaint);
    this.element.hidden = false;
    place();
    this.#close = () => close(false);
    input.focus();
    input.select();
  }
}
