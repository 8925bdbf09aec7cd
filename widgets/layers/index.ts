/** A decoder's layers over devices, an anywidget view: connects the model's traits with the strip. */
import type { Model } from "../shared/model.ts";
import { redraw } from "../shared/redraw.ts";
import { watchTheme } from "../shared/theme.ts";
import type { LayersTraits } from "./traits.ts";
import { LayersView } from "./view.ts";

const READ = [
  "devices",
  "borders",
  "limits",
  "sizes",
  "rows",
  "facts",
  "best",
  "now",
  "said",
  "ghosts",
  "launching",
  "launch",
  "of",
  "message",
] as const;

function render({ model, el }: { model: Model<LayersTraits>; el: HTMLElement }): () => void {
  const tells =
    <K extends "asked" | "launching">(name: K) =>
    (value: LayersTraits[K]) => {
      model.set(name, value);
      model.save_changes();
    };
  const view = new LayersView(tells("asked"), () => tells("launching")(false));
  el.append(view.element);
  const ends = [
    redraw(model, READ, (traits) => view.show(traits)),
    watchTheme(() => view.draw()),
    () => view.dispose(),
  ];
  return () => ends.forEach((end) => end());
}

export default { render };
