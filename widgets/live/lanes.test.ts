import { expect, it } from "vitest";
import { lanesAsText, lanesOfText } from "./lanes.ts";

it("writes a plan and reads it back", () => {
  const lanes = [Int32Array.of(0, 3, 11), new Int32Array(0), Int32Array.of(2, 1, 4, 5, 6, 7, 8, 9, 10)];
  const text = lanesAsText(lanes);
  expect(text).toBe("0.3.b,,2.1.4.5.6.7.8.9.a");
  const [device, back] = lanesOfText(text, 12, 3);
  expect(back).toEqual(lanes);
  expect([...device]).toEqual([0, 2, 2, 0, 2, 2, 2, 2, 2, 2, 2, 0]);
});

it.each(["0.1,2", "0.1,2,3.4", "0.1.1,2", "0.!,1.2"])("refuses a plan of another page: %s", (text) => {
  expect(() => lanesOfText(text, 4, 2)).toThrow("of other ops or devices");
});
