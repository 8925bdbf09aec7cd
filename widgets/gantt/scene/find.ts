/** Ops by a part of their name. */

/** 1 for each op whose name contains `text`, in capitals or not; null when there is nothing to look for. */
export function matching(names: readonly string[], text: string): Uint8Array | null {
  const wanted = text.trim().toLowerCase();
  return wanted ? Uint8Array.from(names, (name) => Number(name.toLowerCase().includes(wanted))) : null;
}

/** Numbers of the ops in a scope: names are divided at `/`, where none has that at `.`. */
export function inScope(names: readonly string[], scope: string): number[] {
  if (!scope) return [];
  const begin = `${scope}${names.some((name) => name.includes("/")) ? "/" : "."}`;
  return names.flatMap((name, op) => (name.startsWith(begin) ? [op] : []));
}

/** The match that starts next after (`step` 1) or before (-1) op `from`, round and round; -1 without any. */
export function nextMatch(match: Uint8Array, byStart: Uint32Array, from: number, step: 1 | -1): number {
  const n = byStart.length;
  const at = from < 0 ? (step > 0 ? -1 : n) : byStart.indexOf(from);
  for (let i = 1; i <= n; i++) {
    const bar = byStart[(at + step * i + 2 * n) % n]!;
    if (match[bar]) return bar;
  }
  return -1;
}
