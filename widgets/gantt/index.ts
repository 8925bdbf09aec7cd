/** The Gantt chart of a schedule, an anywidget view: connects the model's traits with the chart. */
import { play } from "../player/player.js";
import { decodeNames } from "./decode.js";
import { decodeMemory } from "./memory.js";
import { chart } from "./scene.js";
import type { GanttTraits, Model } from "./traits.js";
import { ganttView } from "./view.js";
import { say } from "./words.js";

export function render({ model, el }: { model: Model<GanttTraits>; el: HTMLElement }): () => void {
  const send = <K extends keyof GanttTraits>(name: K, value: GanttTraits[K]) => {
    model.set(name, value);
    model.save_changes();
  };
  const view = ganttView({
    selected: (op) => send("selection", op),
    lanes: (shown) => send("memory_shown", shown),
  });

  /** A message that cannot be read leaves the previous schedule on show. */
  const read = (what: () => void) => () => {
    try {
      what();
    } catch (error) {
      say(view.words.warning, error instanceof Error ? error.message : String(error));
    }
  };
  const onSchedule = read(() => {
    const message = model.get("schedule");
    if (message.byteLength) view.show(chart(message));
  });
  const onMemory = read(() => view.showMemory(decodeMemory(model.get("memory"))));
  const onLanes = () => view.showLanes(model.get("memory_shown"));
  const onLabels = () => {
    const kinds = model.get("kinds");
    view.label({
      names: decodeNames(model.get("names")),
      kinds: new Uint8Array(kinds.buffer, kinds.byteOffset, kinds.byteLength),
      kindNames: model.get("kind_names"),
      devices: model.get("devices"),
    });
  };
  const onNames = () => {
    onLabels();
    view.restart();
  };
  const onWarning = () => say(view.words.warning, model.get("warning"));
  const onDetail = () => say(view.words.detail, model.get("detail"));
  const onNumbers = () => view.strip.show(model.get("numbers"));
  const onStale = () => view.showStale(model.get("stale"));
  const onHeight = () => view.resize(model.get("height"));
  const onSelection = () => view.showSelection(model.get("selection"));

  const listeners: [string, () => void][] = [
    ["names", onNames],
    ["kinds", onLabels],
    ["kind_names", onLabels],
    ["devices", onLabels],
    ["numbers", onNumbers],
    ["warning", onWarning],
    ["detail", onDetail],
    ["stale", onStale],
    ["height", onHeight],
    ["schedule", onSchedule],
    ["memory", onMemory],
    ["memory_shown", onLanes],
    ["selection", onSelection],
  ];
  for (const callback of new Set(listeners.map(([, callback]) => callback))) callback();
  for (const [name, callback] of listeners) model.on(`change:${name}`, callback);
  el.append(view.element);
  return () => {
    for (const [name, callback] of listeners) model.off(`change:${name}`, callback);
    view.dispose();
  };
}

// A page written by placelab.export.html contains this module and its data; elsewhere this does nothing.
void play(render);

export default { render };
