/** The field in which an exact value or a name is typed, over the thing it is about. */
import { h } from "../shared/dom";

export class Entry {
  readonly element = h("div", { class: "entry", hidden: true });
  readonly #root: HTMLElement;
  #close: (() => void) | null = null;

  constructor(root: HTMLElement) {
    this.#root = root;
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
    const attempt = () => {
      const refused = input.value === text ? null : commit(input.value);
      complaint.textContent = refused ?? "";
      input.setAttribute("aria-invalid", String(refused !== null));
      return refused === null;
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && attempt()) close(true);
      if (event.key === "Escape") close(true);
    });
    input.addEventListener("keyup", (event) => event.stopPropagation());
    input.addEventListener("blur", () => this.#close && (attempt(), close(false)));
    this.element.replaceChildren(input, complaint);
    this.element.hidden = false;
    const bounds = this.#root.getBoundingClientRect();
    const width = Math.max(over.width + 24, 110);
    const left = Math.min(Math.max(over.left + over.width / 2 - bounds.left - width / 2, 4), bounds.width - width - 4);
    Object.assign(this.element.style, { left: `${left}px`, top: `${over.top + over.height / 2 - bounds.top - 13}px`, width: `${width}px` });
    this.#close = () => close(false);
    input.focus();
    input.select();
  }
}
