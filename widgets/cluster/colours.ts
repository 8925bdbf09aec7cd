/** Colours of the matrix: cividis (Nuñez, Anderton, Renslow 2018), which reads alike with every common colour vision. Pure. */
import type { Range } from "./state.ts";

export const COLOURS = [
  "#00224e",
  "#123570",
  "#3b496c",
  "#575d6d",
  "#707173",
  "#8a8678",
  "#a59c74",
  "#c3b369",
  "#e1cc55",
  "#fee838",
] as const;

/** Colour of a value on a logarithmic scale over `domain`; the middle where all values are equal. */
export function colourOf(value: number, { low, high }: Range): string {
  const share = low === high ? Math.sign(value - low) * 0.5 + 0.5 : Math.log(value / low) / Math.log(high / low);
  const at = Math.min(Math.max(share, 0), 1) * (COLOURS.length - 1);
  const from = COLOURS[Math.floor(at)]!;
  const to = COLOURS[Math.ceil(at)]!;
  return mixed(from, to, at % 1);
}

function mixed(from: string, to: string, share: number): string {
  const channel = (colour: string, i: number) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mix = (i: number) => Math.round(channel(from, i) * (1 - share) + channel(to, i) * share);
  return `#${[0, 1, 2].map((i) => mix(i).toString(16).padStart(2, "0")).join("")}`;
}
