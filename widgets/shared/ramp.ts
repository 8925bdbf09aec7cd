/** Colours of quantities, in eight steps that every common colour vision can order. */
export const RAMPS = {
  /** From none (red) to much (blue): ColorBrewer's RdYlBu. */
  slack: ["#D73027", "#F46D43", "#FDAE61", "#FEE090", "#C6E2EE", "#ABD9E9", "#74ADD1", "#4575B4"],
  /** From first (violet) to last (yellow): viridis. */
  layer: ["#440154", "#46327E", "#365C8D", "#277F8E", "#1FA187", "#4AC16D", "#A0DA39", "#FDE725"],
} as const;
