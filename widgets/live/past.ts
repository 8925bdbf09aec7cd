/** States one after the other, to go back and forth between. Pure. */
export class Past {
  readonly #before: string[] = [];
  #after: string[] = [];
  now: string;

  constructor(now: string) {
    this.now = now;
  }

  /** Whether that is another state than the one before. */
  add(state: string): boolean {
    if (state === this.now) return false;
    this.#before.push(this.now);
    this.#after = [];
    this.now = state;
    return true;
  }

  /** The state before, or the one that was left by this; null where there is none. */
  undo(): string | null {
    return this.#go(this.#before, this.#after);
  }

  redo(): string | null {
    return this.#go(this.#after, this.#before);
  }

  get canUndo(): boolean {
    return this.#before.length > 0;
  }

  get canRedo(): boolean {
    return this.#after.length > 0;
  }

  #go(from: string[], to: string[]): string | null {
    const state = from.pop();
    if (state === undefined) return null;
    to.push(this.now);
    this.now = state;
    return state;
  }
}
