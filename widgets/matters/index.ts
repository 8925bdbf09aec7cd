/** What matters, an anywidget view: connects the model's traits with the table. */
import type { Model } from "../gantt/traits.js";
import { watchTheme } from "../shared/theme.js";
import type { MattersTraits } from "./traits.js";
import { MattersView } from "./view.js";

const READ = ["rows", "makespan", "percent", "fraction", "status", "stale", "selection"] as const;

function render({ model, el }: { model: Model<MattersTraits>; el: HTMLElement }): () => void {
  const send = (name: "percent" | "selection") => (value: number) => {
    model.set(name, value);
    model.save_changes();
  };
  const view = new MattersView(send("percent"), send("selection"));
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
      rows: model.get("rows"),
      makespan: model.get("makespan"),
      percent: model.get("percent"),
      fraction: model.get("fraction"),
      status: model.get("status"),
      stale: model.get("stale"),
      selection: model.get("selection"),
    });
  for (const name of READ) model.on(`change:${name}`, changed);
  el.append(view.element);
  draw();
  const unwatch = watchTheme(draw);
  return () => {
    for (const name of READ) model.off(`change:${name}`, changed);
    unwatch();
    view.dispose();
  };
}

export default { render };
