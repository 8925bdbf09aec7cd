/** The comparison of all pairs of strategies, an anywidget view: connects the model's traits with the table. */
import type { Model } from "../shared/model.ts";
import { redraw } from "../shared/redraw.ts";
import { watchTheme } from "../shared/theme.ts";
import type { Asked, ComparisonTraits } from "./traits.ts";
import { ComparisonView } from "./view.ts";

const READ = [
  "schedulers",
  "rows",
  "shown",
  "other_options",
  "measure",
  "status",
  "fraction",
  "action",
  "unitless",
] as const;

function render({ model, el }: { model: Model<ComparisonTraits, Asked>; el: HTMLElement }): () => void {
  const choose = (measure: string) => {
    model.set("measure", measure);
    model.save_changes();
  };
  const view = new ComparisonView((asked) => model.send(asked), choose);
  el.append(view.element);
  const ends = [
    redraw(model, READ, (traits) => view.show(traits)),
    watchTheme(() => view.redraw()),
    () => view.dispose(),
  ];
  return () => ends.forEach((end) => end());
}

export default { render };
