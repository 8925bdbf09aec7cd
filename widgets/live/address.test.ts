import { describe, expect, it } from "vitest";
import { isSaved, type Page, read, saved, written } from "./address.ts";
import type { Dial } from "./dials.ts";
import type { Setting } from "./traits.ts";

const setting = {
  partitioners: ["as placed", "heft", "cpop"],
  partitioner: "heft",
  schedulers: ["fifo", "planned"],
  scheduler: "planned",
  models: ["parallel", "fair"],
  transfers: "parallel",
  names: ["a", "b"],
} as unknown as Setting;
const dials = ["speed:a", "bandwidth:a;=+ – b"].map((key) => ({ key }) as Dial);
const page: Page = { setting, dials, reach: 40, nOps: 20 };

describe("the address of a state", () => {
  it("gives the state back, whatever names hold", () => {
    const wish = {
      partitioner: "as placed",
      scheduler: "fifo",
      transfers: "parallel",
      steps: new Map([
        ["speed:a", 5],
        ["bandwidth:a;=+ – b", -7],
      ]),
      moves: new Map([
        [12, 1],
        [3, 0],
      ]),
    };
    const text = written(wish, setting);
    expect(text).toBe("#1;as%20placed+fifo;bandwidth%3Aa%3B%3D%2B%20%E2%80%93%20b=-7;speed%3Aa=5;3@0;12@1");
    expect(read(text, page)).toEqual(wish);
    const fair = { ...wish, transfers: "fair" };
    expect(written(fair, setting)).toMatch(/^#1;as%20placed\+fifo\+fair;/);
    expect(read(written(fair, setting), page)).toEqual(fair);
  });

  it("is empty for the saved state", () => {
    expect(written(saved(setting), setting)).toBe("#");
    expect(isSaved(read("#", page), setting) && isSaved(read("", page), setting)).toBe(true);
    expect(isSaved(read("#1;heft+fifo", page), setting)).toBe(false);
  });

  it.each([
    ["#2;heft+fifo", "cannot read"],
    ["#1;peft+fifo", "partitioner peft"],
    ["#1;heft", "scheduler "],
    ["#1;heft+fifo+slow", "transfer model slow"],
    ["#1;heft+fifo;speed%3Ac=1", "dial speed:c"],
    ["#1;heft+fifo;speed%3Aa=41", "at most 40"],
    ["#1;heft+fifo;20@1", "20@1"],
    ["#1;heft+fifo;2@2", "2@2"],
    ["#1;heft+fifo;%zz", "%zz"],
  ])("of another page is refused: %s", (text, why) => {
    expect(() => read(text, page)).toThrow(why);
  });
});
