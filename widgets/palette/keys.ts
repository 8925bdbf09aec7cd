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

const OF_THE_CHART = [" ", "/"]; // play and find

/** Whether a key is meant for the chart wherever the focus is: no control there takes it. */
export function isForChart({ key, ctrlKey, metaKey, altKey }: Key, target: unknown): boolean {
  const free = !ctrlKey && !metaKey && !altKey && OF_THE_CHART.includes(key);
  return (
    free && target instanceof Element && !target.closest("button, input, select, textarea, summary, [tabindex='0']")
  );
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
