/**
 * A plan by hand as text, for addresses: `0.3.a,1.2` are the ops of two devices in their order, in base 36. `~0.3,1` is a part of
 * one: other ops wait to be placed. Pure.
 */

const BASE = 36;
const PART = "~";

export function lanesAsText(lanes: readonly Int32Array[], part = false): string {
  const text = lanes.map((lane) => Array.from(lane, (v) => v.toString(BASE)).join(".")).join(",");
  return part ? PART + text : text;
}

/** Whether some ops of the plan wait to be placed. */
export const isPart = (text: string): boolean => text.startsWith(PART);

/** The device of each op, -1 for those that wait, and the orders of the devices; throws a sentence where they are not of this page. */
export function lanesOfText(text: string, nOps: number, nDevices: number): [Int32Array, Int32Array[]] {
  const part = isPart(text);
  const lanes = (part ? text.slice(1) : text)
    .split(",")
    .map((lane) => (lane ? lane.split(".").map((v) => Number.parseInt(v, BASE)) : []));
  const device = new Int32Array(nOps).fill(-1);
  lanes.forEach((lane, d) => {
    for (const v of lane) if (device[v] === -1) device[v] = d;
  });
  const all = lanes.reduce((sum, lane) => sum + lane.length, 0);
  const placed = device.reduce((sum, d) => sum + Number(d >= 0), 0);
  if (lanes.length !== nDevices || all !== placed || (placed < nOps && !part))
    throw new Error("This link has a plan by hand of other ops or devices than this page.");
  return [device, lanes.map((lane) => Int32Array.from(lane))];
}
