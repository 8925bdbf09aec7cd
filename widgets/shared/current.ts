/** Whether what is shown belongs to the newest state: the kernel tells both, and results may come late. */

/** Class of what shows the result of another state than the newest. */
export const COMPUTING = "pl-computing";
const LATE = 120; // ms; what is outdated for less, as during a drag, does not look so

/**
 * Whether a result of the state with the key `of` is one of the state with the key `now`. A key is the hash of a problem, a colon and
 * the hash of what makes a schedule of it; a result of the problem alone has only the first. Without a key it belongs to no state.
 */
export function isCurrent(of: string, now: string): boolean {
  return !of || !now || of === now || now.startsWith(`${of}:`);
}

/** The model that says in its trait `now` which state is the newest; a view alone in a cell has none. */
export interface Newest {
  get(name: string): unknown;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

/** Tells whether what belongs to the state `of()` is outdated: at once when it is not any more, after a moment when it is. */
export function follow(
  whole: Newest | undefined,
  of: () => string,
  tell: (outdated: boolean) => void,
): { look(): void; end(): void } {
  let waiting = 0;
  const look = () => {
    if (isCurrent(of(), (whole?.get("now") ?? "") as string)) {
      clearTimeout(waiting);
      waiting = 0;
      tell(false);
    } else waiting ||= window.setTimeout(() => tell(true), LATE);
  };
  whole?.on("change:now", look);
  return {
    look,
    end() {
      clearTimeout(waiting);
      whole?.off("change:now", look);
    },
  };
}
