/** Where blocks and borders are on the strip. Pure. */

/** Where each block begins, and the end of the last, in a strip of this width; none is narrower than a pixel. */
export function edges(sizes: readonly number[], width: number): number[] {
  const least = Math.min(1, width / Math.max(sizes.length, 1));
  const sum = sizes.reduce((a, b) => a + b, 0);
  const rest = width - least * sizes.length;
  let at = 0;
  return [0, ...sizes.map((size) => (at += least + (sum > 0 ? (size / sum) * rest : rest / sizes.length)))];
}

/** The block from `low` to `high` whose beginning is closest to `x`. */
export function nearest(places: readonly number[], x: number, low: number, high: number): number {
  let best = low;
  for (let block = low + 1; block <= high; block++)
    if (Math.abs(places[block]! - x) < Math.abs(places[best]! - x)) best = block;
  return best;
}

/** What the blocks from `first` up to `end` are, of `blocks` in all: "embedding + 18 layers", "3 layers + head", "idle". */
export function content(first: number, end: number, blocks: number): string {
  if (end <= first) return "idle";
  const layers = Math.min(end, blocks - 1) - Math.max(first, 1);
  const parts = [first === 0 ? "embedding" : "", layers > 0 ? `${layers} layer${layers === 1 ? "" : "s"}` : ""];
  return [...parts, end === blocks ? "head" : ""].filter(Boolean).join(" + ");
}

/** Name of a block on its cell: "emb", the layer's number, "head". */
export function blockName(block: number, blocks: number): string {
  return block === 0 ? "emb" : block === blocks - 1 ? "head" : String(block - 1);
}

/** Blocks that are named on their cells: those with room, layers at most one in so many that their names keep apart. */
export function named(places: readonly number[]): number[] {
  const blocks = places.length - 1;
  const found: number[] = [];
  let free = 0;
  for (let block = 0; block < blocks; block++) {
    const wide = 7 * blockName(block, blocks).length + 2;
    const middle = (places[block]! + places[block + 1]!) / 2;
    const room = block === 0 || block === blocks - 1 ? places[block + 1]! - places[block]! : Infinity;
    if (room < wide || middle - wide / 2 < free || middle + wide / 2 > places[blocks]!) continue;
    found.push(block);
    free = middle + wide / 2 + 12;
  }
  return found;
}
