/** The field in which an exact value or a name is typed, over the thing it is about. */
import { h, listen } from "../shared/dom.ts";
import { boxOf } from "../shared/zoom.ts";
import type { Rect } from "./geometry.ts";
import { fit } from "./room.ts";

const HEIGHT = 26; // of the field
const GAP = 3;

export interface Entry {
  readonly element: HTMLElement;
  /** `commit` takes the text and returns why it is refused, or null; focus returns to `owner`. */
  open(
    over: DOMRect,
    text: string,
    label: string,
    owner: HTMLElement | SVGElement,
    commit: (text: string) => string | null,
  ): void;
}

/** `room` is where it may be placed, in coordinates of `root`. */
export function entry(root: HTMLElement, room: () => Rect): Entry {
  const element = h("div.entry", { hidden: true });
  let shut: (() => void) | null = null;
  return {
    element,
    open(over, text, label, owner, commit) {
      shut?.();
      const input = h("input", { type: "text", "aria-label": label, spellcheck: "false", autocomplete: "off" });
      const complaint = h("div", { role: "alert" });
      input.value = text;
      const key = owner.dataset.key;
      const close = (focus: boolean) => {
        if (!shut) return;
        shut = null;
        element.hidden = true;
        const back = owner.isConnected
          ? owner
          : root.querySelector<SVGElement>(`[data-key="${CSS.escape(key ?? "")}"]`);
        if (focus) back?.focus({ preventScroll: true });
      };
      const bounds = boxOf(root);
      const place = () => {
        const space = room();
        const width = Math.min(Math.max(over.width + 24, 110), space.w);
        const top = fit(over.top + over.height / 2 - bounds.top - HEIGHT / 2, HEIGHT, space.y, space.h);
        const left = fit(over.left + over.width / 2 - bounds.left - width / 2, width, space.x, space.w);
        Object.assign(element.style, { left: `${left}px`, top: `${top}px`, width: `${width}px` });
        const { offsetWidth, offsetHeight } = complaint;
        Object.assign(complaint.style, {
          left: `${fit(left, offsetWidth, space.x, space.w) - left}px`,
          top: `${top + HEIGHT + GAP + offsetHeight <= space.y + space.h ? HEIGHT + GAP : -GAP - offsetHeight}px`,
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
      listen(input, "blur", () => {
        if (!shut) return;
        attempt();
        close(false);
      });
      element.replaceChildren(input, complaint);
      element.hidden = false;
      place();
      shut = () => close(false);
      input.focus();
      input.select();
    },
  };
}
