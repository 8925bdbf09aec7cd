/** The page that recomputes, which the notebook keeps beside the explorer: it goes on where the kernel is busy or gone. */
import { h, listen } from "../shared/dom.ts";

const HEIGHT = "860px";

/** The text of the page that the output with this class holds; "" where it holds none, or one that only plays. */
function keptPage(name: string): string {
  const data = document.querySelector<HTMLElement>(`.${CSS.escape(name)} script[data-kind="live"]`);
  return data ? JSON.parse(data.textContent!) : "";
}

/** A bar over the explorer that offers to go on in the page. */
export class GoOn {
  readonly #root: () => HTMLElement | null;
  readonly #picture: () => string;
  readonly #bar: HTMLElement;
  readonly #why: HTMLElement;
  #page: HTMLElement | null = null;

  /** `root` is the explorer, `picture` the class of the output that has the page. */
  constructor(root: () => HTMLElement | null, picture: () => string) {
    this.#root = root;
    this.#picture = picture;
    this.#why = h("span");
    const button = h("button", { type: "button" }, "Go on in this page") as HTMLButtonElement;
    this.#bar = h("div.pl-goon", { role: "status" }, this.#why, button);
    listen(button, "click", () => this.#open());
  }

  /** Offers it, for a reason; "" takes the offer back, and leaves a page that is open. */
  offer(why: string): void {
    const there = why !== "" && this.#picture() !== "" && keptPage(this.#picture()) !== "";
    this.#why.textContent = why;
    if (there) this.#root()?.append(this.#bar);
    else this.#bar.remove();
  }

  close(): void {
    this.#bar.remove();
    this.#shut();
  }

  #open(): void {
    const root = this.#root();
    if (!root || this.#page) return;
    const dark = root.dataset.theme === "dark";
    const frame = h("iframe", { title: "The explorer without its kernel", sandbox: "allow-scripts" });
    frame.style.cssText = `width:100%;height:${HEIGHT};border:0;color-scheme:${dark ? "dark" : "light"}`;
    frame.setAttribute("srcdoc", keptPage(this.#picture()));
    const back = h("button", { type: "button" }, "Back to the explorer") as HTMLButtonElement;
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
