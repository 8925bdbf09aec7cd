import { expect, it } from "vitest";
import { content, edges, named, nearest } from "./place.ts";

it("gives blocks the width of their sizes, and each a pixel", () => {
  expect(edges([1, 2, 1], 103)).toEqual([0, 26, 77, 103]);
  expect(edges([0, 1], 11)).toEqual([0, 1, 11]);
  expect(edges([0, 0], 10)).toEqual([0, 5, 10]);
});

it("snaps to the closest block within limits", () => {
  const places = [0, 10, 20, 30, 40];
  expect(nearest(places, 24, 1, 3)).toBe(2);
  expect(nearest(places, 26, 1, 3)).toBe(3);
  expect(nearest(places, 400, 1, 3)).toBe(3);
  expect(nearest(places, -5, 1, 3)).toBe(1);
});

it("says what a device has", () => {
  expect(content(0, 19, 34)).toBe("embedding + 18 layers");
  expect(content(30, 34, 34)).toBe("3 layers + head");
  expect(content(0, 34, 34)).toBe("embedding + 32 layers + head");
  expect(content(1, 2, 34)).toBe("1 layer");
  expect(content(33, 34, 34)).toBe("head");
  expect(content(5, 5, 34)).toBe("idle");
});

it("names cells that have room for it, apart from each other", () => {
  const wide = named(edges(new Array(6).fill(1), 600));
  expect(wide).toEqual([0, 1, 2, 3, 4, 5]);
  const narrow = named(edges(new Array(128).fill(1), 500));
  expect(narrow.length).toBeGreaterThan(5);
  expect(narrow.length).toBeLessThan(30);
});

it("names the head where it has room, and none whose cell a border narrows", () => {
  const places = edges([1.05, ...new Array(32).fill(0.436), 1.05], 480); // llama-3-8b, by bytes
  const all = named(places, [0, 1, 6, 11, 16, 21, 26, 31, 34]);
  expect([all[0], all.at(-1)]).toEqual([0, 33]);
  expect(all.some((block) => [1, 5, 6, 10, 11, 30, 31].includes(block))).toBe(false);
  const ends = all.map((block) => [places[block]!, places[block + 1]!] as const);
  expect(ends.every(([from], i) => i === 0 || from >= ends[i - 1]![1])).toBe(true);
});
