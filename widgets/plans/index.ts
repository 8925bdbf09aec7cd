/** A training plan, an anywidget view: connects the model's traits with the page. */
import type { Model } from "../shared/model.ts";
import { redraw } from "../shared/redraw.ts";
import { watchTheme } from "../shared/theme.ts";
import type { PlansTraits } from "./traits.ts";
import { PlansView } from "./view.ts";

const READ = ["page", "stages", "said", "refused", "remedies", "rows", "plane", "status"] as const;

function render({ model, el }: { model: Model<PlansTraits>; el: HTMLElement }): () => void {
  const view = new PlansView((row, keep, remedy = -1) => {
    model.set("asked", { row, remedy, keep, seq: Date.now() });
    model.save_changes();
  });
  el.append(view.element);
  const ends = [redraw(model, READ, (traits) => view.show(traits)), watchTheme(() => view.mark())];
  return () => ends.forEach((end) => end());
}

export default { render };
