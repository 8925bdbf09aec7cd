import { expect, it } from "vitest";
import { restOf } from "./rest.ts";

it("counts the cards that end outside what is seen", () => {
  const card = (x: number, y: number) => ({ x, y, w: 94, h: 46 });
  const cards = [card(0, 0), card(100, 0), card(0, 100), card(100, 100)];
  expect(restOf(cards, 200, 200)).toBe("");
  expect(restOf(cards, 200, 142.5)).toBe("");
  expect(restOf(cards, 200, 120)).toBe("and 2 more");
  expect(restOf(cards, 150, 120)).toBe("and 3 more");
});
