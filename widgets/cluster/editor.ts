/**
 * The cluster under the hand: edits show at once, go to Python, and Python's word replaces the guess.
 *
 * All edits of a drag apply to the cluster as it was when the drag began, here and in Python, so that it does not matter
 * which of them arrive.
 */
import type { AnyModel } from "@anywidget/types";
import { Outbox } from "./outbox";
import { applied, fromWire, structure, type Cluster } from "./state";
import type { ClusterTraits, Edit } from "./traits";

export class Editor {
  cluster: Cluster;
  readonly model: AnyModel<ClusterTraits>;
  readonly #draw: (rebuild: boolean) => void;
  readonly #outbox: Outbox;
  #base: Cluster;
  #gesture: number | null = null;
  #drawn = "";

  constructor(model: AnyModel<ClusterTraits>, draw: (rebuild: boolean) => void) {
    this.model = model;
    this.#draw = draw;
    this.#outbox = new Outbox((message) => {
      model.set("edit", message);
      model.save_changes();
    });
    this.cluster = this.#base = fromWire(model.get("cluster"));
    this.#drawn = structure(this.cluster);
  }

  get dragging(): boolean {
    return this.#gesture !== null;
  }

  /** One more edit of the drag in progress, or the first of a new one. */
  drag(edit: Edit): void {
    if (this.#gesture === null) {
      this.#gesture = this.#outbox.nextGesture();
      this.#base = this.cluster;
    }
    this.cluster = applied(this.#base, edit);
    this.#outbox.post(edit, this.#gesture, false);
    this.#draw(false);
  }

  /** The hand lets go. */
  release(): void {
    if (this.#gesture === null) return;
    this.#outbox.post({ kind: "release" }, this.#gesture, true);
    this.#gesture = null;
  }

  /** An edit that is complete in itself. */
  do(edit: Edit): void {
    this.release();
    this.cluster = applied(this.cluster, edit);
    this.#outbox.post(edit, this.#outbox.nextGesture(), true);
    this.#draw(false);
  }

  select(device: number): void {
    this.model.set("selected", device);
    this.model.save_changes();
  }

  acknowledged(): void {
    this.#outbox.acknowledged(this.model.get("ack"));
    this.refresh();
  }

  /** Takes Python's cluster, unless the hand is ahead of it. */
  refresh(): void {
    if (this.dragging || !this.#outbox.idle) return;
    this.cluster = fromWire(this.model.get("cluster"));
    const now = structure(this.cluster);
    this.#draw(now !== this.#drawn);
    this.#drawn = now;
  }
}
