import { expect, it } from "vitest";
import { factors, type Pair, points } from "./curve.ts";
import type { Values } from "./values.ts";

const dragged = { start: 2, at: (factor: number): Values => new Map([["speed:0", 2 * factor]]) };
const makespan = async (values: Values, pair: Pair | null) => (pair ? 3 : 10 / values.get("speed:0")!);

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

it("reaches from a thirtieth of the value to thirty times it, through the value", () => {
  const all = factors();
  expect([all[0], all[16], all[32]]).toEqual([10 ** -1.5, 1, 10 ** 1.5]);
});

it("has few values first, then all, and where another pair is better", async () => {
  const steps = await allOf(points(dragged, { makespan, others: () => [["heft", "planned"]] }));
  const ratio = steps[1]!.values[1]! / steps[1]!.values[0]!;
  expect(ratio).toBeCloseTo(10 ** 0.75);
  const { values, makespans, best } = steps.at(-1)!;
  expect(values).toHaveLength(33);
  expect(makespans).toEqual(values.map((x) => 10 / x));
  expect(best.map(([value, name, least]) => [value < 10 / 3, name, least])).toEqual([
    [true, "heft + planned", 3],
    [true, "heft + planned", 3],
    [true, "heft + planned", 3],
  ]);
});

it("leaves out values without a schedule", async () => {
  const some = async (values: Values) => (values.get("speed:0")! < 2 ? Number.NaN : 1);
  const { values } = (await allOf(points(dragged, { makespan: some, others: () => [] }))).at(-1)!;
  expect(values).toHaveLength(17);
});
