/** Shared links: the letter and colour of each, the devices that show it, the wires it is drawn on. Pure. */
import type { Pair } from "../shared/commands.ts";
import { KINDS } from "../shared/palette.ts";
import { type Cluster, ends } from "./state.ts";
import type { SharedLink } from "./traits.ts";

const COLOURS = [1, 2, 3, 5, 4].map((i) => KINDS[i]!); // blue marks what can be changed
const NAMED = 8; // pairs of devices in a text

export interface Share {
  readonly link: SharedLink;
  /** A, B, …, then numbers. */
  readonly sign: string;
  readonly colour: string;
  readonly bearers: readonly number[];
}

export function sharesOf(cluster: Cluster): Share[] {
  return cluster.shared.map((link, i) => ({
    link,
    sign: i < 26 ? String.fromCharCode(65 + i) : String(i + 1),
    colour: COLOURS[i % COLOURS.length]!,
    bearers: bearersOf(cluster, link.pairs),
  }));
}

/** The one device, or else the devices of the one host, that all pairs have as an end, as those of a network card; or else all ends. */
function bearersOf({ devices }: Cluster, pairs: readonly Pair[]): number[] {
  const all = ends(pairs);
  for (const part of [(device: number) => String(device), (device: number) => devices[device]!.host]) {
    const common = [...new Set(all.map(part))].filter((name) =>
      pairs.every(([a, b]) => part(a) === name || part(b) === name),
    );
    if (common.length === 1) return all.filter((device) => part(device) === common[0]);
  }
  return all;
}

/** Whether a shared link is drawn on each of these wires: on those that carry all its pairs, or else on all that carry some. */
export function ridden({ link }: Share, wires: readonly (readonly Pair[])[]): boolean[] {
  const carried = wires.map((pairs) => {
    const known = new Set(pairs.map(String));
    return link.pairs.filter((pair) => known.has(String(pair))).length;
  });
  const whole = carried.some((count) => count === link.pairs.length);
  return carried.map((count) => (whole ? count === link.pairs.length : count > 0));
}

/** "gpu:0 → gpu:2, gpu:0 → gpu:3 and 2 more". */
export function pairsText({ devices }: Cluster, { pairs }: SharedLink): string {
  const named = pairs.slice(0, NAMED).map(([a, b]) => `${devices[a]!.name} → ${devices[b]!.name}`);
  return named.join(", ") + (pairs.length > NAMED ? ` and ${pairs.length - NAMED} more` : "");
}
