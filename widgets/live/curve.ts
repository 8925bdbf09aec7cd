/** The makespan over the value that a hand drags, and where another quick pair is better: as placelab/app/explorer/engine/curve.py. */
import type { Curve } from "../cluster/traits.ts";
import type { Values } from "./values.ts";

const VALUES = 33; // from a thirtieth of the value before the drag to thirty times it
const REACH = 1.5; // powers of ten to either side
const COARSE = 8; // every so many values first, and for the other pairs
const PAUSE = 150; // ms of a drag before the curve is computed, so that short ones cost nothing
const QUICK = 8; // ms for a value, which then is computed beside the pictures of the drag
const STILL = 100; // ms without a move, after which values are computed that take longer …
const LIMIT = 300; // … unless they take this long: then there is no curve
const REST = 10; // ms between two values, at least
const EVERY = 100; // ms between two messages

export type Pair = readonly [partitioner: string, scheduler: string];
export const PAIRS: readonly Pair[] = [
  ["heft", "planned"],
  ["m-etf", "pct"],
  ["tf-greedy", "pct"],
];

/** What is dragged. */
export interface Dragged {
  /** The value before the drag [SI]; of links the least. */
  readonly start: number;
  /** The cluster's values with the dragged one that many times what it was. */
  at(factor: number): Values;
}

export interface CurveHost {
  /** Of the pair shown, null, or of another one; NaN where there is no schedule. */
  makespan(values: Values, pair: Pair | null): Promise<number>;
  /** Other pairs than the one shown. */
  others(): readonly Pair[];
  show(curve: Curve | Record<string, never>): void;
}

/** Factors of the value before the drag, ascending. */
export function factors(): Float64Array {
  return Float64Array.from({ length: VALUES }, (_, i) => 10 ** ((2 * REACH * i) / (VALUES - 1) - REACH));
}

/** One makespan after the other, the coarse values first; yields after each of them what is known then. */
export async function* points(
  { start, at }: Dragged,
  { makespan, others }: Omit<CurveHost, "show">,
): AsyncGenerator<Curve, void> {
  const all = factors();
  const order = [...all.keys()].sort((a, b) => Number(a % COARSE > 0) - Number(b % COARSE > 0) || a - b);
  const known = new Map<number, number>();
  const best: Curve["best"] = [];
  const found = (): Curve => {
    const numbers = [...known.keys()].filter((i) => known.get(i)! < Infinity).sort((a, b) => a - b);
    return {
      values: numbers.map((i) => start * all[i]!),
      makespans: numbers.map((i) => known.get(i)!),
      best: [...best],
      preview: false,
    };
  };
  for (const i of order) {
    known.set(i, await makespan(at(all[i]!), null));
    yield found();
  }
  for (const i of order.filter((each) => each % COARSE === 0)) {
    let least = known.get(i)! * 0.999;
    let name = "";
    for (const pair of others()) {
      const takes = await makespan(at(all[i]!), pair);
      if (takes < least) [least, name] = [takes, pair.join(" + ")];
      yield found();
    }
    if (name) best.push([start * all[i]!, name, least]);
  }
  yield found();
}

/** Computes the curve of a drag while it lasts, beside its pictures if that is quick, else while the hand rests. */
export class CurveOfDrag {
  readonly #host: CurveHost;
  #timer = 0;
  #turn = 0; // of the drag
  #moved = 0; // when the hand moved last
  #may = false; // whether no value has been computed since

  constructor(host: CurveHost) {
    this.#host = host;
  }

  begin(dragged: Dragged): void {
    this.end();
    if (!(dragged.start > 0 && dragged.start < Infinity)) return;
    const values = points(dragged, this.#host);
    let told = 0;
    let took = Infinity; // until one has been computed
    let late = 0;
    const turn = ++this.#turn;
    const next = async () => {
      const begun = performance.now();
      const rests = begun - this.#moved > STILL;
      if (!rests && !(took < QUICK && this.#may)) {
        this.#timer = window.setTimeout(next, REST);
        return;
      }
      this.#may = false;
      const { value, done } = await values.next();
      if (done || turn !== this.#turn) return;
      took = performance.now() - begun;
      late = took > LIMIT ? late + 1 : 0;
      if (late > 1) return;
      const enough = value.values.length > VALUES / COARSE;
      if (enough && (performance.now() - told > EVERY || value.values.length === VALUES)) {
        told = performance.now();
        this.#host.show(value);
      }
      this.#timer = window.setTimeout(next, Math.max(REST, took));
    };
    this.#timer = window.setTimeout(next, PAUSE);
  }

  /** The hand has moved on. */
  moved(): void {
    this.#moved = performance.now();
    this.#may = true;
  }

  end(): void {
    this.#turn++;
    clearTimeout(this.#timer);
    this.#host.show({});
  }
}
