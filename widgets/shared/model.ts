import type { AnyModel } from "@anywidget/types";
import type { Command } from "./commands.ts";
import type { Newest } from "./current.ts";

/**
 * What a view knows of its engine, which answers what it sends and sets: a kernel of Jupyter's, by anywidget's model; the translated
 * kernels in the page, or a saved state that plays, by `modelOf`; and the first of them as long as it answers, by `overlaid`. `C` are
 * the commands that the view gives.
 */
export interface Model<T, C extends Command = never> {
  /** The explorer that it is a part of, which says what the newest state is; absent of a view alone in a cell. */
  readonly whole?: Newest;
  get<K extends keyof T & string>(name: K): T[K];
  set<K extends keyof T & string>(name: K, value: T[K]): void;
  save_changes(): void;
  send(command: C, callbacks?: undefined, buffers?: ArrayBuffer[]): void;
  on(event: string, callback: (message?: unknown, buffers?: unknown) => void): void;
  off(event: string, callback: (message?: unknown, buffers?: unknown) => void): void;
  /** ipywidgets' manager; absent where the host is not Jupyter. */
  readonly widget_manager?: unknown;
}

/** Draws a view into an element; what it returns ends what it has begun. */
export type Render<T, C extends Command = never> = (given: { model: Model<T, C>; el: HTMLElement }) => () => void;

/** Enough of anywidget's model for a view without Python: values and change events. */
export function modelOf<T extends object, C extends Command = never>(traits: T): Model<T, C> {
  const listeners = new Map<string, Set<(message?: unknown) => void>>();
  return {
    get: (name) => traits[name],
    set(name, value) {
      if (traits[name] === value) return;
      traits[name] = value;
      for (const callback of listeners.get(`change:${name}`) ?? []) callback();
    },
    save_changes() {},
    send(command) {
      for (const callback of listeners.get("sent") ?? []) callback(command);
    },
    on(event, callback) {
      if (!listeners.has(event)) listeners.set(event, new Set());
      listeners.get(event)!.add(callback);
    },
    off(event, callback) {
      listeners.get(event)?.delete(callback);
    },
  };
}

/** A model, and values that stand before its own until others are put in their place. */
export function overlaid<T extends object, C extends Command>(
  model: Model<T, C>,
): { model: Model<T, C>; put(values: Partial<T>): void } {
  let over: Partial<T> = {};
  const listeners = new Map<string, Set<(message?: unknown) => void>>();
  return {
    model: {
      ...(model.whole ? { whole: model.whole } : {}),
      get: (name) => (name in over ? over[name]! : model.get(name)),
      set: (name, value) => model.set(name, value),
      save_changes: () => model.save_changes(),
      send: (command) => model.send(command),
      on(event, callback) {
        if (!listeners.has(event)) listeners.set(event, new Set());
        listeners.get(event)!.add(callback);
        model.on(event, callback);
      },
      off(event, callback) {
        listeners.get(event)?.delete(callback);
        model.off(event, callback);
      },
    },
    put(values) {
      const names = new Set([...Object.keys(over), ...Object.keys(values)]) as Set<keyof T & string>;
      const before = over;
      over = values;
      for (const name of names)
        if (before[name] !== values[name]) for (const callback of listeners.get(`change:${name}`) ?? []) callback();
    },
  };
}

/** anywidget's model as a view knows it: that it can be is the compiler's to say. */
export const ofJupyter = <T extends Record<string, unknown>, C extends Command>(model: AnyModel<T>): Model<T, C> =>
  model;
