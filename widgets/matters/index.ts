/** What matters, an anywidget view: connects the model's traits with the table. */
import type { Model } from "../shared/model.ts";
import { redraw } from "../shared/redraw.ts";
import { watchTheme } from "../shared/theme.ts";
import type { MattersTraits } from "./traits.ts";
import { MattersView } from "./view.ts";

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
