/** The model of a part: the traits of the whole that begin with the part's name, and the messages that are for it. */
import type { Command } from "../shared/commands.ts";
import type { Model } from "../shared/model.ts";

type Listener = (message?: unknown, buffers?: unknown) => void;

/** What is used here of anywidget's model of the explorer. */
export interface Whole {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: Listener): void;
  off(event: string, listener: Listener): void;
  send(message: { to: string; content: Command }, callbacks?: undefined, buffers?: ArrayBuffer[]): void;
  widget_manager?: unknown;
}

/** A model as a view or a control knows it. */
export interface Part<T, C extends Command = never> extends Model<T, C> {
  widget_manager?: unknown;
  /** The model that it is a part of. */
  readonly whole: Whole;
}

const CHANGE = "change:";
const CUSTOM = "msg:custom";

/** The model of the part of that name. */
export function partOf<T, C extends Command = never>(whole: Whole, name: string): Part<T, C> {
  const heard = new Map<string, Map<Listener, Listener>>(); // by event and listener: what listens to the whole
  const key = (trait: string) => `${name}.${trait}`;
  const eventOf = (event: string) => (event.startsWith(CHANGE) ? CHANGE + key(event.slice(CHANGE.length)) : event);
  /** Custom messages of all parts come by one event of the whole. */
  const wrapped = (listener: Listener): Listener => {
    return (message, buffers) => {
      const { to, content } = (message ?? {}) as { to?: string; content?: unknown };
      if (to === name) listener(content, buffers);
    };
  };
  return {
    get: (trait) => whole.get(key(trait)) as never,
    set: (trait, value) => whole.set(key(trait), value),
    save_changes: () => whole.save_changes(),
    on(event, listener) {
      const listening = event === CUSTOM ? wrapped(listener) : () => listener();
      if (!heard.has(event)) heard.set(event, new Map());
      heard.get(event)!.set(listener, listening);
      whole.on(eventOf(event), listening);
    },
    off(event, listener) {
      const listening = heard.get(event)?.get(listener);
      if (listening) whole.off(eventOf(event), listening);
      heard.get(event)?.delete(listener);
    },
    send(content, callbacks, buffers) {
      try {
        whole.send({ to: name, content }, callbacks, buffers);
      } catch {
        // Jupyter throws where its connection to the kernel has ended before the view has: nobody is there to hear. What is to be
        // answered is sent again, and that the kernel is gone is said elsewhere.
      }
    },
    widget_manager: whole.widget_manager,
    whole,
  };
}
