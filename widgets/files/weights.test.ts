import { expect, it } from "vitest";
import { withoutWeights } from "./weights.ts";

/** A field that has a length. */
function field(number: number, content: number[] | Uint8Array): number[] {
  const groups = (value: number): number[] =>
    value < 128 ? [value] : [(value % 128) + 128, ...groups(Math.floor(value / 128))];
  return [...groups(number * 8 + 2), ...groups(content.length), ...content];
}

const slimmed = async (bytes: number[]) => [
  ...new Uint8Array(await (await withoutWeights(new Blob([new Uint8Array(bytes)]))).arrayBuffer()),
];

const NAME = field(8, [119]);
const DIMS = [8, 0xac, 2]; // 300

it("drops the elements of a large tensor, and of one in an attribute, and keeps what they are", async () => {
  const tensor = (bytes: number) => [...DIMS, ...NAME, ...field(9, new Uint8Array(bytes).fill(7))];
  const node = (bytes: number) => field(1, [...field(4, [67]), ...field(5, field(5, tensor(bytes)))]);
  const model = (bytes: number) => [
    8,
    9,
    ...field(7, [...field(2, [103]), ...field(5, tensor(bytes)), ...node(bytes)]),
  ];
  const bare = [...DIMS, ...NAME];
  const due = field(7, [
    ...field(2, [103]),
    ...field(5, bare),
    ...field(1, [...field(4, [67]), ...field(5, field(5, bare))]),
  ]);
  expect(await slimmed(model(200_000))).toEqual([8, 9, ...due]);
  expect(await slimmed(model(20))).toEqual(model(20));
});

it("refuses what is damaged", async () => {
  await expect(withoutWeights(new Blob([new Uint8Array([58, 200, 1, 1])]))).rejects.toThrow("damaged");
  await expect(withoutWeights(new Blob([new Uint8Array([15])]))).rejects.toThrow("damaged");
});
