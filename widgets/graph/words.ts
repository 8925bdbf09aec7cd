/** A box in words: for the tooltip, and to be read out. Pure. */

import { count, percent, SI } from "../shared/format.ts";
import type { Description } from "../shared/tooltip.ts";
import { isScope, type Picture } from "./picture.ts";
import { SEVERAL, type Sums } from "./values.ts";

const FEW = 4; // devices that are named
const LITTLE = 1e-4; // of the time on the first one; less is not mentioned

export function describe(picture: Picture, sums: Sums, index: number, devices: string[], units = SI): Description {
  const box = picture.boxes[index]!;
  const rows: [string, string][] = [];
  const scope = isScope(picture, box);
  if (scope) rows.push(["ops", count(box.ops)]);
  if (box.kinds) rows.push([scope ? "kinds" : "kind", box.kinds]);
  if (sums.nDevices) {
    const all = picture.boxes.reduce((sum, { inside }, i) => (inside < 0 ? sum + sums.time[i]! : sum), 0);
    rows.push([
      "time",
      units.time(sums.time[index]!) + (all ? `, ${percent(sums.time[index]! / all)} of all work` : ""),
    ]);
    rows.push([scope ? "devices" : "device", whereOf(sums, index, devices)]);
  }
  const carried = (edges: readonly number[]) => edges.reduce((sum, i) => sum + picture.edges[i]!.bytes, 0);
  const [into, out] = [picture.entering[index]!, picture.leaving[index]!];
  if (!box.open) rows.push(["tensors", `${units.bytes(carried(into))} in, ${units.bytes(carried(out))} out`]);
  const pins = sums.pins[index]!;
  if (pins) {
    const to = sums.pinnedTo[index]!;
    const where = to === SEVERAL ? "several devices" : (devices[to] ?? "");
    rows.push(["pinned", pins === box.ops ? where : `${count(pins)} of ${count(box.ops)} ops to ${where}`]);
  }
  return {
    title: box.path && box.label.startsWith("depth ") ? `${box.path}, ${box.label}` : box.path || box.label,
    rows,
  };
}

/** One line for a screen reader. */
export function spoken(picture: Picture, sums: Sums, index: number, devices: string[], units = SI): string {
  const { title, rows } = describe(picture, sums, index, devices, units);
  const box = picture.boxes[index]!;
  const state = isScope(picture, box) ? `, ${box.open ? "open" : "closed"} scope` : "";
  return [`${title}${state}`, ...rows.map(([label, value]) => `${label} ${value}`)].join("; ");
}

function whereOf(sums: Sums, index: number, devices: string[]): string {
  const { nDevices, byDevice } = sums;
  const found = Array.from({ length: nDevices }, (_, d) => [d, byDevice[index * nDevices + d]!] as const)
    .filter(([, time]) => time > 0)
    .sort((a, b) => b[1] - a[1])
    .filter(([, time], _, [first]) => time > LITTLE * first![1]);
  const all = found.reduce((sum, [, time]) => sum + time, 0);
  const name = (d: number) => devices[d] ?? `device ${d}`;
  if (found.length === 1) return name(found[0]![0]);
  const texts = found.slice(0, FEW).map(([d, time]) => `${name(d)} ${percent(time / all)}`);
  return texts.join(", ") + (found.length > FEW ? `, ${found.length - FEW} more` : "");
}
