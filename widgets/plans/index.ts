/** A training plan, an anywidget view: connects the model's traits with the page. */
import type { Model } from "../shared/model.ts";
import { redraw } from "../shared/redraw.ts";
import { watchTheme } from "../shared/theme.ts";
import type { Asked, PlansTraits } from "./traits.ts";
import { PlansView } from "./view.ts";

const READ = ["page", "stages", "said", "refused", "remedies", "rows", "plane", "status"] as const;

function render({ model, el }: { model: Model<PlansTraits, Asked>; el: HTMLElement }): () => void {
  const view = new PlansView((asked) => model.send(asked));
  el.append(view.element);
  const ends = [redraw(model, READ, (traits) => view.show(traits)), watchTheme(() => view.mark())];
  return () => ends.forEach((end) => end());
}

export default { render };
