import { expect, it } from "vitest";
import { rowsOf, sum } from "./sums.ts";
import type { Facts } from "./traits.ts";

const FACTS: Facts = {
  seconds: [
    [
      [1, 1],
      [2, 2],
      [3, 1],
    ],
    [[4, 4]],
  ],
  links: [0.5, 0],
  kept: [
    [
      "weights",
      [
        [10, 1],
        [20, 3],
      ],
    ],
    ["cache", [[0, 4]]],
  ],
  twice: { weights: 10 },
  activations: [[1, 4]],
  copies: [2, 1],
  peaks: [
    [
      [7, 1],
      [5, 2],
      [6, 1],
    ],
  ],
  capacity: [30, null],
  share: 0.5,
};

it("sums up blocks between borders, without categories that nobody has", () => {
  expect(rowsOf(FACTS, [0, 2, 4])).toEqual([
    {
      seconds: 3.5,
      parts: [
        ["weights", 30],
        ["activations", 4],
        ["buffers", 7],
      ],
      capacity: 30,
      lacks: 26,
    },
    {
      seconds: 8,
      parts: [
        ["weights", 40],
        ["activations", 2],
        ["buffers", 6],
      ],
      capacity: null,
      lacks: 0,
    },
  ]);
});

it("counts a shared table once where one device has both its ends", () => {
  const alone = { ...FACTS, links: [0], copies: [1], capacity: [null], seconds: [[[1, 4]]] } satisfies Facts;
  expect(rowsOf(alone as Facts, [0, 4])[0]!.parts[0]).toEqual(["weights", 60]);
});

it("adds in lanes of eight, and halves what is long", () => {
  const tenths = new Float64Array(300).fill(0.1);
  expect(sum(tenths, 0, 7)).toBe(0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1);
  expect(sum(tenths, 3, 11)).toBe(0.8); // 0.7999999999999999 one after the other
  expect(sum(tenths, 0, 300)).toBe(sum(tenths, 0, 144) + sum(tenths, 144, 300));
});
