/** Events between the views of one explorer, on the page: they reach each other while the kernel is busy, or gone. */

/** Topic of ops that were selected together. */
export const TOGETHER = "together";
export interface Together {
  /** What they are, in words; "" where nothing is selected any more. */
  readonly name: string;
  /** Their numbers; absent: those of the scope of this name. */
  readonly ops?: readonly number[];
}

/** Topic of a wish for help: the explorer has one for all its views. */
export const HELP = "help";

/** Tells the other views of the explorer that `el` is in (of the page, outside one) about `topic`. */
export function publish(el: Element, topic: string, detail: unknown): void {
  el.dispatchEvent(new CustomEvent(`placelab-${topic}`, { bubbles: true, detail }));
}

/** Calls `handler` with what views beside `el` publish under `topic`, until the function returned is called. */
export function subscribe<T>(el: Element, topic: string, handler: (detail: T) => void): () => void {
  const name = `placelab-${topic}`;
  const scope = (target: EventTarget | null) => (target as Element | null)?.closest?.(".placelab-explorer") ?? null;
  const hear = (event: Event) => {
    if (scope(event.target) === scope(el)) handler((event as CustomEvent<T>).detail);
  };
  document.addEventListener(name, hear);
  return () => document.removeEventListener(name, hear);
}
