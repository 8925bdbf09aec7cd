/** Places of the boxes of hosts and the cards of devices, in pixels. Pure. */
import { type Cluster, type Host, hostsOf } from "./state.ts";

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Rect {
  readonly host: string;
  readonly members: readonly number[];
  readonly columns: number;
  readonly header: number; // above its cards
  readonly label: number; // from its top to the middle of the values of its links
}

export interface Sizes {
  readonly card: { readonly w: number; readonly h: number };
  readonly gap: number;
  readonly pad: number; // between a box and its cards
  readonly header: { readonly bus: number; readonly single: number }; // room for a title and, of several devices, their bus
  readonly margin: number; // around all
  readonly below: number; // height of the space where a card can be dropped outside every host
  readonly apart: number; // between two boxes, for a link's label
  readonly above: number; // the same, vertically
  readonly network: number; // height of the network's bar
  readonly close: boolean; // cards have name, speed and a bar of memory only; a link's values stand below each other
}

export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly sizes: Sizes;
  readonly boxes: readonly Box[];
  readonly cards: readonly Rect[]; // by device number
  readonly network: Rect | null; // drawn for many hosts in place of a line for each two
}

export const LARGE: Sizes = {
  card: { w: 146, h: 98 },
  gap: 23,
  pad: 22,
  header: { bus: 46, single: 32 },
  margin: 10,
  below: 40,
  apart: 168,
  above: 74,
  network: 34,
  close: false,
};
/** Four devices fit into half the width of a small window. */
export const SNUG: Sizes = {
  ...LARGE,
  card: { w: 119, h: 98 },
  gap: 8,
  pad: 10,
  header: { bus: 34, single: 28 },
  below: 10,
};
/** The same above a strip of shared links. */
export const TIGHT: Sizes = { ...SNUG, margin: 2, below: 2 };
export const SMALL: Sizes = { ...SNUG, card: { w: 100, h: 46 }, gap: 6, pad: 8, header: { bus: 22, single: 22 } };
/** Small cards with their links, where larger ones would not be seen all at once. */
export const DENSE: Sizes = {
  ...TIGHT,
  card: { w: 94, h: 46 },
  gap: 7,
  pad: 7,
  header: { bus: 34, single: 20 },
  apart: 76,
  above: 50,
  network: 22,
  close: true,
};

const TITLE = 20; // height of a title that has a line for itself
const LINES = [0, 1, 2, 3, 4]; // of cards in a box: as many as wide, or so many
const DIRECT = 3; // hosts up to which every two are joined by a line of their own

/** How hosts stand, if not as said below: all on one side of a network, half of them on each, or below each other. */
type Spread = "" | "line" | "halves" | "column";
const SPREADS = ["", "line", "halves", "column"] as const;

/** Boxes for a drawing with links: one, two side by side, three in a triangle, more on both sides of a network. */
export function graphScene(cluster: Cluster, sizes = LARGE, lines = 0, spread: Spread = ""): Scene {
  const hosts = hostsOf(cluster);
  const columns = (n: number) => (lines ? Math.ceil(n / lines) : columnsFor(n, hosts.length));
  const sized = hosts.map((host) => sizedBox(host, sizes, columns(host.members.length)));
  const beside = spread === "column" ? 1 : 2;
  if (beside < 2 || sized.length <= (spread ? 2 : DIRECT))
    return scene(cluster, sizes, rows(split(sized, beside), sizes.apart, sizes.above + 20));
  const [top, bottom] = spread ? halves(sized, spread) : sides(cluster, sized);
  const above = rows([top], sizes.gap, 0);
  const below = rows([bottom], sizes.gap, 0);
  const width = Math.max(...[...above, ...below].map((b) => b.x + b.w));
  const y = above.length ? Math.max(...above.map((b) => b.y + b.h)) + sizes.above : 0;
  const centred = (boxes: Box[], dy: number) => {
    const shift = (width - Math.max(...boxes.map((b) => b.x + b.w))) / 2;
    return boxes.map((b) => ({ ...b, x: b.x + shift, y: b.y + dy }));
  };
  const lift = Math.max(0, ...above.map((b) => b.h));
  const boxes = [
    ...centred(above, 0).map((b) => ({ ...b, y: lift - b.h })),
    ...centred(below, y + sizes.network + sizes.above),
  ];
  return scene(cluster, sizes, boxes, { x: 0, y, w: width, h: sizes.network });
}

/**
 * The drawing with links that lies in a room as a whole: the first of these sizes that does, as it is or with other rows.
 *
 * No text gets smaller. Where nothing fits, it is the one of which least is out of sight, to the right above all.
 */
export function fittingScene(cluster: Cluster, choices: readonly Sizes[], width: number, height: number): Scene {
  const excess = ({ width: w, height: h, sizes: { margin, below } }: Scene) =>
    1e6 * Math.max(w + 2 * margin - width, 0) + Math.max(h + margin + below - height, 0);
  return choices
    .flatMap((sizes) => SPREADS.flatMap((spread) => LINES.map((lines) => graphScene(cluster, sizes, lines, spread))))
    .sort((a, b) => excess(a) - excess(b))[0]!;
}

/** Boxes for a drawing with a matrix: small cards, line after line, as wide as there is room. */
export function gridScene(cluster: Cluster, width: number): Scene {
  const hosts = hostsOf(cluster);
  const most = Math.max(1, Math.floor((width - 2 * SMALL.pad + SMALL.gap) / (SMALL.card.w + SMALL.gap)));
  const columns = (n: number) => Math.min(most, hosts.length === 1 ? n : Math.ceil(Math.sqrt(n)));
  const lines: Box[][] = [[]];
  const sizes = hosts.length > 1 ? SMALL : { ...SMALL, header: { bus: 2, single: 2 } }; // one host needs no title
  for (const box of hosts.map((host) => sizedBox(host, sizes, columns(host.members.length)))) {
    const used = lines.at(-1)!.reduce((sum, b) => sum + b.w + SMALL.gap, 0);
    if (used > 0 && used + box.w > width) lines.push([]);
    lines.at(-1)!.push(box);
  }
  return scene(cluster, SMALL, rows(lines, SMALL.gap, SMALL.gap, false));
}

/** The place in a box that is nearest to a point: where a card dropped there goes. */
export function slotAt(box: Box, sizes: Sizes, { x, y }: Point, count: number): number {
  const column = Math.round((x - box.x - sizes.pad - sizes.card.w / 2) / (sizes.card.w + sizes.gap));
  const row = Math.round((y - box.y - box.header - sizes.card.h / 2) / (sizes.card.h + sizes.gap));
  const within = Math.min(Math.max(column, 0), box.columns - 1);
  return Math.min(Math.max(row, 0) * box.columns + within, count - 1);
}

/** The rectangle of a place in a box. */
export function slotRect(box: Box, { card, gap, pad }: Sizes, slot: number): Rect {
  const column = slot % box.columns;
  const row = Math.floor(slot / box.columns);
  return { x: box.x + pad + column * (card.w + gap), y: box.y + box.header + row * (card.h + gap), ...card };
}

export function centre({ x, y, w, h }: Rect): Point {
  return { x: x + w / 2, y: y + h / 2 };
}

export function contains({ x, y, w, h }: Rect, p: Point): boolean {
  return p.x >= x && p.x <= x + w && p.y >= y && p.y <= y + h;
}

/** Where the line from the centre of `rect` to `to` leaves it. */
export function edge(rect: Rect, to: Point): Point {
  const c = centre(rect);
  const dx = to.x - c.x;
  const dy = to.y - c.y;
  const t = Math.min(rect.w / 2 / Math.abs(dx || 1e-9), rect.h / 2 / Math.abs(dy || 1e-9), 1);
  return { x: c.x + dx * t, y: c.y + dy * t };
}

function columnsFor(devices: number, hosts: number): number {
  if (hosts === 1 && devices <= 8) return devices <= 4 ? devices : Math.ceil(devices / 2);
  return Math.ceil(Math.sqrt(devices));
}

function sizedBox(host: Host, { card, gap, pad, header: headers }: Sizes, columns: number): Box {
  const many = host.members.length > 1;
  const own = many && columns === 1 ? TITLE : 0; // a narrow box has no room for values beside its title
  const header = (many ? headers.bus : headers.single) + own;
  const lines = Math.ceil(host.members.length / columns);
  const w = columns * (card.w + gap) - gap + 2 * pad;
  const h = header + lines * (card.h + gap) - gap + pad;
  return { host: host.name, members: host.members, columns, header, label: 18 + own, x: 0, y: 0, w, h };
}

/** Lines of boxes below each other, each centred or from the left. */
function rows(lines: Box[][], apart: number, above: number, centred = true): Box[] {
  const widths = lines.map((line) => line.reduce((sum, b) => sum + b.w + apart, -apart));
  const width = Math.max(...widths);
  let y = 0;
  return lines.flatMap((line, i) => {
    let x = centred ? (width - widths[i]!) / 2 : 0;
    const placed = line.map((box) => {
      const at = { ...box, x, y };
      x += box.w + apart;
      return at;
    });
    y += Math.max(...line.map((b) => b.h)) + above;
    return placed;
  });
}

function split<T>(items: T[], length: number): T[][] {
  return items.length > length ? [items.slice(0, length), ...split(items.slice(length), length)] : [items];
}

/** Hosts above and below the network: a minority of another device type above (the parameter servers), else halves. */
function sides(cluster: Cluster, boxes: Box[]): [Box[], Box[]] {
  const type = (box: Box) => cluster.devices[box.members[0]!]!.type;
  const first = boxes.filter((box) => type(box) === type(boxes[0]!));
  const rest = boxes.filter((box) => !first.includes(box));
  if (first.length <= rest.length && rest.length <= 5) return [first, rest];
  if (rest.length > 0 && rest.length < first.length && first.length <= 5) return [rest, first];
  return halves(boxes, "");
}

function halves(boxes: Box[], spread: Spread): [Box[], Box[]] {
  const half = spread === "line" ? 0 : Math.floor(boxes.length / 2);
  return [boxes.slice(0, half), boxes.slice(half)];
}

function scene(cluster: Cluster, sizes: Sizes, boxes: Box[], network: Rect | null = null): Scene {
  const cards: Rect[] = new Array(cluster.devices.length);
  for (const box of boxes) box.members.forEach((device, slot) => (cards[device] = slotRect(box, sizes, slot)));
  const width = Math.max(...boxes.map((b) => b.x + b.w));
  const height = Math.max(...boxes.map((b) => b.y + b.h));
  return { width, height, sizes, boxes, cards, network };
}
