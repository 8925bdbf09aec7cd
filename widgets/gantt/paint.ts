/** The colours of a Gantt chart under a theme: as pixels for the raster, as CSS for text and lines. */
import { inkOn, KINDS } from "../shared/palette.js";
import type { Theme } from "../shared/theme.js";
import { IDLE_REASONS } from "./decode.js";
import { pixel, type Pattern } from "./raster.js";

/** Colour index of transfers and Send ops, behind those of the op kinds. */
export const TRANSFER = KINDS.length;

/** How an idle gap looks, by reason: tint and pattern, so that colour is never the only sign. */
export const IDLE_LOOK: Record<(typeof IDLE_REASONS)[number], { colour: string; pattern: Pattern; text: string }> = {
  transfer: { colour: "#D55E00", pattern: "diagonal", text: "waits for a transfer" },
  upstream: { colour: "#0072B2", pattern: "dots", text: "waits for an op upstream" },
  memory: { colour: "#CC79A7", pattern: "cross", text: "waits for memory" },
  end: { colour: "#8C8C8C", pattern: "solid", text: "nothing left to run" },
};

export interface Paint {
  readonly theme: Theme;
  readonly background: number;
  readonly lane: number;
  readonly thinLane: number;
  readonly grid: number;
  readonly critical: number;
  /** Per colour index, transfers included. */
  readonly bars: Uint32Array;
  readonly barCss: readonly string[];
  /** Ink that reads on each colour. */
  readonly inks: readonly string[];
  readonly idle: readonly { readonly tint: number; readonly mark: number; readonly pattern: Pattern }[];
}

export function paint(theme: Theme): Paint {
  const barCss = [...KINDS, transferColour(theme.dark)];
  const over = (colour: string, alpha: number) => pixel(colour, alpha, theme.background);
  return {
    theme,
    background: pixel(theme.background),
    lane: over(theme.ink, 0.055),
    thinLane: over(theme.ink, 0.03),
    grid: over(theme.ink, 0.11),
    critical: pixel(theme.critical),
    bars: Uint32Array.from(barCss, (colour) => pixel(colour)),
    barCss,
    inks: barCss.map(inkOn),
    idle: IDLE_REASONS.map((reason) => {
      const { colour, pattern } = IDLE_LOOK[reason];
      const [tint, mark] = reason === "end" ? [0, 0] : theme.dark ? [0.13, 0.34] : [0.09, 0.27];
      return { tint: over(colour, tint), mark: over(colour, mark), pattern };
    }),
  };
}

export function transferColour(dark: boolean): string {
  return dark ? "#93A4B8" : "#64748B";
}
