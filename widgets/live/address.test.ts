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
  memories: ["none", "edges"],
  memory: "none",
  names: ["a", "b"],
  allowed: null,
} as unknown as Setting;
const dials: Dial[] = [
  { key: "speed:a", quantity: "speed", label: "a", cells: [0] },
  { key: "bandwidth:a;=+ – b", quantity: "bandwidth", label: "a;=+ – b", cells: [1, 2] },
];
const column = (n: number) => new Float64Array(n).fill(8);
const columns = { speed: column(2), memory: column(2), bandwidth: column(4), latency: column(4), shared: column(0) };
const page: Page = { setting, dials, saved: columns, group: new Int32Array(20).fill(-1) };

describe("the address of a state", () => {
  it("gives the state back, whatever names hold", () => {
    const wish = {
      partitioner: "as placed",
      scheduler: "fifo",
      transfers: "parallel",
      memory: "none",
      against: "",
      hand: "",
      values: new Map([
        ["bandwidth:1", 2.5],
        ["bandwidth:2", 2.5],
        ["latency:2", 0],
        ["memory:0", Infinity],
        ["memory:1", Infinity],
        ["speed:0", 1 / 3],
      ]),
      moves: new Map([
        [12, 1],
        [3, 0],
      ]),
    };
    const text = written(wish, page);
    const values =
      "bandwidth%3Aa%3B%3D%2B%20%E2%80%93%20b=2.5;latency~2=0;memory~0.1=Infinity;speed%3Aa=0.3333333333333333";
    expect(text).toBe(`#2;as%20placed+fifo;${values};3@0;12@1`);
    expect(read(text, page)).toEqual(wish);
    const fair = { ...wish, transfers: "fair", against: "cpop", hand: "", values: new Map([["bandwidth:1", 2.5]]) };
    expect(written(fair, page)).toMatch(/^#2;as%20placed\+fifo\+fair;vs=cpop;bandwidth~1=2.5;/);
    expect(read(written(fair, page), page)).toEqual(fair);
  });

  it("has the memory model", () => {
    const wish = { ...saved(setting), memory: "edges" };
    expect(written(wish, page)).toBe("#2;heft+planned;mem=edges");
    expect(read("#2;heft+planned;mem=edges", page)).toEqual(wish);
    expect(() => read("#2;heft+planned;mem=most", page)).toThrow("has the memory model most, which this page lacks");
  });

  it("has a plan by hand", () => {
    const wish = { ...saved(setting), partitioner: "by hand", hand: "0.2,1" };
    expect(written(wish, page)).toBe("#2;by%20hand+planned;hand=0.2,1");
    expect(read(written(wish, page), { ...page, group: new Int32Array(3).fill(-1) })).toEqual(wish);
    expect(() => read(written(wish, page), page)).toThrow("a plan by hand of other ops");
    expect(() => read("#2;by%20hand+planned", page)).toThrow("partitioner by hand");
  });

  it("is empty for the saved state", () => {
    expect(written(saved(setting), page)).toBe("#");
    expect(isSaved(read("#", page), setting) && isSaved(read("", page), setting)).toBe(true);
    expect(isSaved(read("#2;heft+fifo", page), setting)).toBe(false);
    expect(read("#2;heft+planned;speed~1=8", page).values.size).toBe(0);
  });

  it.each([
    ["#1;heft+fifo", "cannot read"],
    ["#2;peft+fifo", "partitioner peft"],
    ["#2", "no partitioner"],
    ["#2;heft", "no scheduler"],
    ["#2;heft+fifo;vs=peft", "partitioner peft"],
    ["#2;heft+fifo+slow", "transfer model slow"],
    ["#2;heft+fifo;speed%3Ac=1", "the speed:c, which"],
    ["#2;heft+fifo;speed~2=1", "the speed number 2, which"],
    ["#2;heft+fifo;colour~0=1", "quantity colour"],
    ["#2;heft+fifo;speed~0=Infinity", "sets a speed to Infinity"],
    ["#2;heft+fifo;speed~0=1e308", "sets a speed to 1e308"],
    ["#2;heft+fifo;bandwidth~1=x", "sets a bandwidth to x"],
    ["#2;heft+fifo;bandwidth~1=5e-324", "sets a bandwidth to 5e-324"],
    ["#2;heft+fifo;bandwidth~3=2", "the bandwidth number 3, which"], // of a device to itself
    ["#2;heft+fifo;latency~1=1e300", "sets a latency to 1e300"],
    ["#2;heft+fifo;20@1", "20@1"],
    ["#2;heft+fifo;2@2", "2@2"],
    ["#2;heft+fifo;%zz", "%zz"],
  ])("of another page is refused: %s", (text, why) => {
    expect(() => read(text, page)).toThrow(why);
  });

  it("keeps the problem's rules", () => {
    const allowed = [...new Array(19).fill(3), 1]; // the last op may run on the first device alone
    const group = new Int32Array(20).fill(-1);
    group.set([0, 0], 4); // two ops together
    const strict: Page = { ...page, setting: { ...setting, allowed }, group };
    expect(read("#2;as%20placed+fifo;4@1;18@1;19@0", strict).moves.size).toBe(3);
    expect(() => read("#2;as%20placed+fifo;19@1", strict)).toThrow("on b, which may not run it");
    expect(() => read("#2;as%20placed+fifo;4@0;5@1", strict)).toThrow("of their group");
    const plan = (first: number[]) => {
      const rest = [...new Array(20).keys()].filter((v) => !first.includes(v));
      return `#2;by%20hand+planned;hand=${[first, rest].map((ops) => ops.map((v) => v.toString(36)).join(".")).join(",")}`;
    };
    expect(read(plan([19]), strict).partitioner).toBe("by hand");
    expect(() => read(plan([3]), strict)).toThrow("may not run it");
    expect(() => read(plan([4, 19]), strict)).toThrow("of their group");
    const unknown: Page = { ...page, setting: { ...setting, allowed: undefined } as unknown as Setting };
    expect(() => read("#2;as%20placed+fifo;4@1", unknown)).toThrow("may not run it");
  });
});
