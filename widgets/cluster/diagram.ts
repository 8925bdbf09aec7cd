/** The drawing of hosts, cards and links, rebuilt when the cluster's structure changes and refreshed when its values do. */
import { reducedMotion } from "../shared/theme";
import type { Adjust } from "./adjust";
import { card, type Card } from "./card";
import { carry } from "./carry";
import type { Scene } from "./geometry";
import { deviceLinks, hostLinks, type Links } from "./links";
import { fitted, s, set } from "./svg";

const MARGIN = 10;
const BELOW = 40; // where a card can be put down outside every host

export class Diagram {
  readonly svg = s("svg.diagram", { role: "group", "aria-label": "devices and links" });
  readonly #adjust: Adjust;
  readonly #say: (text: string) => void;
  #cards: Card[] = [];
  #links: Links[] = [];
  #small = false;
  #places = new Map<string, { x: number; y: number }>(); // of cards by device name, to move them from there

  constructor(adjust: Adjust, say: (text: string) => void) {
    this.#adjust = adjust;
    this.#say = say;
  }

  build(scene: Scene, small: boolean, selected: number): void {
    const { editor } = this.#adjust;
    const hint = s("g.hint");
    this.#cards = scene.cards.map((rect, device) => card(this.#adjust, device, rect, small));
    const hosts = small ? [] : hostLinks(this.#adjust, scene);
    const own = small || selected < 0 || selected >= scene.cards.length ? [] : deviceLinks(this.#adjust, scene, selected);
    this.#links = [...hosts, ...own];
    const ordered = scene.boxes.flatMap((box) => box.members);
    const plates = small && scene.boxes.length === 1 ? [] : scene.boxes.map((box) => plate(box, small));
    this.svg.replaceChildren(
      s("g.hosts", {}, ...plates),
      s("g", { class: own.length ? "lines dim" : "lines" }, ...hosts.flatMap((link) => link.lines)),
      s("g.lines", {}, ...own.flatMap((link) => link.lines)),
      s("g.labels", {}, ...hosts.flatMap((link) => link.labels)),
      hint,
      s("g.cards", {}, ...ordered.map((device) => this.#cards[device]!.element)),
      s("g.labels", {}, ...own.flatMap((link) => link.labels)),
    );
    set(this.svg, {
      viewBox: `${-MARGIN} ${-MARGIN} ${scene.width + 2 * MARGIN} ${scene.height + MARGIN + (small ? MARGIN : BELOW)}`,
      width: scene.width + 2 * MARGIN,
    });
    for (const device of ordered) {
      const tapped = () => editor.select(editor.model.get("selected") === device ? -1 : device);
      carry(this.#cards[device]!.element, device, scene, editor, this.svg, hint, tapped, this.#say);
    }
    this.#glide(scene, small);
  }

  /** Shows present values. */
  update(): void {
    const { model, cluster } = this.#adjust.editor;
    const peak = model.get("peak"), selected = model.get("selected");
    const measured = model.get("load"), load = measured.length === cluster.devices.length ? measured : []; // else of another cluster
    this.#cards.forEach((c, device) => c.update(peak[device] ?? NaN, device === selected));
    for (const link of this.#links) link.update(load);
  }

  /** Cards that stand elsewhere now move there, so that the eye can follow. */
  #glide(scene: Scene, small: boolean): void {
    const { devices } = this.#adjust.editor.cluster;
    const before = this.#places;
    this.#places = new Map(scene.cards.map((rect, i) => [devices[i]!.name, rect]));
    const other = small !== this.#small; // another drawing altogether: nothing to follow
    this.#small = small;
    if (other || reducedMotion()) return;
    scene.cards.forEach((rect, i) => {
      const from = before.get(devices[i]!.name);
      if (!from || (from.x === rect.x && from.y === rect.y)) return;
      const at = (p: { x: number; y: number }) => ({ transform: `translate(${p.x}px,${p.y}px)` });
      this.#cards[i]!.element.animate([at(from), at(rect)], { duration: 180, easing: "ease-out" });
    });
  }
}

function plate(box: Scene["boxes"][number], small: boolean): SVGGElement {
  const room = box.w - (small || box.members.length === 1 ? 24 : 170);
  const name = s("text.host-name", { x: box.x + (small ? 9 : 14), y: box.y + (small ? 15 : 22) }, fitted(box.host, room, "600 12px sans-serif"));
  const title = s("title");
  title.textContent = box.host;
  const element = s("g.host", {}, s("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: small ? 8 : 12 }), name);
  name.append(title);
  element.dataset.host = box.host;
  return element;
}
