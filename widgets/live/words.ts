/** What the page says of numbers. Pure. */
import { number, percent } from "../shared/format.ts";

const OPTIMAL = 1e-9; // relative: a makespan this close above its bound differs from it by rounding

/** How much a makespan differs from another: "=", "▼ 12 %", "▲ 3.1 %". */
export function compared(now: number, before: number): string {
  if (now === before) return "=";
  const share = before > 0 ? ` ${number((100 * Math.abs(now - before)) / before, 3)} %` : "";
  return `${now < before ? "▼" : "▲"}${share}`;
}

/** How far a makespan is from the optimum, at most, by a lower bound: "≤ 55 %", "proven optimal". */
export function aboveOptimum(makespan: number, bound: number): string {
  if (!(bound > 0)) return "–";
  const gap = makespan / bound - 1;
  if (gap < OPTIMAL) return "proven optimal";
  return `${gap < 1e-3 ? "" : "≤ "}${percent(gap)}`;
}

/** What a makespan is made of: "compute 61 · transfer 26 · wait 13 %". */
export function pathText(parts: readonly number[], makespan: number): string {
  const words = ["compute", "transfer", "wait"];
  const shares = parts.map((part, i) => `${words[i]} ${percent(makespan > 0 ? part / makespan : 0).replace(" %", "")}`);
  return `${shares.join(" · ")} %`;
}
