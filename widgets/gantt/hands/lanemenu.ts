/** The box that says which lanes are shown, in which order; it lies over the chart, so that nothing moves. */
import { h, listen } from "../../shared/dom.ts";
import { isIdle, orderOf } from "../scene/rows.ts";
import { deviceOf } from "../scene/scene.ts";
import type { LaneChoice } from "../wire/traits.ts";
import type { Board } from "./board.ts";

export interface LaneMenu {
  /** The button in the chart's foot, and the box that it opens. */
  readonly button: HTMLButtonElement;
  readonly element: HTMLElement;
  /** Shows what is chosen now; `focused`: the device whose lane or op is selected, -1 for none. */
  show(board: Board, focused: number): void;
}

export function laneMenu(choose: (choice: LaneChoice) => void): LaneMenu {
  const button = h("button.lanes", {
    type: "button",
    "aria-expanded": "false",
    title: "Order, pin, hide and fold lanes",
  });
  button.textContent = "lanes"; // also before there is a schedule
  const element = h("div.lanebox", { role: "group", "aria-label": "Lanes", hidden: true });
  const group = `pl-order-${Math.random().toString(36).slice(2)}`; // of this chart's radio buttons
  return {
    button,
    element,
    show(board, focused) {
      const { chart, lanes: choice, rows } = board;
      if (!chart) return;
      const hidden = rows.at.filter((row) => row < 0).length;
      button.textContent = hidden ? `lanes: ${rows.at.length - hidden} of ${rows.at.length}` : "lanes";
      if (element.hidden) return;
      const idle = rows.at.filter((_, d) => isIdle(chart, d)).length;
      const hosts = [...new Set(board.labels.hosts)];
      const order = orderOf(choice, rows.at.length);
      const held = document.activeElement?.getAttribute("data-key"); // the box is drawn anew under the hand
      element.replaceChildren(
        radio(group, "by number", "number", order, () => choose({ ...choice, order: "number" })),
        radio(group, "busiest first", "busy", order, () => choose({ ...choice, order: "busy" })),
        check(`hide idle lanes (${idle})`, "hides", choice.hides ?? false, (hides) => choose({ ...choice, hides })),
        ...(hosts.length > 1
          ? hosts.map((host) =>
              check(`fold ${host}`, `host ${host}`, choice.folded?.includes(host) ?? false, (on) =>
                choose({ ...choice, folded: toggled(choice.folded, host, on) }),
              ),
            )
          : []),
        ...pins(board, focused, choose),
      );
      const again = held && element.querySelector<HTMLElement>(`[data-key=${JSON.stringify(held)}]`);
      if (again) again.focus();
    },
  };
}

/** A box per lane that is pinned, or could be: that of the device that is selected. */
function pins({ lanes: choice, labels }: Board, focused: number, choose: (choice: LaneChoice) => void): HTMLElement[] {
  const pinned = choice.pinned ?? [];
  const offered = focused < 0 || pinned.includes(focused) ? pinned : [...pinned, focused];
  const boxes = offered.map((d) =>
    check(`pin ${deviceOf(labels, d)}`, `pin ${d}`, pinned.includes(d), (on) =>
      choose({ ...choice, pinned: toggled(pinned, d, on) }),
    ),
  );
  return boxes.length ? boxes : [h("span.hint", {}, "Click a device's name, then p, to pin its lane.")];
}

/** `all` with `one` at its end, or without it. */
export function toggled<T>(all: readonly T[] = [], one: T, on: boolean): T[] {
  const others = all.filter((other) => other !== one);
  return on ? [...others, one] : others;
}

function check(text: string, key: string, on: boolean, change: (on: boolean) => void): HTMLElement {
  const box = h("input", { type: "checkbox", "data-key": key });
  box.checked = on;
  listen(box, "change", () => change(box.checked));
  return h("label", {}, box, text);
}

function radio(group: string, text: string, value: string, chosen: string, change: () => void): HTMLElement {
  const box = h("input", { type: "radio", name: group, "data-key": value, value });
  box.checked = value === chosen;
  listen(box, "change", change);
  return h("label", {}, box, text);
}
