import { expect, it } from "vitest";
import { commandOf, isTyping, moved } from "./keys.ts";

const key = (key: string, more = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

it("knows the keys of the explorer, with Ctrl or Command", () => {
  expect(commandOf(key("k", { ctrlKey: true }))).toBe("open");
  expect(commandOf(key("K", { metaKey: true }))).toBe("open");
  expect(commandOf(key("z", { ctrlKey: true }))).toBe("undo");
  expect(commandOf(key("Z", { ctrlKey: true, shiftKey: true }))).toBe("redo");
  expect(commandOf(key("y", { ctrlKey: true }))).toBe("redo");
  expect(commandOf(key("k"))).toBe("");
  expect(commandOf(key("z", { ctrlKey: true, altKey: true }))).toBe("");
  expect(commandOf(key("k", { ctrlKey: true, shiftKey: true }))).toBe("");
});

it("leaves text fields their own undo", () => {
  expect(isTyping({ tagName: "INPUT", type: "text" })).toBe(true);
  expect(isTyping({ tagName: "TEXTAREA" })).toBe(true);
  expect(isTyping({ tagName: "INPUT", type: "range" })).toBe(false);
  expect(isTyping({ tagName: "BUTTON" })).toBe(false);
  expect(isTyping(null)).toBe(false);
});

it("goes around the offers", () => {
  expect([moved("ArrowDown", 0, 3), moved("ArrowDown", 2, 3), moved("ArrowUp", 0, 3)]).toEqual([1, 0, 2]);
  expect([moved("ArrowDown", 0, 0), moved("a", 0, 3)]).toEqual([0, null]);
});
