import { expect, it } from "vitest";
import { aside } from "./aside.ts";

const box = (left: number, top: number, width: number, height: number) => ({
  left,
  top,
  right: left + width,
  bottom: top + height,
});
const hint = box(100, 100, 200, 26);

it("leaves a hint where it meets no message", () => {
  expect(aside(hint, [], 1)).toBe(0);
  expect(aside(hint, [box(300, 100, 50, 26), box(100, 126, 200, 20)], -1)).toBe(0);
});

it("moves it beyond all messages in its way, whatever their order", () => {
  const messages = [box(0, 130, 500, 20), box(0, 110, 500, 16), box(0, 160, 500, 20)];
  expect(hint.top + aside(hint, messages, 1)).toBe(186);
  expect(hint.bottom + aside(hint, messages, -1)).toBe(104);
});
