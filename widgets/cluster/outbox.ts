/** Messages to Python: one in flight, and of a drag only the newest waits. Pure. */
import { floor } from "../shared/math";
import type { Edit, Message } from "./traits";

export class Outbox {
  #waiting: Message[] = [];
  #inFlight: Message | null = null;
  #seq = floor(Math.random() * 1e9); // several views of one model must not take each other's acknowledgements
  readonly #send: (message: Message) => void;

  constructor(send: (message: Message) => void) {
    this.#send = send;
  }

  /** Whether Python has handled all there was. */
  get idle(): boolean {
    return !this.#inFlight && this.#waiting.length === 0;
  }

  /** A number for a drag that is about to begin. */
  nextGesture(): number {
    return ++this.#seq;
  }

  post(edit: Edit, gesture: number, final: boolean): void {
    const last = this.#waiting.at(-1);
    if (last && last.gesture === gesture && !last.final) {
      if (edit.kind === "release") last.final = true;
      else this.#waiting[this.#waiting.length - 1] = { ...edit, gesture, final, seq: last.seq };
    } else {
      this.#waiting.push({ ...edit, gesture, final, seq: ++this.#seq });
    }
    this.#pump();
  }

  acknowledged(seq: number): void {
    if (seq !== this.#inFlight?.seq) return;
    this.#inFlight = null;
    this.#pump();
  }

  #pump(): void {
    if (this.#inFlight) return;
    this.#inFlight = this.#waiting.shift() ?? null;
    if (this.#inFlight) this.#send(this.#inFlight);
  }
}
