/** Colours of the heat map: one scale from the best to where most values end, apart in lightness for every colour vision. */
import { inkOn } from "../shared/palette.ts";

/** The scale ends at most at this many times the best, … */
export const WORST = 5;
/** … and at least here, so that differences of no account do not look like great ones. */
const NEAREST = 1.05;
const MOST = 0.9; // of the values are on the scale; the others have the colour of its end

// The best stands out from the page: dark on light pages, light on dark ones.
const LIGHT = ["#0c2c84", "#225ea8", "#1d91c0", "#7fcdbb", "#d3eeca", "#f7fbe6"];
const DARK = ["#e3f5c3", "#8fd3bd", "#3fa6c4", "#2470a8", "#22447c", "#1c2a4a"];

export interface Shade {
  readonly fill: string;
  /** Of the text: black or white, with a contrast of at least 4.5. */
  readonly ink: string;
}

/** Where the scale ends, for values that are so many times the best: it spends its range where most of them are. */
export function endOf(ratios: readonly number[]): number {
  const known = ratios.filter(Number.isFinite).sort((a, b) => a - b);
  const most = known[Math.min(Math.floor(MOST * known.length), known.length - 1)] ?? WORST;
  return Math.min(Math.max(most, NEAREST), WORST);
}

/** The colour of `ratio` times the best on a scale that ends at `end`, by the root of the logarithm, since most differences are small. */
export function shade(ratio: number, end: number, dark: boolean): Shade {
  const stops = dark ? DARK : LIGHT;
  const at = Math.sqrt(Math.min(Math.max(Math.log(ratio) / Math.log(end), 0), 1)) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  const fill = mix(stops[i]!, stops[i + 1]!, at - i);
  return { fill, ink: inkOn(fill) };
}

/** The scale as a CSS gradient, for the legend. */
export function gradient(dark: boolean): string {
  return `linear-gradient(to right, ${(dark ? DARK : LIGHT).join(", ")})`;
}

function mix(from: string, to: string, share: number): string {
  const channel = (i: number) => {
    const [a, b] = [from, to].map((colour) => parseInt(colour.slice(i, i + 2), 16)) as [number, number];
    return Math.round(a + (b - a) * share)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}
