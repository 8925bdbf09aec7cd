/** The border between the middle row and the chart, as a share of the height below the top rows. */
const LEAST = 0.15;
const MOST = 0.75;
const DEFAULT = 0.4; // 209 of the 522 pixels that 590 leave
const STEP = 0.04;

/** A share within its limits; 0 stands for the default. */
export function bounded(share: number): number {
  return share ? Math.min(Math.max(share, LEAST), MOST) : DEFAULT;
}

/** The share after a key, null for keys that do not move the border. */
export function byKey(key: string, share: number): number | null {
  const moved = { ArrowUp: share - STEP, ArrowDown: share + STEP, Home: LEAST, End: MOST }[key];
  return moved === undefined ? null : bounded(moved);
}
