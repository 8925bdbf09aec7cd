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

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
const OF_THE_CHART = [...ARROWS, " ", "/", "w", "a", "s", "d"]; // along and between lanes, play, find, zoom and pan

/** Roles in which arrows lead from one part to the next, or keys have a meaning of their own. */
const WITH_KEYS =
  "application combobox dialog grid listbox menu menubar radiogroup separator slider spinbutton tablist tree".split(
    " ",
  );
const BUTTONS = ["button", "checkbox", "color", "file", "image", "reset", "submit"]; // types of input that are not typed into

/** What the decision needs of an element. */
type Place = Pick<HTMLInputElement, "tagName" | "type" | "getAttribute"> & { readonly parentElement: Place | null };

/** Whether a key is meant for the chart wherever the focus is: neither what has the focus nor what is around it takes the key. */
export function isForChart({ key, ctrlKey, metaKey, altKey }: Key, target: unknown, explorer: unknown): boolean {
  if (ctrlKey || metaKey || altKey || !OF_THE_CHART.includes(key)) return false;
  for (let at = target as Place | null; at && at !== explorer; at = at.parentElement) if (takes(at, key)) return false;
  return true; // what is around the explorer, as a host's cell, takes none
}

/** Whether an element takes a key: a button the Space that presses it; fields, and what scrolls or has keys of its own, all. */
function takes(element: Place, key: string): boolean {
  const tag = element.tagName.toLowerCase(); // of SVG it is small
  const has = (name: string) => element.getAttribute(name);
  const pressed = ["button", "summary"].includes(tag) || (tag === "input" && BUTTONS.includes(element.type));
  if (pressed || has("role") === "button") return key === " ";
  if (["input", "select", "textarea", "dialog"].includes(tag) || has("tabindex") === "0") return true;
  return WITH_KEYS.includes(has("role") ?? "") || has("contenteditable") !== null || has("data-keys") !== null;
}

/** The offer that a key leads to from number `at` of `n`; null for another key. */
export function moved(key: string, at: number, n: number): number | null {
  if (key === "ArrowDown") return n ? (at + 1) % n : 0;
  if (key === "ArrowUp") return n ? (at + n - 1) % n : 0;
  return null;
}
