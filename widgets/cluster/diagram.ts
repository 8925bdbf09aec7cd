/** The drawing of hosts, cards and links, rebuilt when the cluster's structure changes and refreshed when its values do. */
import { reducedMotion } from "../shared/theme.ts";
import type { Adjust } from "./adjust.ts";
import { type Card, card } from "./card.ts";
import { carry } from "./carry.ts";
import type { Scene } from "./geometry.ts";
import { deviceLinks, hostLinks, type Links } from "./links.ts";
import type { Share } from "./shares.ts";
import { arrows, signs } from "./sharing.ts";
import { type Activity, ends } from "./state.ts";
import { fitted, s, set } from "./svg.ts";

export interface Diagram {
  readonly svg: SVGSVGElement;
  build(scene: Scene, small: boolean, selected: number, shares: readonly Share[]): void;
  /** Shows present values. */
  update(): void;
  /** Lights up devices that compute and marks links that carry something, while a schedule is played. */
  light(activity: Activity): void;
  /** Shows between which devices a link is shared; null: of none. */
  point(share: Share | null): void;
}

export function diagram(adjust: Adjust, say: (text: string) => void): Diagram {
  const svg = s("svg.diagram", { role: "group", "aria-label": "devices and links" });
  let cards: Card[] = [];
  let links: Links[] = [];
  let wasSmall = false;
  let scene: Scene;
  const pointed = s("g.pointed");
  let places = new Map<string, { x: number; y: number }>(); // of cards by device name, to move them from there

  function build(now: Scene, small: boolean, selected: number, shares: readonly Share[]): void {
    const { editor } = adjust;
    scene = now;
    point(null);
    const hint = s("g.hint");
    cards = scene.cards.map((rect, device) => card(adjust, device, rect, small || scene.sizes.close));
    if (!small)
      cards.forEach(({ element }, device) =>
        element.append(
          ...signs(
            shares.filter((share) => share.bearers.includes(device)),
            scene.cards[device]!,
          ),
        ),
      );
    const hosts = small ? [] : hostLinks(adjust, scene, shares);
    const own = small || selected < 0 || selected >= scene.cards.length ? [] : deviceLinks(adjust, scene, selected);
    links = [...hosts, ...own];
    const ordered = scene.boxes.flatMap((box) => box.members);
    const fixed = editor.model.get("values_only");
    const plates =
      small && scene.boxes.length === 1 ? [] : scene.boxes.map((box) => plate(box, small || scene.sizes.close, fixed));
    svg.replaceChildren(
      s("g.hosts", {}, ...plates),
      s("g", { class: own.length ? "lines dim" : "lines" }, ...hosts.flatMap((link) => link.lines)),
      s("g.lines", {}, ...own.flatMap((link) => link.lines)),
      s("g.labels", {}, ...hosts.flatMap((link) => link.labels)),
      hint,
      s("g.cards", {}, ...ordered.map((device) => cards[device]!.element)),
      s("g.labels", {}, ...own.flatMap((link) => link.labels)),
      pointed,
    );
    const { margin, below, close } = scene.sizes;
    svg.classList.toggle("close", close);
    set(svg, {
      viewBox: `${-margin} ${-margin} ${scene.width + 2 * margin} ${scene.height + margin + below}`,
      width: scene.width + 2 * margin,
    });
    for (const device of ordered) {
      const tapped = () => editor.select(editor.model.get("selected") === device ? -1 : device);
      carry(cards[device]!.element, device, scene, editor, svg, hint, tapped, say);
    }
    glide(scene, small);
  }

  function update(): void {
    const { model, cluster } = adjust.editor;
    const peak = model.get("peak");
    const selected = model.get("selected");
    const measured = model.get("load");
    const load = measured.length === cluster.devices.length ? measured : []; // else of another cluster
    cards.forEach((c, device) => c.update(peak[device] ?? NaN, device === selected));
    for (const link of links) link.update(load);
  }

  function light({ devices, links: carrying }: Activity): void {
    svg.classList.toggle("playing", devices.length + carrying.length > 0);
    const computing = new Set(devices);
    const used = new Set(carrying.map(String));
    cards.forEach((c, device) => c.element.classList.toggle("active", computing.has(device)));
    for (const { lines, pairs } of links)
      lines.at(-1)!.classList.toggle(
        "carries",
        pairs.some((pair) => used.has(String(pair))),
      );
  }

  function point(share: Share | null): void {
    pointed.replaceChildren(...(share && !wasSmall ? arrows(share, scene) : []));
    const used = new Set(share ? ends(share.link.pairs) : []);
    cards.forEach(({ element }, device) => {
      element.classList.toggle("sharing", used.has(device));
      element.style.setProperty("--pl-share", share?.colour ?? "");
    });
  }

  /** Animates cards to their new places. */
  function glide(scene: Scene, small: boolean): void {
    const { devices } = adjust.editor.cluster;
    const before = places;
    places = new Map(scene.cards.map((rect, i) => [devices[i]!.name, rect]));
    const other = small !== wasSmall; // another kind of drawing: nothing to animate
    wasSmall = small;
    if (other || reducedMotion()) return;
    scene.cards.forEach((rect, i) => {
      const from = before.get(devices[i]!.name);
      if (!from || (from.x === rect.x && from.y === rect.y)) return;
      const at = (p: { x: number; y: number }) => ({ transform: `translate(${p.x}px,${p.y}px)` });
      cards[i]!.element.animate([at(from), at(rect)], { duration: 180, easing: "ease-out" });
    });
  }

  return { svg, build, update, light, point };
}

const BESIDE = 18; // from a box's top to values beside its title
const TITLE = 18; // pixels from a title's foot down to the cards, with the bus between
const FOOT = 8; // the same without a bus

/** The box of a host, whose name can be changed unless it is fixed. */
function plate(box: Scene["boxes"][number], small: boolean, fixed: boolean): SVGGElement {
  const alone = box.label > BESIDE || box.header < TITLE + 10 || box.members.length === 1; // without values beside it
  const room = box.w - (alone ? 24 : small ? 142 : 170);
  const name = s(
    "text.host-name",
    {
      x: box.x + (small ? 9 : 14),
      y: box.y + (small ? 15 : Math.min(22, box.header - (box.members.length > 1 ? TITLE : FOOT))),
    },
    fitted(box.host, room, "600 12px sans-serif"),
  );
  const label = `host ${box.host}${fixed ? "" : ": Enter or double-click to rename"}`;
  name.append(s("title", {}, label));
  const renamed = { tabindex: 0, role: "button", "aria-label": label, "data-key": `host:${box.host}` };
  if (!fixed) set(name, { ...renamed, "data-host": box.host });
  const element = s(
    "g.host",
    {},
    s("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: small ? 8 : 12 }),
    name,
  );
  element.dataset.host = box.host;
  return element;
}
