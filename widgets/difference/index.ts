/** What differs from the kept schedule, an anywidget view: connects the model's traits with the table. */
import type { Model } from "../gantt/traits.js";
import { watchTheme } from "../shared/theme.js";
import type { DifferenceTraits } from "./traits.js";
import { DifferenceView } from "./view.js";

const READ = ["rows", "groups", "group", "summary", "stale", "selection"] as const;

function render({ model, el }: { model: Model<DifferenceTraits>; el: HTMLElement }): () => void {
  const send = <K extends "group" | "selection">(name: K) => (value: DifferenceTraits[K]) => {
    model.set(name, value);
    model.save_changes();
  };
  const view = new DifferenceView(send("group"), send("selection"));
  const draw = () =>
    view.show({
      rows: model.get("rows"),
      groups: model.get("groups"),
      group: model.get("group"),
      summary: model.get("summary"),
      stale: model.get("stale"),
      selection: model.get("selection"),
    });
  let due = false;
  /** One drawing for all traits of a message. */
  const changed = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => {
      due = false;
      draw();
    });
  };
  for (const name of READ) model.on(`change:${name}`, changed);
  el.append(view.element);
  draw();
  const unwatch = watchTheme(draw);
  return () => {
    for (const name of READ) model.off(`change:${name}`, changed);
    unwatch();
  };
}

export default { render };
