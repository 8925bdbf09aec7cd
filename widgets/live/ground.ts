/** What a hand takes ops from. */
import type { Plan } from "../kernels/hand.ts";
import type { Problem } from "../kernels/problem.ts";
import type { Setting } from "./traits.ts";

/** What a held op is taken from. */
export interface Ground {
  readonly problem: Problem;
  readonly plan: Plan;
  readonly names: readonly string[];
  readonly setting: Setting;
  /** Which ops are placed, where they are placed one by one: the others stand behind them, and nobody sees them. */
  readonly placed: Uint8Array | null;
  time(seconds: number): string;
}

/** Whether a device may run an op. */
export function mayRun({ allowed }: Setting, op: number, device: number): boolean {
  return !allowed || (allowed[op]! & (1 << device)) !== 0;
}
