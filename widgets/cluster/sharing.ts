/** Shared links in the drawing: signs on cards, dashes along wires, and curves between pairs while a link is pointed at. */
import { inkOn } from "../shared/palette.ts";
import { centre, edge, type Point, type Rect, type Scene } from "./geometry.ts";
import type { Share } from "./shares.ts";
import { s, set } from "./svg.ts";

const SIGN = 14; // pixels
const DASH = 8;
const CURVES = 150; // more would be a blot
const BEND = 0.14; // of a curve's length, to its right: both directions are seen

/** Signs along a card's lower edge; the last says how many more there are. */
export function signs(shares: readonly Share[], { w, h }: Rect): SVGGElement[] {
  const room = Math.max(1, Math.floor((w - 20) / (SIGN + 3)));
  const shown = shares.length > room ? shares.slice(0, room - 1) : shares;
  const marks = shown.map(({ sign, colour }) => [sign, colour] as const);
  const more = shares.length > shown.length ? [[`+${shares.length - shown.length}`, "#8C8C8C"] as const] : [];
  return [...marks, ...more].map(([text, colour], i) => {
    const width = Math.max(SIGN, 6 + 7 * text.length);
    const label = s("text", { x: width / 2, y: 11 }, text);
    label.style.fill = inkOn(colour);
    return s(
      "g.sign",
      { transform: `translate(${10 + i * (SIGN + 3)},${h - SIGN / 2})` },
      s("rect", { width, height: SIGN, rx: 3, fill: colour }),
      label,
    );
  });
}

/** Dashes along a wire, in turn of each colour, between which the wire is seen. */
export function dashes(shares: readonly Share[], path: (share: Share) => string): SVGPathElement[] {
  return shares.map((share, i) =>
    s("path.dashes", {
      d: path(share),
      stroke: share.colour,
      "stroke-dasharray": `${DASH} ${DASH * shares.length}`,
      "stroke-dashoffset": -DASH * i,
    }),
  );
}

/** An arrow from device to device for each pair. */
export function arrows({ link, colour }: Share, { cards }: Scene): SVGPathElement[] {
  return link.pairs.slice(0, CURVES).map(([a, b]) => {
    const path = s("path", { d: arrow(cards[a]!, cards[b]!), stroke: colour });
    set(path, { fill: "none" });
    return path;
  });
}

function arrow(from: Rect, to: Rect): string {
  const a = centre(from);
  const c = centre(to);
  const bend = { x: (a.x + c.x) / 2 - (c.y - a.y) * BEND, y: (a.y + c.y) / 2 + (c.x - a.x) * BEND };
  const start = edge(from, bend);
  const end = edge(to, bend);
  const angle = Math.atan2(end.y - bend.y, end.x - bend.x);
  const wing = (turn: number): Point => ({
    x: end.x - 7 * Math.cos(angle + turn),
    y: end.y - 7 * Math.sin(angle + turn),
  });
  const at = ({ x, y }: Point) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  return `M${at(start)}Q${at(bend)} ${at(end)}M${at(wing(0.5))}L${at(end)}L${at(wing(-0.5))}`;
}
