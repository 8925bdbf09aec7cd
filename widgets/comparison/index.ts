/** The comparison of all pairs of strategies, an anywidget view: connects the model's traits with the table. */
import { watchTheme } from "../shared/theme.js";
import type { Model } from "../gantt/traits.js";
import type { Asked, ComparisonTraits } from "./traits.js";
import { ComparisonView } from "./view.js";

const READ = ["schedulers", "rows", "shown", "measure", "status", "fraction", "action"] as const;

function render({ model, el }: { model: Model<ComparisonTraits>; el: HTMLElement }): () => void {
  const ask = (asked: Asked) => {
    model.set("asked", { ...asked, seq: (model.get("asked").seq ?? 0) + 1 });
    model.save_changes();
  };
  const view = new ComparisonView(ask, (measure) => {
    model.set("measure", measure);
    model.save_changes();
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
  const draw = () =>
    view.show({
      schedulers: model.get("schedulers"),
      rows: model.get("rows"),
      shown: model.get("shown"),
      measure: model.get("measure"),
      status: model.get("status"),
      fraction: model.get("fraction"),
      action: model.get("action"),
    });
  for (const name of READ) model.on(`change:${name}`, changed);
  el.append(view.element);
  draw();
  const unwatch = watchTheme(() => view.redraw());
  return () => {
    for (const name of READ) model.off(`change:${name}`, changed);
    unwatch();
    view.dispose();
  };
}

export default { render };
