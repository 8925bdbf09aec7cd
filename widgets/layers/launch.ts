/** What to type: a line per launcher, each with a button that copies it; it stays and follows while a border is dragged. */
import { copy } from "../shared/copy.ts";
import { h, listen } from "../shared/dom.ts";
import type { Launch } from "./traits.ts";

const DONE = 2000; // ms that a button says that it has copied

export class LaunchPanel {
  readonly element: HTMLElement;
  readonly #lines = h("div");
  readonly #close: () => void;

  constructor(close: () => void) {
    this.#close = close;
    const button = h("button", { type: "button", "aria-label": "Close" }, "×");
    const title = h("div.title", {}, h("b", {}, "Launch"), h("span", {}, "the lines follow the drag"), button);
    this.element = h("div.pl-launch", { role: "dialog", "aria-label": "Launch", hidden: true }, title, this.#lines);
    listen(button, "click", () => this.#close());
    listen(this.element, "keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.#close();
    });
  }

  /** Lets the panel reach out of its tab in the explorer, if it is in one, or keeps it inside. */
  lift(over: boolean): void {
    this.element.closest(".placelab-explorer")?.classList.toggle("pl-launching", over);
  }

  /** Shows the lines; none closes the panel. Lines are kept from one call to the next, with their focus. */
  show(launch: readonly Launch[]): void {
    this.element.hidden = !launch.length;
    this.lift(launch.length > 0);
    while (this.#lines.children.length > launch.length) this.#lines.lastElementChild!.remove();
    while (this.#lines.children.length < launch.length) this.#lines.append(made());
    launch.forEach((line, i) => fill(this.#lines.children[i]!, line));
  }
}

function made(): HTMLElement {
  const text = h("code", { tabindex: 0 });
  const button = h("button", { type: "button" }, "Copy");
  listen(button, "click", async () => {
    if (!(await copy(text.textContent ?? "", text))) return;
    button.textContent = "✓";
    setTimeout(() => {
      button.textContent = "Copy";
    }, DONE);
  });
  return h("div.line", {}, h("span", {}, h("b"), h("span")), text, button);
}

function fill(line: Element, { name, where, text, why }: Launch): void {
  line.querySelector("b")!.textContent = name;
  line.querySelector("span > span")!.textContent = ` ${where}`;
  const shown = line.querySelector("code")!;
  shown.textContent = text || why;
  shown.classList.toggle("why", !text);
  const button = line.querySelector("button")!;
  button.disabled = !text;
  button.title = text ? `Copy what ${name} takes` : why;
}
