/** Which lanes are shown, in which order: chosen in a menu, by a key, or by a click on a folded host. */
import { deviceOf } from "../scene/scene.ts";
import type { LaneChoice } from "../wire/traits.ts";
import type { Board } from "./board.ts";
import { laneMenu, toggled } from "./lanemenu.ts";
import type { Report } from "./report.ts";

export interface Arranged {
  /** The device that is selected, or that runs the selected op; -1 for none. */
  focused(): number;
  /** A user has chosen. */
  tell(choice: LaneChoice): void;
}

export class Arranging {
  readonly #menu = laneMenu((choice) => this.choose(choice));
  readonly #board: Board;
  readonly #report: Report;
  readonly #on: Arranged;

  constructor(board: Board, report: Report, on: Arranged) {
    this.#board = board;
    this.#report = report;
    this.#on = on;
  }

  /** The button of the menu, and its box. */
  get button(): HTMLButtonElement {
    return this.#menu.button;
  }

  get box(): HTMLElement {
    return this.#menu.element;
  }

  /** Opens or closes the menu. */
  open(opens: boolean): void {
    this.#menu.element.hidden = !opens;
    this.#menu.button.setAttribute("aria-expanded", String(opens));
    this.show();
  }

  /** Shows in the menu what is chosen now. */
  show(): void {
    this.#menu.show(this.#board, this.#on.focused());
  }

  /** Arranges the lanes as was chosen here or elsewhere. */
  follow(choice: LaneChoice): void {
    this.#board.arrange(choice);
    this.#board.reveal();
    this.show();
  }

  choose(choice: LaneChoice): void {
    this.follow(choice);
    this.#on.tell(choice);
  }

  unfold(host: string): void {
    const { lanes } = this.#board;
    this.choose({ ...lanes, folded: toggled(lanes.folded, host, false) });
  }

  /** Unfolds the host whose device runs the selected op: its bar is to be seen. */
  unfoldSelected(): void {
    const { chart, picked, labels, lanes } = this.#board;
    const host = chart && picked >= 0 ? labels.hosts?.[chart.columns.ops.device[picked]!] : undefined;
    if (host !== undefined && lanes.folded?.includes(host)) this.unfold(host);
  }

  /** Pins the lane of what is selected to the top, or releases it. */
  pin(): void {
    const { lanes, labels } = this.#board;
    const device = this.#on.focused();
    if (device < 0) return this.#report.note("p pins the lane of the device or op that is selected: click one first");
    const on = !lanes.pinned?.includes(device);
    this.choose({ ...lanes, pinned: toggled(lanes.pinned, device, on) });
    this.#report.note(`the lane of ${deviceOf(labels, device)} is ${on ? "pinned to the top" : "no longer pinned"}`);
  }
}
