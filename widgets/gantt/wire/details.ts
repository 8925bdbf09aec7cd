/** What Python says of what was clicked (`placelab/app/widgets/details.py`); empty for nothing. */
export interface Details {
  /** Key of the state that it is said of, see shared/current.ts. */
  readonly of?: string;
  readonly title?: string;
  readonly note?: string;
  readonly facts?: readonly (readonly [label: string, text: string])[];
  /** The same as raw numbers, which Python writes to a file. */
  readonly figures?: readonly (readonly [name: string, value: string | number, unit: string])[];
  readonly bars?: Bars;
  /** Idle time by reason; the numbers of its rows are those of `IDLE_REASONS`, in place of devices. */
  readonly idle?: Bars;
  readonly chain?: Chain;
  /** Whether it is an area. */
  readonly area?: boolean;
  /** Whether it is a value, of which there is a curve. */
  readonly over?: boolean;
}

export interface Bars {
  readonly head: string;
  /** Device (-1: none), label, length from 0 to 1, the value, what is to say of it, whether it was chosen. */
  readonly rows: readonly (readonly [number, string, number, string, string, boolean])[];
  readonly foot: string;
  /** Whether bars begin above 0. */
  readonly origin: boolean;
}

/** What it is, a note, when; its start and finish in seconds, its op. */
export type Step = readonly [what: string, note: string, when: string, start: number, finish: number, op: number];

export interface Chain {
  readonly head: string;
  readonly rows: readonly Step[];
  /** Steps that are left out before the last `after`. */
  readonly left: number;
  readonly after: number;
  /** Whether the last step is the root cause. */
  readonly root: boolean;
}
