/** A plan by hand as text, for addresses: `0.3.a,1.2` are the ops of two devices in their order, in base 36. Pure. */

const BASE = 36;

export function lanesAsText(lanes: readonly Int32Array[]): string {
  return lanes.map((lane) => Array.from(lane, (v) => v.toString(BASE)).join(".")).join(",");
}

/** The device of each op, and the orders of the devices; throws a sentence where they are not of this page. */
export function lanesOfText(text: string, nOps: number, nDevices: number): [Int32Array, Int32Array[]] {
  const lanes = text.split(",").map((lane) => (lane ? lane.split(".").map((v) => Number.parseInt(v, BASE)) : []));
  const device = new Int32Array(nOps).fill(-1);
  lanes.forEach((lane, d) => {
    for (const v of lane) if (device[v] === -1) device[v] = d;
  });
  const all = lanes.reduce((sum, lane) => sum + lane.length, 0);
  if (lanes.length !== nDevices || all !== nOps || device.includes(-1))
    throw new Error("This link has a plan by hand of other ops or devices than this page.");
  return [device, lanes.map((lane) => Int32Array.from(lane))];
}
