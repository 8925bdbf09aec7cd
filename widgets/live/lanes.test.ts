import { expect, it } from "vitest";
import { isPart, lanesAsText, lanesOfText } from "./lanes.ts";

it("writes a plan and reads it back", () => {
  const lanes = [Int32Array.of(0, 3, 11), new Int32Array(0), Int32Array.of(2, 1, 4, 5, 6, 7, 8, 9, 10)];
  const text = lanesAsText(lanes);
  expect(text).toBe("0.3.b,,2.1.4.5.6.7.8.9.a");
  const [device, back] = lanesOfText(text, 12, 3);
  expect(back).toEqual(lanes);
  expect([...device]).toEqual([0, 2, 2, 0, 2, 2, 2, 2, 2, 2, 2, 0]);
});

it("writes a part of a plan and reads it back", () => {
  const text = lanesAsText([Int32Array.of(2, 0), new Int32Array(0)], true);
  expect([text, isPart(text), isPart("2.0,")]).toEqual(["~2.0,", true, false]);
  expect([...lanesOfText(text, 4, 2)[0]]).toEqual([0, -1, 0, -1]);
  expect(lanesOfText("~,", 2, 2)[1].map((lane) => lane.length)).toEqual([0, 0]);
});

it.each(["0.1,2", "0.1,2,3.4", "0.1.1,2", "0.!,1.2", "~0.0,1", "~0,9", "~0"])(
  "refuses a plan of another page: %s",
  (text) => {
    expect(() => lanesOfText(text, 4, 2)).toThrow("of other ops or devices");
  },
);
