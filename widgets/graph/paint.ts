/** Colours and texts of the drawing. */
import type { Theme } from "../shared/theme.ts";

export const FONT = "11px system-ui, sans-serif";
export const BOLD = "600 11px system-ui, sans-serif";

export interface Paint {
  readonly theme: Theme;
  readonly plate: string;
  readonly frame: string;
  readonly border: string;
  readonly edge: string;
  /** `colour` mixed into the plate, so many times as strongly. */
  tint(colour: string, strength?: 1 | 2): string;
}

export function paintOf(theme: Theme): Paint {
  const tints = new Map<string, string>();
  const plate = theme.dark ? mix(theme.bg, theme.ink, 0.1) : theme.bg;
  return {
    theme,
    plate,
    frame: mix(theme.bg, theme.ink, theme.dark ? 0.05 : 0.035),
    border: mix(theme.bg, theme.ink, 0.42),
    edge: mix(theme.bg, theme.ink, theme.dark ? 0.5 : 0.42),
    tint(colour, strength = 1) {
      const key = colour + strength;
      const known = tints.get(key) ?? mix(plate, colour, strength * (theme.dark ? 0.28 : 0.24));
      tints.set(key, known);
      return known;
    },
  };
}

/** "#rrggbb" of `share` of b in a. */
export function mix(a: string, b: string, share: number): string {
  const part = (colour: string, i: number) => parseInt(colour.slice(i, i + 2), 16);
  const mixed = [1, 3, 5].map((i) => Math.round(part(a, i) + (part(b, i) - part(a, i)) * share));
  return `#${mixed.map((x) => x.toString(16).padStart(2, "0")).join("")}`;
}

/** `text`, or as much of its beginning and end as fits, by a function that measures. */
export function fitted(text: string, width: number, measure: (text: string) => number): string {
  if (measure(text) <= width) return text;
  let low = 0;
  let high = text.length - 1; // letters that are kept
  const cut = (n: number) => `${text.slice(0, Math.ceil(n / 2))}…${text.slice(text.length - Math.floor(n / 2))}`;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(cut(middle)) <= width) low = middle;
    else high = middle - 1;
  }
  return low ? cut(low) : "";
}
