/**
 * The cluster while it is edited: edits show at once and go to Python, whose answer replaces them.
 *
 * All edits of a drag apply to the cluster as it was when the drag began, here and in Python, so that
 * any of them but the last may be lost.
 */
import type { Edit } from "../shared/commands.ts";
import type { Model } from "../shared/model.ts";
import { outbox } from "./outbox.ts";
import { applied, type Cluster, fromWire, structure } from "./state.ts";
import type { Chosen, ClusterTraits } from "./traits.ts";

export interface Editor {
  readonly cluster: Cluster;
  readonly model: Model<ClusterTraits>;
  readonly dragging: boolean;
  /** Whether Python has answered all edits. */
  readonly answered: boolean;
  /** Number of the drag in progress; null: none is. */
  readonly gesture: number | null;
  /** One more edit of the drag in progress, or the first of a new one. */
  drag(edit: Edit): void;
  /** Ends the drag. */
  release(): void;
  /** An edit that is complete in itself. */
  do(edit: Edit): void;
  select(device: number): void;
  choose(value: Chosen): void;
  acknowledged(): void;
  /** Takes Python's cluster, unless later edits are still on their way to Python. */
  refresh(): void;
}

export function editor(model: Model<ClusterTraits>, draw: (rebuild: boolean) => void, edited: () => void): Editor {
  const set = <K extends keyof ClusterTraits>(name: K, value: ClusterTraits[K]) => {
    model.set(name, value);
    model.save_changes();
  };
  const mail = outbox((message) => set("edit", message));
  let cluster = fromWire(model.get("cluster"));
  let base = cluster;
  let gesture: number | null = null;
  let drawn = structure(cluster);
  const self: Editor = {
    get cluster() {
      return cluster;
    },
    model,
    get gesture() {
      return gesture;
    },
    get dragging() {
      return gesture !== null;
    },
    get answered() {
      return mail.idle;
    },
    drag(edit) {
      if (gesture === null) {
        gesture = mail.nextGesture();
        base = cluster;
      }
      cluster = applied(base, edit);
      mail.post(edit, gesture, false);
      draw(false);
      edited();
    },
    release() {
      if (gesture === null) return;
      mail.post({ kind: "release" }, gesture, true);
      gesture = null;
    },
    do(edit) {
      self.release();
      cluster = applied(cluster, edit);
      mail.post(edit, mail.nextGesture(), true);
      draw(false);
      edited();
    },
    select: (device) => set("selected", device),
    choose: (value) => set("chosen", value),
    acknowledged() {
      mail.acknowledged(model.get("ack"));
      self.refresh();
    },
    refresh() {
      if (gesture !== null || !mail.idle) return;
      cluster = fromWire(model.get("cluster"));
      const now = structure(cluster);
      draw(now !== drawn);
      drawn = now;
    },
  };
  return self;
}
