/** What differs from the kept schedule, an anywidget view: connects the model's traits with the table. */
import { publish, TOGETHER } from "../shared/bus.ts";
import type { Of } from "../shared/commands.ts";
import type { Model } from "../shared/model.ts";
import { redraw } from "../shared/redraw.ts";
import { watchTheme } from "../shared/theme.ts";
import type { DifferenceTraits } from "./traits.ts";
import { DifferenceView } from "./view.ts";

const READ = ["rows", "heads", "groups", "group", "summary", "stale", "selection", "unitless", "beside"] as const;

function render({ model, el }: { model: Model<DifferenceTraits, Of<"beside">>; el: HTMLElement }): () => void {
  const send =
    <K extends "group" | "selection">(name: K) =>
    (value: DifferenceTraits[K]) => {
      model.set(name, value);
      model.save_changes();
    };
  const select = (op: number, scope: string) => {
    publish(el, TOGETHER, { name: scope });
    send("selection")(op);
  };
  const view = new DifferenceView(send("group"), select, () => model.send({ kind: "beside" }));
  el.append(view.element);
  const ends = [redraw(model, READ, (traits) => view.show(traits)), watchTheme(() => view.redraw())];
  return () => ends.forEach((end) => end());
}

export default { render };
