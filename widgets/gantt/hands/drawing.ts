/** Draws what has changed, on animation frames. */

import type { Damage } from "../../shared/frames.ts";
import { painter } from "../paint/draw.ts";
import { drawOverlay, type Moving } from "../paint/overlay.ts";
import { type Scene, xOf } from "../scene/scene.ts";
import type { Board } from "./board.ts";
import type { ByHand } from "./byhand.ts";
import type { Commands } from "./commands.ts";
import type { Minimap } from "./minimap.ts";
import type { Player } from "./playing.ts";
import type { Pointing } from "./pointing.ts";
import type { ProofLane } from "./prooflane.ts";
import type { Report } from "./report.ts";

export class Drawing {
  readonly #drawRows;
  readonly #root: HTMLElement;
  readonly #board: Board;
  readonly #player: Player;
  readonly #pointing: Pointing;
  readonly #commands: Commands;
  readonly #report: Report;
  readonly #proof: ProofLane;
  readonly #byHand: ByHand;
  readonly #map: Minimap;

  constructor(
    root: HTMLElement,
    board: Board,
    player: Player,
    pointing: Pointing,
    commands: Commands,
    report: Report,
    proof: ProofLane,
    byHand: ByHand,
    map: Minimap,
  ) {
    this.#root = root;
    this.#board = board;
    this.#player = player;
    this.#pointing = pointing;
    this.#commands = commands;
    this.#report = report;
    this.#proof = proof;
    this.#byHand = byHand;
    this.#map = map;
    this.#drawRows = painter(board.surface.base);
  }

  /** `elapsed` seconds after the last frame; returns whether the next one has something to show, too. */
  frame(damage: Damage, elapsed: number): boolean {
    const board = this.#board;
    const player = this.#player;
    const { seen } = board;
    player.frame(elapsed);
    const scene = board.scene();
    // A page that changes its theme hides itself for a moment: what is drawn without a size would be lost.
    if (!scene && board.chart) board.redraw(damage);
    if (scene && (damage === "all" || seen !== board.seen)) this.#drawBars(scene);
    if (scene) this.#drawMoving(scene);
    player.tell();
    return player.head.playing;
  }

  #drawBars(scene: Scene): void {
    const board = this.#board;
    const merged = this.#drawRows(scene);
    if (merged !== board.merged) this.#report.soon();
    board.merged = merged;
    const { width, ratio } = scene.layout;
    for (const canvas of [board.surface.base, board.surface.overlay]) canvas.style.width = `${width / ratio}px`;
    if (this.#proof.shown) this.#proof.place(scene);
    this.#map.draw(scene, board);
    this.#root.dataset.row = String(scene.layout.row / ratio);
    this.#root.dataset.span = `${scene.span.from} ${scene.span.to}`;
  }

  /** What is over the bars now. */
  get moving(): Moving {
    const { picked, incoming, candidates } = this.#board;
    return {
      ...{ time: this.#player.head.time, candidates, found: this.#commands.found },
      inside: this.#player.inside,
      selection: picked,
      incoming: incoming[0] === picked ? incoming.slice(1) : [],
      hover: this.#pointing.bar,
      together: this.#byHand.chosen,
      held: this.#byHand.held,
      area: this.#pointing.brushed ?? this.#board.area,
    };
  }

  #drawMoving(scene: Scene): void {
    const { ratio, gutter, axis } = scene.layout;
    const { surface } = this.#board;
    const { time } = this.#player.head;
    drawOverlay(surface.overlay, scene, this.moving);
    surface.playhead((xOf(scene, time) - gutter) / ratio, gutter / ratio, axis / ratio, this.#player.inside);
    this.#root.dataset.time = String(time);
  }
}
