/** Choices of menus: where a box can be pinned, and what is pinned. */
import { count } from "../shared/format.ts";
import { deviceColour } from "../shared/palette.ts";
import type { Choice } from "./menu.ts";
import type { Picture } from "./picture.ts";
import type { Asked } from "./traits.ts";
import { pinnedBoxes, SEVERAL, type Sums } from "./values.ts";

type Ask = (command: Asked) => void;

/** Each device to pin a node to; for a pinned one, to take the pin away. */
export function pinChoices(node: number, pinned: boolean, devices: string[], dark: boolean, ask: Ask): Choice[] {
  const to = devices.map((name, device) => ({
    text: `Pin to ${name}`,
    colour: deviceColour(device, dark),
    act: () => ask({ kind: "pin", node, device }),
  }));
  return pinned ? [...to, { text: "Take the pin away", act: () => ask({ kind: "unpin", node }) }] : to;
}

/** Each box with pins, whose pins the choice takes away; last: all. */
export function unpinChoices(picture: Picture, sums: Sums, devices: string[], dark: boolean, ask: Ask): Choice[] {
  const boxes = pinnedBoxes(picture, sums).map((i) => {
    const { label, path, ops, node } = picture.boxes[i]!;
    const to = sums.pinnedTo[i]!;
    const part = sums.pins[i] === ops ? "" : ` (${count(sums.pins[i]!)} of ${count(ops)} ops)`;
    const where = to === SEVERAL ? "several devices" : devices[to];
    const colour = to === SEVERAL ? undefined : deviceColour(to, dark);
    return { text: `${path || label}${part} on ${where}`, colour, act: () => ask({ kind: "unpin", node }) };
  });
  return [...boxes, { text: "All pins", act: () => ask({ kind: "unpin", node: picture.nOps }) }];
}
