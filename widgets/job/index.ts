/** A training run, an anywidget view: connects the model's traits with the picture. */
import type { Model } from "../shared/model.ts";
import { redraw } from "../shared/redraw.ts";
import { watchTheme } from "../shared/theme.ts";
import type { JobTraits } from "./traits.ts";
import { RunView } from "./view.ts";

const READ = ["run", "curve", "interval", "optimum", "limits", "message"] as const;

function render({ model, el }: { model: Model<JobTraits>; el: HTMLElement }): () => void {
  const view = new RunView((interval) => {
    model.set("interval", interval);
    model.save_changes();
  });
  el.append(view.element);
  const ends = [
    redraw(model, READ, (traits) => view.show(traits)),
    watchTheme(() => view.draw()),
    () => view.dispose(),
  ];
  return () => ends.forEach((end) => end());
}

export default { render };
