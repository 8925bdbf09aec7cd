/** Ops that wait to be placed one by one: what placelab/app/explorer/panels/held.py is in the explorer. */
import type { Candidate, Waiting } from "../gantt/wire/traits.ts";
import { isReady } from "../kernels/hand.ts";
import { durations } from "../kernels/problem.ts";
import type { Run } from "../kernels/simulate.ts";
import { type Ground, mayRun } from "./ground.ts";
import type { Setting } from "./traits.ts";

export const PLACE_ALL = "First place all ops: some wait in the tray.";
const MOST = 200; // ops that are listed
const NAMED = 2; // inputs that an op waits for, by name; of more their number

export interface Tray {
  readonly tray: Waiting[];
  readonly tray_more: number;
}

export const NONE_WAITS: Tray = { tray: [], tray_more: 0 };

/** Which ops are placed where the page was saved while some waited in the tray; null: all. */
export function placedAtFirst({ waiting = [] }: Setting, nOps: number): Uint8Array | null {
  const placed = new Uint8Array(nOps).fill(1);
  for (const op of waiting) placed[op] = 0;
  return waiting.length ? placed : null;
}

/** What waits, in topological order, those first that can be placed. */
export function waitingIn({ problem, setting, names, time }: Ground, placed: Uint8Array): Tray {
  const { shape } = problem;
  const all = Array.from(placed.keys()).filter((v) => !placed[v]);
  const [ready, others] = [true, false].map((is) => all.filter((v) => isReady(shape, placed, v) === is)) as [
    number[],
    number[],
  ];
  const times = setting.names.map((_, d) => durations(problem, new Int32Array(shape.nOps).fill(d)));
  const inputsOf = (v: number) => {
    const edges = shape.predEdge.subarray(shape.predPtr[v]!, shape.predPtr[v + 1]!);
    return [...new Set(Array.from(edges, (e) => shape.producer[e]!))].filter((u) => !placed[u]);
  };
  const waits = (v: number) => {
    const inputs = inputsOf(v);
    return `waits for ${inputs.length > NAMED ? inputs.length : inputs.map((u) => names[u]!).join(", ")}`;
  };
  const takes = (v: number) => {
    const each = times.flatMap((of, d) => (mayRun(setting, v, d) ? [time(of[v]!)] : []));
    return [...new Set(each)].join(" · ");
  };
  const rows = [...ready, ...others].slice(0, MOST);
  const tray = rows.map((op, i) => {
    const is = i < ready.length;
    return { op, name: names[op]!, ready: is, said: is ? takes(op) : waits(op) };
  });
  return { tray, tray_more: all.length - tray.length };
}

/** Where an op runs, and where it would end first, for one who has said so before seeing it. */
export function verdictOf(
  { names, setting, time }: Ground,
  op: number,
  { device, start, finish }: Run,
  ghosts: readonly Candidate[],
): string {
  const first = ghosts.reduce((least, ghost) => (ghost.finish < least.finish ? ghost : least));
  const here = `${names[op]} on ${setting.names[device[op]!]}: ${time(start[op]!)} to ${time(finish[op]!)}.`;
  if (finish[op]! <= first.finish) return `${here} Nowhere does it end earlier.`;
  return `${here} On ${setting.names[first.device]} it would end at ${time(first.finish)}.`;
}
