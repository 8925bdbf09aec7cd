/**
 * The meaning of colours in all views.
 *
 * Op kinds take the Okabe-Ito colours (distinguishable with every common colour vision) in the order of their index.
 */
export const KINDS = [
  "#0072B2", // blue
  "#E69F00", // orange
  "#009E73", // bluish green
  "#CC79A7", // reddish purple
  "#56B4E9", // sky blue
  "#D55E00", // vermillion
  "#F0E442", // yellow
  "#8C8C8C", // grey, for ops without a kind
] as const;

/** Colours of devices, the same in all views and none of a kind's; from the ninth device on they come again. */
const DEVICES = {
  light: ["#332288", "#1f7a6d", "#6f6f1a", "#882255", "#6f66b8", "#2b6f8f", "#5f6b1e", "#a04f7d"],
  dark: ["#a79af5", "#6ccfbe", "#cfcf6b", "#ec8fb6", "#c9c2ff", "#8ccbe6", "#b8c46a", "#f4b3d0"],
} as const;

export const devicePalette = (dark: boolean): readonly string[] => (dark ? DEVICES.dark : DEVICES.light);

export function deviceColour(device: number, dark: boolean): string {
  const palette = devicePalette(dark);
  return palette[device % palette.length]!;
}

/** Black or white, whichever reads better on `colour` ("#rrggbb"); threshold on WCAG relative luminance. */
export function inkOn(colour: string): string {
  return luminance(colour) > 0.18 ? "#000" : "#fff";
}

/** WCAG 2 relative luminance of "#rrggbb", 0 to 1. */
export function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => linear(parseInt(colour.slice(i, i + 2), 16) / 255)) as [
    number,
    number,
    number,
  ];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function linear(c: number): number {
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}
