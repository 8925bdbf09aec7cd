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

const BESIDE = 22; // width from which a cell has room for its number beside a border
const APART = 12; // between two numbers

/**
 * Blocks that are named on their cells: embedding and head where they have room; of the layers those that no border would cover,
 * at most one in so many that their names keep apart.
 */
export function named(places: readonly number[], borders: readonly number[] = []): number[] {
  const blocks = places.length - 1;
  const bordered = new Set(borders.flatMap((border) => [border - 1, border]));
  const spans = Array.from({ length: blocks }, (_, block) => {
    const [left, right] = [places[block]!, places[block + 1]!];
    const half = (7 * blockName(block, blocks).length + 2) / 2;
    const end = block === 0 || block === blocks - 1;
    const room = end ? right - left >= 2 * half : !bordered.has(block) || right - left >= BESIDE;
    return { block, room, from: (left + right) / 2 - half, to: (left + right) / 2 + half };
  }).filter(({ room }) => room);
  const head = spans.at(-1)?.block === blocks - 1 ? spans.pop() : undefined;
  const limit = head ? head.from - 2 : places[blocks]!;
  let free = 0;
  const layers = spans.filter(({ from, to }) => {
    const fits = from >= free && to <= limit;
    if (fits) free = to + APART;
    return fits;
  });
  return [...layers, ...(head ? [head] : [])].map(({ block }) => block);
}
