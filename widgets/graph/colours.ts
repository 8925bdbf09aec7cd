/** What the colours of the boxes mean. Pure. */
import { deviceColour, KINDS } from "../shared/palette.ts";
import { RAMPS } from "../shared/ramp.ts";
import { EIGHTHS, type Sums } from "./values.ts";

export const COLOURS = ["device", "kind", "time", "slack", "critical"] as const;
export const COLOUR_NAMES: Record<string, string> = { critical: "critical path" };

/** A part of a box and its colour. */
export interface Part {
  readonly colour: string;
  readonly share: number;
}
export interface Legend {
  readonly colour: string;
  readonly text: string;
}

const OTHER = KINDS.length - 1; // the grey
const DECADES = 4; // of the time that a box takes, from the box that takes most
const LEAST = 0.02; // share of a box that is drawn

/** The colours of a box, which share it; empty while nothing is known. */
export function partsOf(sums: Sums, box: number, colour: string, critical: string, most: number, dark = false): Part[] {
  if (colour === "kind") return shares(sums.byKind, box, sums.nKinds, (kind) => KINDS[kind]!);
  const { byDevice, nDevices } = sums;
  if (!byDevice.subarray(box * nDevices, (box + 1) * nDevices).some(Boolean)) return []; // nothing is known, or nothing placed
  if (colour === "time") {
    const step = Math.min(Math.floor(timeLevel(sums.time[box]!, most) * EIGHTHS), EIGHTHS - 1);
    return [{ colour: RAMPS.layer[step]!, share: 1 }];
  }
  if (colour === "slack") return shares(sums.byMark, box, EIGHTHS, (eighth) => RAMPS.slack[eighth]!);
  if (colour === "critical")
    return shares(sums.byMark, box, EIGHTHS, (eighth) => (eighth ? critical : KINDS[OTHER]!)).reverse();
  return shares(byDevice, box, nDevices, (device) => deviceColour(device, dark));
}

/** What the colours stand for, where there is something. */
export function legendOf(
  sums: Sums,
  colour: string,
  critical: string,
  devices: string[],
  kinds: string[],
  dark = false,
): Legend[] {
  const seen = (columns: Float64Array, n: number, column: number) => {
    for (let i = column; i < columns.length; i += n) if (columns[i]) return true;
    return false;
  };
  if (colour === "kind") {
    return kinds.flatMap((text, k) => (text && seen(sums.byKind, sums.nKinds, k) ? [{ colour: KINDS[k]!, text }] : []));
  }
  if (colour === "time") return ends("layer", "little time", "most time");
  if (colour === "slack") return ends("slack", "no slack", "much slack");
  if (colour === "critical")
    return [
      { colour: critical, text: "on the critical path" },
      { colour: KINDS[OTHER]!, text: "not" },
    ];
  return devices.flatMap((text, d) =>
    d < sums.nDevices && seen(sums.byDevice, sums.nDevices, d) ? [{ colour: deviceColour(d, dark), text }] : [],
  );
}

const ends = (ramp: keyof typeof RAMPS, first: string, last: string): Legend[] =>
  RAMPS[ramp].map((colour, i) => ({ colour, text: i === 0 ? first : i === 7 ? last : "" }));

/** 1 for the most, less by a quarter for each tenth of it. */
const timeLevel = (time: number, most: number): number =>
  time > 0 && most > 0 ? Math.max(0, 1 + Math.log10(time / most) / DECADES) : 0;

function shares(columns: Float64Array, box: number, n: number, colour: (column: number) => string): Part[] {
  const sum = columns.subarray(box * n, (box + 1) * n).reduce((sum, x) => sum + x, 0);
  if (!sum) return [];
  const parts: Part[] = [];
  for (let i = 0; i < n; i++) {
    const share = columns[box * n + i]! / sum;
    if (share > 0) parts.push({ colour: colour(i), share: Math.max(share, LEAST) });
  }
  return parts;
}
