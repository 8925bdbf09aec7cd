/** One drawing for all traits of a message. */
import type { Model } from "./model.ts";

/** Calls `draw` with some traits, now and after each message that changes one of them; returns what ends that. */
export function redraw<T, K extends keyof T & string>(
  model: Model<T>,
  names: readonly K[],
  draw: (traits: Pick<T, K>) => void,
): () => void {
  let due = false;
  const now = () => {
    due = false;
    draw(Object.fromEntries(names.map((name) => [name, model.get(name)])) as Pick<T, K>);
  };
  const changed = () => {
    if (!due) queueMicrotask(now);
    due = true;
  };
  for (const name of names) model.on(`change:${name}`, changed);
  now();
  return () => names.forEach((name) => model.off(`change:${name}`, changed));
}
