/** What the drawer says, apart from its elements. Pure. */
import { count } from "../../shared/format.ts";
import type { Chain, Details, Step } from "../wire/details.ts";

/** The steps of a chain, and in place of those that are left out their number. */
export function folded({ rows, left, after }: Chain): (Step | number)[] {
  if (!left) return [...rows];
  const at = rows.length - after;
  return [...rows.slice(0, at), left, ...rows.slice(at)];
}

/** The details as lines of text. */
export function asText({ title = "", note = "", facts = [], bars, idle, chain }: Details): string {
  const lines = [title && `${title} (${note})`, ...facts.map(([label, text]) => `${label}: ${text}`)];
  for (const compared of [bars, idle]) {
    if (compared?.rows.length)
      lines.push("", compared.head, ...compared.rows.map(([, label, , text, more]) => `${label}: ${text} ${more}`));
    if (compared?.foot) lines.push(compared.foot);
  }
  if (chain?.rows.length) {
    const steps = folded(chain).map((step) =>
      typeof step === "number" ? `… ${count(step)} more` : `${step[2]}: ${step[0]} (${step[1]})`,
    );
    lines.push("", chain.head, ...steps);
  }
  return lines.map((line) => line.trimEnd()).join("\n");
}
