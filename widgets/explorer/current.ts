/** Whether a part shows what belongs to the newest state: the kernel tells both, and results may come late. Pure. */

/**
 * Whether a result of the state with the key `of` is one of the state with the key `now`. A key is the hash of a problem, a colon and
 * the hash of what makes a schedule of it; a result of the problem alone has only the first. Without a key it belongs to no state.
 */
export function isCurrent(of: string, now: string): boolean {
  return !of || !now || of === now || now.startsWith(`${of}:`);
}
