import { expect, it } from "vitest";
import { ascending, numbers } from "./sorted.ts";

const SPREAD = [0, -0, 1, -1, 1e-300, -1e300, Infinity, -Infinity, Number.MIN_VALUE, 1 + Number.EPSILON];

it.each([10, 500, 501, 5000])("sorts %i items as comparing them does, ties as they are given", (n) => {
  let state = 7;
  const random = () => (state = (state * 48271) % 2147483647);
  const values = Float64Array.from({ length: n }, () => SPREAD[random() % 20] ?? random() / 1e5 - 9999);
  const compared = (items: Int32Array) => items.slice().sort((a, b) => values[a]! - values[b]! || 0);
  expect(ascending(values)).toEqual(compared(numbers(n)));
  const backwards = numbers(n).reverse();
  expect(ascending(values, backwards)).toEqual(compared(backwards));
});
