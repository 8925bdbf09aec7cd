/** The decisions of a partitioner, an anywidget view: connects the model's traits with the view. */
import type { Model } from "../shared/model.ts";
import { decodePage, type Page } from "./page.ts";
import type { Candidate, DecisionsTraits } from "./traits.ts";
import { decisionsView } from "./view.ts";

const NAMES = [
  ...(["page", "generation", "mode", "counts", "devices", "about", "step", "selection"] as const),
  ...(["choices", "against", "differs", "note", "stale", "whole"] as const),
];

function render({ model, el }: { model: Model<DecisionsTraits>; el: HTMLElement }): () => void {
  let page: Page = decodePage(new DataView(new ArrayBuffer(0)));
  let message: DataView | undefined;
  let drawing = 0;

  const view = decisionsView({
    went(row, op) {
      if (model.get("mode") === "decisions") model.set("step", row);
      if (op >= 0) model.set("selection", op);
      model.save_changes();
    },
    want(row) {
      model.set("wanted", row);
      model.save_changes();
    },
    mode(mode) {
      model.set("mode", mode);
      model.save_changes();
    },
    against(name) {
      model.set("against", name);
      model.save_changes();
    },
    whole(whole) {
      model.set("whole", whole);
      model.save_changes();
    },
    hides(hides) {
      if (hides === model.get("hides")) return;
      model.set("hides", hides);
      model.save_changes();
    },
    ghosts(candidates: Candidate[]) {
      if (JSON.stringify(candidates) === JSON.stringify(model.get("candidates"))) return;
      model.set("candidates", candidates);
      model.save_changes();
    },
  });

  const draw = () => {
    drawing = 0;
    let failure = "";
    try {
      if (model.get("page") !== message) {
        message = model.get("page");
        page = decodePage(message);
      }
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    view.show({
      page,
      generation: model.get("generation"),
      mode: model.get("mode"),
      counts: model.get("counts"),
      devices: model.get("devices"),
      about: model.get("about"),
      step: model.get("step"),
      selection: model.get("selection"),
      choices: model.get("choices"),
      against: model.get("against"),
      differs: model.get("differs"),
      note: failure || model.get("note"),
      stale: model.get("stale"),
      whole: model.get("whole") ?? false,
    });
  };
  /** Several traits that change at once are drawn once. */
  const changed = () => {
    drawing ||= requestAnimationFrame(draw);
  };
  /** Goes to the decision about an op that was selected elsewhere, if it is known here; else Python does. */
  const follow = () => {
    const op = model.get("selection");
    const row = page.mode === "decisions" ? page.rows.find((found) => found.op === op)?.row : undefined;
    if (row !== undefined && row !== model.get("step")) model.set("step", row);
  };
  model.on("change:selection", follow);
  for (const name of NAMES) model.on(`change:${name}`, changed);
  el.append(view.element);
  draw();
  return () => {
    model.off("change:selection", follow);
    for (const name of NAMES) model.off(`change:${name}`, changed);
    cancelAnimationFrame(drawing);
    view.dispose();
  };
}

export { KEYS as KEY_HELP } from "./controls.ts"; // the explorer's help lists it
export default { render };
