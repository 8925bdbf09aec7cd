/** What the page says of numbers. Pure. */
import { number } from "../shared/format.ts";

/** How much a makespan differs from another: "=", "▼ 12 %", "▲ 3.1 %". */
export function compared(now: number, before: number): string {
  if (now === before) return "=";
  const share = before > 0 ? ` ${number((100 * Math.abs(now - before)) / before, 3)} %` : "";
  return `${now < before ? "▼" : "▲"}${share}`;
}
