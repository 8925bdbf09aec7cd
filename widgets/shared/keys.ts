/** Keys that all pictures share. */

export type ViewAction = "zoom-in" | "zoom-out" | "fit" | "to-selection" | "clear";

export const VIEW_KEYS: Record<string, ViewAction> = {
  "+": "zoom-in",
  "=": "zoom-in",
  "-": "zoom-out",
  _: "zoom-out",
  "0": "fit",
  f: "fit",
  z: "to-selection",
  Escape: "clear",
};

export type Key = Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "metaKey">;

/** The action of a key event; none for keys that belong to the page (with Ctrl, Alt or Meta). */
export function keyed<A>(keys: Record<string, A>, event: Key): A | undefined {
  return event.ctrlKey || event.altKey || event.metaKey ? undefined : keys[event.key];
}

/** Whether keys typed there are text, which has an undo of its own. */
export function isTyping(target: unknown): boolean {
  const { tagName = "", type = "", isContentEditable = false } = (target ?? {}) as Partial<HTMLInputElement>;
  const text = tagName === "INPUT" && !["range", "checkbox", "radio", "button", "file", "color"].includes(type);
  return text || tagName === "TEXTAREA" || isContentEditable;
}
