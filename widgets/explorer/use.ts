/** What the functions that draw controls share: their traits, what changes them, and their look. */
import type { JSX } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { Command } from "../shared/commands.ts";
import { COMPUTING, follow } from "../shared/current.ts";
import type { Part, Whole } from "./part.ts";
import type { ControlTraits, PartTraits } from "./traits.ts";

export interface Given<T, C extends Command = never> {
  model: Part<T, C>;
  whole: Whole;
}

/**
 * The traits of a control, drawn again with each message that changes one.
 *
 * It listens in the task that draws: a message that came between, before an effect after the paint, would never be shown.
 */
export function useTraits<T, K extends keyof T & string>(model: Part<T>, ...names: K[]): Pick<T, K> {
  const [, again] = useState({});
  useLayoutEffect(() => {
    const changed = () => again({});
    for (const name of names) model.on(`change:${name}`, changed);
    return () => names.forEach((name) => model.off(`change:${name}`, changed));
  }, [model]);
  return Object.fromEntries(names.map((name) => [name, model.get(name)])) as Pick<T, K>;
}

/** Sets a trait and tells the kernel. */
export function sets<T, K extends keyof T & string>(model: Part<T>, name: K): (value: T[K]) => void {
  return (value) => {
    model.set(name, value);
    model.save_changes();
  };
}

/** {@link COMPUTING} while a part shows the result of another state than the newest, else "". */
export function useComputing(model: Part<PartTraits>): string {
  const [computing, set] = useState("");
  useLayoutEffect(() => {
    const outdated = (is: boolean) => set(is ? COMPUTING : "");
    const { look, end } = follow(model.whole, () => model.get("result_of"), outdated);
    look();
    model.on("change:result_of", look);
    return () => {
      end();
      model.off("change:result_of", look);
    };
  }, [model]);
  return computing;
}

/** Class, place and width of a control. */
export function useLook(model: Part<ControlTraits>, kind: string): { class: string; style: JSX.CSSProperties } {
  const { hidden, classes, width } = useTraits(model, "hidden", "classes", "width");
  const computing = useComputing(model);
  const style: JSX.CSSProperties = {};
  if (hidden) style.display = "none";
  if (width) style.width = width;
  return { class: [kind, ...classes, computing].filter(Boolean).join(" "), style };
}
