import { expect, it } from "vitest";
import { isTyping } from "../shared/keys.ts";
import { commandOf, isForChart, moved } from "./keys.ts";

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
  expect(commandOf(key("y", { ctrlKey: true, shiftKey: true }))).toBe("");
  expect(commandOf(key("k", { ctrlKey: true, metaKey: true }))).toBe("");
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
  expect([moved("ArrowDown", 0, 0), moved("ArrowUp", 0, 0), moved("a", 0, 3)]).toEqual([0, 0, null]);
});

/** An element as far as the decision looks: `at("input", { type: "range" }, around)`. */
function at(tag: string, attributes: Record<string, string> = {}, around: unknown = explorer) {
  const getAttribute = (name: string) => attributes[name] ?? null;
  return { tagName: tag.toUpperCase(), type: attributes.type ?? "", parentElement: around, getAttribute };
}
const cell = at("div", { tabindex: "0" }, null); // of a host
const explorer = at("div", { tabindex: "-1" }, cell);
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
const CHART = [...ARROWS, " ", "/", "w", "a", "s", "d"];
const ROLES = [
  ...["application", "combobox", "dialog", "grid", "listbox", "menu", "menubar"],
  ...["radiogroup", "separator", "slider", "spinbutton", "tablist", "tree"],
];
const taken = (target: unknown) => CHART.filter((each) => !isForChart(key(each), target, explorer));

it("gives the chart its keys from all that needs none", () => {
  expect(taken(explorer)).toEqual([]);
  expect(taken(at("p"))).toEqual([]);
  expect(taken(at("text", {}, at("g")))).toEqual([]);
});

it("leaves buttons nothing but the Space that presses them", () => {
  for (const button of [
    at("button", { type: "button" }),
    at("summary"),
    ...["button", "checkbox", "color", "file", "image", "reset", "submit"].map((type) => at("input", { type })),
    at("text", { role: "button", tabindex: "0" }),
    at("span", {}, at("button")),
  ])
    expect(taken(button)).toEqual([" "]);
});

it("leaves all keys to what needs arrows itself", () => {
  for (const own of [
    at("input", { type: "text" }),
    at("input", { type: "number" }),
    at("input", { type: "range" }),
    at("input", { type: "radio" }),
    at("select"),
    at("textarea"),
    at("div", { contenteditable: "" }),
    at("dialog"),
    ...ROLES.map((role) => at("g", { role, tabindex: "-1" })),
    at("g", { role: "group", tabindex: "0" }),
    at("div", { role: "application", tabindex: "0" }),
    at("pre", { tabindex: "0" }),
    at("button", { role: "menuitem", tabindex: "-1" }, at("div", { role: "menu" })),
    at("button", { role: "tab" }, at("div", { role: "tablist" })),
    at("td", { tabindex: "-1" }, at("table", { role: "grid" })),
    at("button", {}, at("div", { role: "dialog" })),
    at("button", {}, at("div", { "data-keys": "" })),
  ])
    expect(taken(own)).toEqual(CHART);
});

it("leaves the page the keys with Ctrl, Command and Alt, and those that mean nothing in the chart", () => {
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }])
    expect(isForChart(key("ArrowLeft", more), explorer, explorer)).toBe(false);
  expect(isForChart(key("ArrowLeft", { shiftKey: true }), explorer, explorer)).toBe(true);
  expect(isForChart(key("x"), explorer, explorer)).toBe(false);
});
