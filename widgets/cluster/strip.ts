/** The shared links below the drawing: sign, name and bandwidth of each; the one pointed at is shown in the drawing. */
import { inkOn } from "../shared/palette";
import { h, listen } from "../shared/dom";
import type { Adjust } from "./adjust";
import { pill, PILL } from "./pill";
import { pairsText, type Share } from "./shares";
import { fitted, s, set } from "./svg";
import { sharedOf } from "./targets";

const MOST = 200; // links that have an element
const NAME = 110; // pixels

export interface Strip {
  readonly element: HTMLElement;
  build(shares: readonly Share[]): void;
  /** Shows present values. */
  update(): void;
}

/** `show` is called with the share that the pointer is on, or else the focus; null for none. */
export function strip(adjust: Adjust, show: (share: Share | null) => void): Strip {
  const element = h("div.shares", { role: "group", "aria-label": "shared links", hidden: true });
  let updates: (() => void)[] = [];
  let under: Share | null = null,
    focused: Share | null = null;
  const reveal = () => show(under ?? focused);

  function item(share: Share): HTMLElement {
    const { cluster } = adjust.editor,
      { link } = share;
    const between = `shared between ${pairsText(cluster, link)}`;
    const value = pill(adjust, sharedOf(link.name));
    const drawing = s("svg", { height: PILL + 2 }, value.element);
    const sign = h("span.sign", { "aria-hidden": "true" }, share.sign);
    Object.assign(sign.style, { background: share.colour, color: inkOn(share.colour) });
    const one = h(
      "span.share",
      { role: "group", "aria-label": `shared link ${link.name}, ${between}`, title: `${link.name}: ${between}` },
      sign,
      fitted(link.name, NAME, "12px sans-serif"),
      drawing,
    );
    updates.push(() => {
      set(drawing, { width: value.width + 2 });
      value.update(1, PILL / 2 + 1);
    });
    listen(one, "pointerenter", () => ((under = share), reveal()));
    listen(one, "pointerleave", () => ((under = null), reveal()));
    listen(one, "focusin", () => ((focused = share), reveal()));
    listen(one, "focusout", () => ((focused = null), reveal()));
    return one;
  }

  return {
    element,
    build(shares) {
      updates = [];
      under = focused = null;
      element.hidden = !shares.length;
      const more = shares.length > MOST ? [h("span", {}, `and ${shares.length - MOST} more shared links`)] : [];
      element.replaceChildren(...shares.slice(0, MOST).map(item), ...more);
    },
    update() {
      for (const update of updates) update();
    },
  };
}
