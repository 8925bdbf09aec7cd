/** The colours of a Gantt chart under a theme: as pixels for the raster, as CSS for text and lines. */
import { devicePalette, inkOn, KINDS } from "../../shared/palette.ts";
import type { Theme } from "../../shared/theme.ts";
import type { IDLE_REASONS } from "../wire/decode.ts";

/** Colour index of transfers and Send ops, behind those of the op kinds. */
export const TRANSFER = KINDS.length;
/** Colour index of ops that are not looked for. */
export const FADED = TRANSFER + 1;

export type Pattern = "solid" | "diagonal" | "dots" | "cross" | "upright";

export type Reason = (typeof IDLE_REASONS)[number];
/** A device with nothing left to run, or nothing ever, is not waiting, so its lane stays empty. */
export type Awaited = Exclude<Reason, "end" | "never">;

/** How a gap looks, by reason: tint and pattern, so that colour is never the only sign. */
export const IDLE_LOOK: Record<Awaited, { colour: string; pattern: Pattern }> = {
  transfer: { colour: "#D55E00", pattern: "diagonal" },
  upstream: { colour: "#0072B2", pattern: "dots" },
  memory: { colour: "#CC79A7", pattern: "cross" },
  left: { colour: "#E69F00", pattern: "upright" },
};

export const IDLE_TEXT: Record<Reason, string> = {
  transfer: "waits for a transfer",
  upstream: "waits for an op upstream",
  memory: "waits for memory",
  end: "nothing left to run",
  left: "an op that could run is left waiting",
  never: "never chosen",
};

/** What is drawn beside ops and gaps, as a legend says it. */
export const MEANING = {
  transfer: "transfer",
  critical: "critical path",
  waits: "critical path waits in line",
  kept: "kept schedule",
  memory: "memory in use, and its capacity",
  used: "memory in use", // where the capacity is far above
  short: "out of memory",
  merged: "merged: height shows the busy share",
};

/** Whether a gap is drawn, and told in the legend. */
export function isAwaited(reason: Reason | undefined): reason is Awaited {
  return reason !== undefined && reason in IDLE_LOOK;
}

export interface Paint {
  readonly theme: Theme;
  readonly background: number;
  readonly lane: number;
  readonly thinLane: number;
  readonly grid: number;
  readonly critical: number;
  /** Busy devices of a folded host. */
  readonly host: number;
  /** Capacity of a device. */
  readonly line: number;
  /** Memory in use in all of a column, and in some of it; the same where it is short. */
  readonly memory: readonly [number, number];
  readonly short: readonly [number, number];
  /** A kept schedule: its ops, and their outlines. */
  readonly kept: Uint32Array;
  /** Per colour index, transfers and faded ops included. */
  readonly bars: Uint32Array;
  readonly barCss: readonly string[];
  /** Ink that reads on each colour. */
  readonly inks: readonly string[];
  readonly idle: Record<Awaited, { readonly tint: number; readonly mark: number; readonly pattern: Pattern }>;
}

/** The colours under `theme` with ops in the colours of `palette`; null: the critical path's and grey. */
export function paint(theme: Theme, palette: readonly string[] | "devices" | null = KINDS): Paint {
  const ops: readonly string[] =
    palette === "devices" ? devicePalette(theme.dark) : (palette ?? [theme.critical, ...KINDS.slice(1)]);
  const barCss = [...ops, transferColour(theme.dark), blended(theme.ink, 0.16, theme.bg)];
  const over = (colour: string, alpha: number) => pixel(colour, alpha, theme.bg);
  const gap = (reason: Awaited) => {
    const { colour, pattern } = IDLE_LOOK[reason];
    return { tint: over(colour, theme.dark ? 0.13 : 0.09), mark: over(colour, theme.dark ? 0.34 : 0.27), pattern };
  };
  return {
    theme,
    background: pixel(theme.bg),
    lane: over(theme.ink, 0.055),
    thinLane: over(theme.ink, 0.03),
    grid: over(theme.ink, 0.11),
    critical: pixel(theme.critical),
    host: over(theme.ink, 0.5),
    line: over(theme.ink, 0.6),
    memory: [over(theme.accent, 0.5), over(theme.accent, 0.25)],
    short: [pixel(theme.critical), over(theme.critical, 0.5)],
    kept: Uint32Array.of(over(theme.ink, 0.32), over(theme.ink, 0.45)),
    bars: Uint32Array.from(barCss, (colour) => pixel(colour)),
    barCss,
    inks: barCss.map(inkOn),
    idle: { transfer: gap("transfer"), upstream: gap("upstream"), memory: gap("memory"), left: gap("left") },
  };
}

export function transferColour(dark: boolean): string {
  return dark ? "#93A4B8" : "#64748B";
}

export const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";

/** "#rrggbb" as the little-endian pixel of an ImageData, blended over `under` by `alpha`. */
export function pixel(colour: string, alpha = 1, under = "#000000"): number {
  const channel = (text: string, i: number) => parseInt(text.slice(i, i + 2), 16);
  const mix = (i: number) => Math.round(channel(colour, i) * alpha + channel(under, i) * (1 - alpha));
  return ((255 << 24) | (mix(5) << 16) | (mix(3) << 8) | mix(1)) >>> 0;
}

/** The same blend as "#rrggbb". */
export function blended(colour: string, alpha: number, under: string): string {
  const mixed = pixel(colour, alpha, under);
  return `#${[mixed, mixed >> 8, mixed >> 16].map((c) => (c & 255).toString(16).padStart(2, "0")).join("")}`;
}
