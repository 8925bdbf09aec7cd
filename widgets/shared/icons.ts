/** Small drawn icons: glyphs of the user's fonts differ too much in size and baseline. */
import { s } from "./dom.ts";

const PATHS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  restart: "M3 2.5h2v11H3zM13 2.5v11L6 8z",
  step: "M3 2.5v11L9.5 8zM11 2.5h2v11h-2z",
  stepBack: "M13 2.5v11L6.5 8zM3 2.5h2v11H3z",
  plus: "M7 3h2v4h4v2H9v4H7V9H3V7h4z",
  minus: "M3 7h10v2H3z",
  fit: "M1 3h1.5v10H1zM13.5 3H15v10h-1.5zM3 8l3-3v2.2h4V5l3 3-3 3V8.8H6V11z",
  memory: "M2 14V9.5h3V5h3v3h3V2h3v12z",
  links: "M2 4h5v2H2zM9 4h5v2H9zM2 10h3v2H2zM6 10h8v2H6zM1 7.5h14v1H1z",
  table: "M2 3h12v10H2zM3.5 6.5v1.5h3V6.5zM8 6.5v1.5h4.5V6.5zM3.5 9.5V11h3V9.5zM8 9.5V11h4.5V9.5z",
} as const;

export type Icon = keyof typeof PATHS;

/** The icon as an SVG element that takes the colour of the text around it. */
export function icon(name: Icon): SVGSVGElement {
  const look = { width: 16, height: 16, fill: "currentColor", "fill-rule": "evenodd", "aria-hidden": "true" };
  return s("svg", { viewBox: "0 0 16 16", ...look }, s("path", { d: PATHS[name] }));
}
