/** The shared links below the drawing: sign, name and bandwidth of each; the one pointed at is shown in the drawing. */

import { h, listen } from "../shared/dom.ts";
import { inkOn } from "../shared/palette.ts";
import type { Adjust } from "./adjust.ts";
import { PILL, pill } from "./pill.ts";
import { pairsText, type Share } from "./shares.ts";
import { fitted, s, set } from "./svg.ts";
import { sharedOf } from "./targets.ts";

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
  let under: Share | null = null;
  let focused: Share | null = null;
  const point = (share: Share | null) => {
    under = share;
    show(under ?? focused);
  };
  const focus = (share: Share | null) => {
    focused = share;
    show(under ?? focused);
  };

  function item(share: Share): HTMLElement {
    const { cluster } = adjust.editor;
    const { link } = share;
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
    listen(one, "pointerenter", () => point(share));
    listen(one, "pointerleave", () => point(null));
    listen(one, "focusin", () => focus(share));
    listen(one, "focusout", () => focus(null));
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
