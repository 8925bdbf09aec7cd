/** Keys of the whole explorer, and of the list of offers. Pure. */

type Key = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/** What a key asks for anywhere in the explorer; "" for nothing. */
export function commandOf({ key, ctrlKey, metaKey, altKey, shiftKey }: Key): "open" | "undo" | "redo" | "" {
  if (altKey || ctrlKey === metaKey) return "";
  const letter = key.toLowerCase();
  if (letter === "k" && !shiftKey) return "open";
  if (letter === "z") return shiftKey ? "redo" : "undo";
  return letter === "y" && !shiftKey ? "redo" : "";
}

const OF_THE_CHART = [" ", "/", "w", "a", "s", "d"]; // play, find, zoom and pan

const CONTROLS = "button, input, select, textarea, summary, [tabindex='0']";

/** Whether a key is meant for the chart wherever the focus is: no control of the explorer there takes it. */
export function isForChart({ key, ctrlKey, metaKey, altKey }: Key, target: unknown, explorer: Element): boolean {
  if (ctrlKey || metaKey || altKey || !OF_THE_CHART.includes(key) || !(target instanceof Element)) return false;
  const control = target.closest(CONTROLS);
  return !control || control.contains(explorer); // a host's cell may have the focus, too
}

/** Whether keys typed there are text, which has an undo of its own. */
export function isTyping(target: unknown): boolean {
  const { tagName = "", type = "", isContentEditable = false } = (target ?? {}) as Partial<HTMLInputElement>;
  const text = tagName === "INPUT" && !["range", "checkbox", "radio", "button", "file", "color"].includes(type);
  return text || tagName === "TEXTAREA" || isContentEditable;
}

/** The offer that a key leads to from number `at` of `n`; null for another key. */
export function moved(key: string, at: number, n: number): number | null {
  if (key === "ArrowDown") return n ? (at + 1) % n : 0;
  if (key === "ArrowUp") return n ? (at + n - 1) % n : 0;
  return null;
}
