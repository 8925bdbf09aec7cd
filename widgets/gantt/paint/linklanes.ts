/** Lanes of links, below the devices: how many transfers each carries over time. */

import { FONT, TRANSFER } from "../scene/colours.ts";
import { firstAfter } from "../scene/lanes.ts";
import { linkBox } from "../scene/places.ts";
import { deviceOf, type Scene, windowOf } from "../scene/scene.ts";
import { cutInside } from "./cut.ts";
import { fill, type Raster } from "./raster.ts";

const SQUEEZED = 1.25; // times its room; a name that needs more is cut
let change = new Float64Array(0); // workspace: by how much the load of each column differs from the one before

/**
 * Paints the lanes in view: the number of transfers at once, averaged over each column. Heights are logarithmic, and full where
 * a link carries the most that any does: where many can share a link, a single transfer is still seen.
 */
export function paintLinks(r: Raster, scene: Scene): void {
  const { links, layout, paint } = scene;
  if (!links) return;
  if (change.length < r.width + 2) change = new Float64Array(r.width + 2);
  eachLink(scene, (k, y) => {
    fill(r, layout.gutter, y, layout.width, y + layout.link, paint.thinLane);
    load(r, scene, k);
    let sum = 0;
    for (let x = r.left; x < r.width; x++) {
      sum += change[x]!;
      if (sum < 1e-6) continue;
      const high = Math.max(Math.round((Math.log2(1 + sum) / Math.log2(1 + links.most)) * layout.link), 1);
      fill(r, x, y + layout.link - Math.min(high, layout.link), x + 1, y + layout.link, paint.bars[TRANSFER]!);
    }
    change.fill(0);
  });
}

/** Adds what link `k` carries to `change`: transfers, weighted in each column with the part of it that they cover. */
function load(r: Raster, scene: Scene, k: number): void {
  const { links, chart } = scene;
  const { from, perSecond } = windowOf(scene);
  const until = from + (r.width - r.left) / perSecond;
  for (let i = firstAfter(links!, k, from); i < links!.ptr[k + 1]!; i++) {
    const bar = links!.bar[i]!;
    if (chart.bars.start[bar]! > until) return;
    const x0 = Math.max(r.left + (chart.bars.start[bar]! - from) * perSecond, r.left);
    const x1 = Math.min(r.left + (chart.bars.finish[bar]! - from) * perSecond, r.width);
    if (x1 > x0) edge(x0, 1);
    if (x1 > x0) edge(x1, -1);
  }
}

/** The load changes by `by` at `x`: its own column has the part of it that lies to the right. */
function edge(x: number, by: number): void {
  const column = Math.floor(x);
  change[column]! += by * (column + 1 - x);
  change[column + 1]! += by * (x - column);
}

/** The names of the links in view, beside their lanes. */
export function drawLinkNames(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, paint, labels } = scene;
  const { ratio, gutter } = layout;
  if (!scene.links) return;
  context.font = `${11 * ratio}px ${FONT}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = paint.theme.faint;
  eachLink(scene, (k, y) => {
    const ends = scene.links!.pairs[k]!.map((device) => deviceOf(labels, device));
    const room = gutter - 20 * ratio;
    const whole = ends.join(" → ");
    const each = (room - context.measureText(" → ").width) / 2;
    const cut = () => ends.map((name) => cutInside(context, name, each)).join(" → ");
    const name = context.measureText(whole).width > SQUEEZED * room ? cut() : whole;
    context.fillText(name, 16 * ratio, y + layout.link / 2, room);
  });
}

/** Calls `act` for each link in view with the top of its lane on the canvas. */
function eachLink(scene: Scene, act: (k: number, y: number) => void): void {
  const { layout, links, scroll } = scene;
  const hidden = Math.floor((scroll - layout.linksTop) / (layout.link + layout.apart));
  for (let k = Math.max(0, hidden); k < links!.pairs.length; k++) {
    const { y } = linkBox(scene, k);
    if (y > layout.height) return;
    act(k, y);
  }
}
