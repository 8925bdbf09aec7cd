/** The model graph, an anywidget view: connects the model's traits with the picture. */

import { publish, subscribe, TOGETHER } from "../shared/bus.ts";
import { unitsOf } from "../shared/format.ts";
import type { Model } from "../shared/model.ts";
import type { Asked, GraphTraits } from "./traits.ts";
import { decodeValues } from "./values.ts";
import { GraphView } from "./view.ts";

function render({ model, el }: { model: Model<GraphTraits, Asked>; el: HTMLElement }): () => void {
  const send = <K extends keyof GraphTraits>(name: K, value: GraphTraits[K]) => {
    model.set(name, value);
    model.save_changes();
  };
  const view = new GraphView({
    selected: (op) => op !== model.get("selection") && send("selection", op),
    gathered: (name, ops) => publish(el, TOGETHER, { name, ops }),
    toggled(scope) {
      const opened = model.get("opened");
      send("opened", opened.includes(scope) ? opened.filter((other) => other !== scope) : [...opened, scope]);
    },
    coloured: (colour) => send("colour", colour),
    queried: (text) => send("query", text),
    asked: (command) => model.send(command),
    shaped: (aspect) => send("aspect", aspect),
  });

  /** Puts something into the sheet and draws it. */
  const changed = (change: () => void) => () => {
    change();
    view.refresh();
  };
  const { sheet } = view;
  const onScene = () => view.showScene(model.get("scene"), new Int32Array(copied(model.get("owner"))));
  const onValues = changed(() => sheet.change({ values: decodeValues(model.get("values")) }));
  const onLabels = changed(() => {
    const kinds = new Uint8Array(copied(model.get("kinds")));
    sheet.change({
      labels: {
        devices: model.get("devices"),
        units: unitsOf(model.get("unitless")),
        kinds,
        kindNames: model.get("kind_names"),
      },
    });
  });
  const onPins = changed(() => {
    sheet.change({ pinned: new Int16Array(copied(model.get("pinned"))) });
    view.canPin = model.get("can_pin");
  });
  const onColour = changed(() => sheet.setColour(model.get("colour")));
  const onHits = () => view.showHits(new Uint32Array(copied(model.get("hits"))), model.get("query"));
  const onSelection = () => view.showSelection(model.get("selection"));

  const listeners: [string, () => void][] = [
    ["kinds", onLabels],
    ["kind_names", onLabels],
    ["devices", onLabels],
    ["unitless", onLabels],
    ["pinned", onPins],
    ["can_pin", onPins],
    ["colour", onColour],
    ["values", onValues],
    ["scene", onScene],
    ["hits", onHits],
    ["selection", onSelection],
  ];
  for (const callback of new Set(listeners.map(([, callback]) => callback))) callback();
  for (const [name, callback] of listeners) model.on(`change:${name}`, callback);
  el.append(view.element);
  const silence = subscribe<{ time: number; playing?: boolean }>(view.element, "playhead", ({ time, playing }) =>
    view.showTime(time, playing ?? false),
  );
  return () => {
    silence();
    for (const [name, callback] of listeners) model.off(`change:${name}`, callback);
    view.dispose();
  };
}

/** The bytes of a message, at an address that every kind of column can begin at. */
const copied = ({ buffer, byteOffset, byteLength }: DataView): ArrayBuffer =>
  (buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength);

export { KEY_HELP } from "./keyboard.ts"; // the explorer's help lists it
export default { render };
