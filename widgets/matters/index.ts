/** What matters, an anywidget view: connects the model's traits with the table. */
import type { Model } from "../gantt/traits.js";
import { redraw } from "../shared/redraw.js";
import { watchTheme } from "../shared/theme.js";
import type { MattersTraits } from "./traits.js";
import { MattersView } from "./view.js";

const READ = ["rows", "makespan", "percent", "fraction", "status", "stale", "selection", "unitless"] as const;

function render({ model, el }: { model: Model<MattersTraits>; el: HTMLElement }): () => void {
  const send = (name: "percent" | "selection") => (value: number) => {
    model.set(name, value);
    model.save_changes();
  };
  const view = new MattersView(send("percent"), send("selection"));
  el.append(view.element);
  const ends = [
    redraw(model, READ, (traits) => view.show(traits)),
    watchTheme(() => view.redraw()),
    () => view.dispose(),
  ];
  return () => ends.forEach((end) => end());
}

export default { render };
