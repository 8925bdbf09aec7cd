/** A decoder's layers over devices, an anywidget view: connects the model's traits with the strip. */
import type { Model } from "../shared/model.ts";
import { redraw } from "../shared/redraw.ts";
import { watchTheme } from "../shared/theme.ts";
import type { LayersTraits } from "./traits.ts";
import { LayersView } from "./view.ts";

const READ = ["devices", "borders", "limits", "sizes", "rows", "best", "said", "of", "message"] as const;

function render({ model, el }: { model: Model<LayersTraits>; el: HTMLElement }): () => void {
  const view = new LayersView((asked) => {
    model.set("asked", asked);
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
