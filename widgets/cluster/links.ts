/** The links of a drawing with few devices: inside a host, between hosts, and those of a selected device. */
import type { Pair } from "../shared/commands.ts";
import { clamp } from "../shared/scale.ts";
import type { Adjust } from "./adjust.ts";
import { type Box, centre, edge, type Point, type Rect, type Scene } from "./geometry.ts";
import { type Label, label } from "./pill.ts";
import { ridden, type Share } from "./shares.ts";
import { dashes } from "./sharing.ts";
import { between, type Cluster, rangeOf, sharedText, within } from "./state.ts";
import { s, set, write } from "./svg.ts";
import { linkOf } from "./targets.ts";

/** Lines below the cards, labels above them, and how both show present values. */
export interface Links {
  /** Ordered pairs of devices whose traffic it carries. */
  readonly pairs: readonly Pair[];
  readonly lines: SVGGElement[];
  readonly labels: SVGGElement[];
  /** The part of its line that these devices use; null without a line. */
  readonly path: ((devices: readonly number[]) => string) | null;
  update(load: readonly (readonly number[])[]): void;
}

export function hostLinks(adjust: Adjust, scene: Scene, shares: readonly Share[]): Links[] {
  const inside = scene.boxes.filter((box) => box.members.length > 1).map((box) => bus(adjust, scene, box));
  const all = [...inside, ...(scene.network ? network(adjust, scene, scene.network) : direct(adjust, scene))];
  const wires = all.filter((link) => link.path);
  const rides = shares.map((share) =>
    ridden(
      share,
      wires.map(({ pairs }) => pairs),
    ),
  );
  wires.forEach((wire, i) =>
    wire.lines.at(-1)!.append(
      ...dashes(
        shares.filter((_, at) => rides[at]![i]),
        ({ bearers }) => wire.path!(bearers),
      ),
    ),
  );
  return all;
}

/** One thin line, with its own label, from a device to every other. */
export function deviceLinks(adjust: Adjust, scene: Scene, device: number): Links[] {
  const { devices } = adjust.editor.cluster;
  return scene.cards.flatMap((rect, other) => {
    if (other === device) return [];
    const pairs = between([device], [other]);
    const targets = linkTargets(pairs, `between ${devices[device]!.name} and ${devices[other]!.name}`);
    const at = { x: rect.x + rect.w / 2, y: rect.y + rect.h + 11.5 };
    return [
      link(
        adjust,
        pairs,
        [[centre(scene.cards[device]!), centre(rect)]],
        label(adjust, targets, "own"),
        at,
        "middle",
        "own",
      ),
    ];
  });
}

/** The links inside a host as a bus: a bar below its title, a branch down each column, a twig to each card. */
function bus(adjust: Adjust, { sizes, cards }: Scene, box: Box): Links {
  const y = box.y + box.header - 10;
  const trunk = (rect: Rect) => rect.x - sizes.pad / 2;
  const segments = (devices: readonly number[]): Segment[] => {
    const rects = box.members.filter((device) => devices.includes(device)).map((device) => cards[device]!);
    if (!rects.length) return [];
    const bar: Segment = [
      { x: Math.min(...rects.map(trunk)), y },
      { x: Math.max(...rects.map(trunk)), y },
    ];
    return [
      bar,
      ...rects.flatMap((rect): Segment[] => {
        const middle = rect.y + rect.h / 2;
        return [
          [
            { x: trunk(rect), y },
            { x: trunk(rect), y: middle },
          ],
          [
            { x: trunk(rect), y: middle },
            { x: rect.x, y: middle },
          ],
        ];
      }),
    ];
  };
  const pairs = within(box.members);
  const values = label(adjust, linkTargets(pairs, `inside ${box.host}`));
  const narrow = box.columns === 1; // values are about as wide as the box
  const at = { x: box.x + (narrow ? box.w / 2 : box.w - sizes.pad / 2), y: box.y + box.label };
  return link(adjust, pairs, segments, values, at, narrow ? "middle" : "end");
}

function direct(adjust: Adjust, { boxes, sizes }: Scene): Links[] {
  return boxes.flatMap((a, i) =>
    boxes.slice(i + 1).map((b) => {
      const pairs = between(a.members, b.members);
      const from = edge(a, centre(b));
      const to = edge(b, centre(a));
      const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
      return link(
        adjust,
        pairs,
        [[from, to]],
        label(adjust, linkTargets(pairs, `between ${a.host} and ${b.host}`), "", sizes.close && a.y === b.y),
        middle,
        "middle",
      );
    }),
  );
}

/** Many hosts hang on one network: a label for all its links, and one for those of each host. */
function network(adjust: Adjust, { boxes, sizes }: Scene, bar: Rect): Links[] {
  const everyone = boxes.flatMap((box) => box.members);
  const stubs = boxes.map((box) => {
    const rest = everyone.filter((device) => !box.members.includes(device));
    const pairs = between(box.members, rest);
    const x = box.x + box.w / 2;
    const above = box.y < bar.y;
    const from = { x, y: above ? box.y + box.h : box.y };
    const to = { x, y: above ? bar.y : bar.y + bar.h };
    const middle = { x, y: (from.y + to.y) / 2 };
    return link(
      adjust,
      pairs,
      [[from, to]],
      label(adjust, linkTargets(pairs, `of ${box.host} to other hosts`), "", sizes.close),
      middle,
      "middle",
    );
  });
  const pairs = boxes.flatMap((a, i) => boxes.slice(i + 1).flatMap((b) => between(a.members, b.members)));
  const all = link(adjust, pairs, [], label(adjust, linkTargets(pairs, "between hosts")), centre(bar), "middle");
  const plate = s(
    "g.network",
    {},
    s("rect", { x: bar.x, y: bar.y, width: bar.w, height: bar.h, rx: bar.h / 2 }),
    s("text", { x: bar.x + 18, y: bar.y + bar.h / 2 + 4 }, "network"),
  );
  return [{ ...all, lines: [plate, ...all.lines] }, ...stubs];
}

type Segment = [Point, Point];

const linkTargets = (pairs: Pair[], what: string) => [linkOf("bandwidth", pairs, what), linkOf("latency", pairs, what)];

function link(
  adjust: Adjust,
  pairs: Pair[],
  segments: Segment[] | ((devices: readonly number[]) => Segment[]),
  values: Label,
  at: Point,
  anchor: "start" | "middle" | "end",
  kind = "",
): Links {
  const of = typeof segments === "function" ? segments : () => segments;
  const path = (devices: readonly number[]) =>
    of(devices)
      .map(([a, b]) => `M${a.x} ${a.y}L${b.x} ${b.y}`)
      .join("");
  const whole = path(pairs.map(([from]) => from));
  const line = s("path.wire", { d: whole });
  const busy = s("path.busy", { d: whole });
  const title = s("title");
  const shared = sharedText(adjust.editor.cluster, pairs) !== "";
  const reference = referenceOf(adjust.editor.cluster);
  return {
    pairs,
    lines: [s("g", { class: `link ${kind}` }, ...(shared ? [title] : []), line, busy)],
    path: whole ? path : null,
    labels: [values.element],
    update(load) {
      if (shared) write(title, sharedText(adjust.editor.cluster, pairs));
      const { low, high } = rangeOf(adjust.editor.cluster.bandwidth, pairs);
      const width = thickness(Math.sqrt(low) * Math.sqrt(high), reference) * (kind ? 0.6 : 1);
      set(line, { "stroke-width": width });
      set(busy, { "stroke-width": width, "stroke-opacity": load.length ? clamp(rangeOf(load, pairs).high, 0, 1) : 0 });
      values.update(at.x, at.y, anchor);
    },
  };
}

/** Pixels of a link: 4 at the reference, 1.5 more for each power of ten. */
function thickness(bandwidth: number, reference: number): number {
  return clamp(4 + 1.5 * Math.log10(bandwidth / reference), 1.2, 9);
}

/** 10 GB/s for real machines; for plain numbers the middle of what the cluster has. */
function referenceOf(cluster: Cluster): number {
  const { low, high } = rangeOf(cluster.bandwidth, within(cluster.order));
  return !cluster.units.plain ? 1e10 : Math.sqrt(low) * Math.sqrt(Math.min(high, 1e18));
}
