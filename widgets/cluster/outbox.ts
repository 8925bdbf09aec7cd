/** Messages to Python: one in flight; of a drag, only the newest waits. Pure. */
import type { Edit } from "../shared/commands.ts";
import type { Message } from "./traits.ts";

export interface Outbox {
  /** Whether Python has handled all there was. */
  readonly idle: boolean;
  /** A number for a drag that is about to begin. */
  nextGesture(): number;
  post(edit: Edit, gesture: number, final: boolean): void;
  acknowledged(handled: readonly number[]): void;
}

export function outbox(send: (message: Message) => void): Outbox {
  const waiting: Message[] = [];
  let inFlight: Message | null = null;
  let seq = Math.floor(Math.random() * 1e9); // several views of one model must not take each other's acknowledgements
  const pump = () => {
    if (inFlight) return;
    inFlight = waiting.shift() ?? null;
    if (inFlight) send(inFlight);
  };
  return {
    get idle() {
      return !inFlight && waiting.length === 0;
    },
    nextGesture: () => ++seq,
    post(edit, gesture, final) {
      const last = waiting.at(-1);
      if (last && last.gesture === gesture && !last.final) {
        if (edit.kind === "release") last.final = true;
        else waiting[waiting.length - 1] = { ...edit, gesture, final, seq: last.seq };
      } else {
        waiting.push({ ...edit, gesture, final, seq: ++seq });
      }
      pump();
    },
    acknowledged(handled) {
      if (!inFlight || !handled.includes(inFlight.seq)) return;
      inFlight = null;
      pump();
    },
  };
}
