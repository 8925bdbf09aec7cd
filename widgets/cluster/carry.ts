/** Carry a card with the pointer: to another place in its box, into another host, or out of all hosts. */
import type { Edit } from "../shared/commands.ts";
import { listen } from "../shared/dom.ts";
import type { Editor } from "./editor.ts";
import { type Box, contains, type Point, type Scene, slotAt, slotRect } from "./geometry.ts";
import { s, set } from "./svg.ts";

const OUTSIDE = "__outside__";

/** Lets the pointer carry the card of `device`; `hint` draws where it would go, `tapped` is called on a click. */
export function carry(
  element: SVGGElement,
  device: number,
  scene: Scene,
  editor: Editor,
  svg: SVGSVGElement,
  hint: SVGGElement,
  tapped: () => void,
  say: (text: string) => void,
): void {
  const home = scene.cards[device]!;
  const own = scene.boxes.find((box) => box.members.includes(device))!;
  let grip: Point | null = null;
  let moved = false;
  let last = "";
  let above: Node[] = []; // the cards drawn over this one; these are moved in the tree, since moving this one would lose the pointer

  const at = (event: PointerEvent): Point => {
    const matrix = svg.getScreenCTM()!.inverse();
    return { x: matrix.a * event.clientX + matrix.e, y: matrix.d * event.clientY + matrix.f };
  };
  const put = (p: Point) => set(element, { transform: `translate(${p.x},${p.y})` });
  const raise = () => {
    element.classList.add("carried");
    for (above = []; element.nextSibling; element.parentNode!.insertBefore(element.nextSibling, element))
      above.push(element.nextSibling);
  };
  const stop = (keep: boolean) => {
    if (!grip) return;
    grip = null;
    element.classList.remove("carried");
    element.parentNode?.append(...above);
    above = [];
    hint.replaceChildren();
    put(home);
    if (!moved) return tapped();
    if (!keep) editor.drag({ kind: "move", device, slot: own.members.indexOf(device) });
    editor.release();
  };

  listen(element, "pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    element.focus({ preventScroll: true });
    element.setPointerCapture(event.pointerId);
    const p = at(event);
    grip = { x: p.x - home.x, y: p.y - home.y };
    moved = false;
    last = `${own.host}/${own.members.indexOf(device)}`;
  });
  listen(element, "pointermove", (event) => {
    if (!grip || editor.model.get("values_only")) return;
    const p = at(event);
    const corner = { x: p.x - grip.x, y: p.y - grip.y };
    if (!moved && Math.hypot(corner.x - home.x, corner.y - home.y) < 5) return;
    if (!moved) raise();
    moved = true;
    put(corner);
    const middle = { x: corner.x + home.w / 2, y: corner.y + home.h / 2 };
    const drop = dropAt(scene, own, p, middle);
    hint.replaceChildren(...drawn(scene, own, drop, corner));
    const key = `${drop.box?.host ?? OUTSIDE}/${drop.slot}`;
    if (key === last) return;
    last = key;
    editor.drag(asEdit(drop, own, device));
    say(
      drop.box ? (drop.box === own ? `in ${own.host}` : `into ${drop.box.host}`) : "out of its host, to one of its own",
    );
  });
  listen(element, "pointerup", () => stop(true));
  listen(element, "lostpointercapture", (event) => event.target === element && stop(true)); // not when a value in it hands over
  listen(element, "keydown", (event) => {
    if (event.key !== "Escape" || !grip) return;
    event.stopPropagation();
    stop(false);
  });
}

interface Drop {
  readonly box: Box | null; // null: outside every host
  readonly slot: number;
}

function dropAt(scene: Scene, own: Box, p: Point, middle: Point): Drop {
  const box = scene.boxes.find((b) => contains(b, p)) ?? null;
  if (!box) return { box: null, slot: 0 };
  const places = box === own ? own.members.length : box.members.length + 1;
  return { box, slot: slotAt(box, scene.sizes, middle, places) };
}

function asEdit({ box, slot }: Drop, own: Box, device: number): Edit {
  if (box === own) return { kind: "move", device, slot };
  return { kind: "host", device, host: box?.host ?? null, slot };
}

/** The box that would take the card, and the place in it. */
function drawn({ sizes }: Scene, own: Box, { box, slot }: Drop, corner: Point): SVGElement[] {
  if (!box) {
    if (own.members.length === 1) return [];
    const rect = { x: corner.x - 8, y: corner.y - 24, width: sizes.card.w + 16, height: sizes.card.h + 32 };
    return [
      s("rect.target", { ...rect, rx: 10 }),
      s("text.target", { x: rect.x + 8, y: rect.y + 15 }, "host of its own"),
    ];
  }
  const place = slotRect(box, sizes, slot);
  const inside = place.y + place.h <= box.y + box.h;
  return [
    s("rect", {
      class: box === own ? "target same" : "target",
      x: box.x,
      y: box.y,
      width: box.w,
      height: box.h,
      rx: 12,
    }),
    ...(inside
      ? [s("rect.slot", { x: place.x - 3, y: place.y - 3, width: place.w + 6, height: place.h + 6, rx: 10 })]
      : []),
  ];
}
