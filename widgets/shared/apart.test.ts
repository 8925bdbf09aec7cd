import { expect, it } from "vitest";
import { here } from "./apart.ts";

it("answers, and passes on what went wrong", async () => {
  const { ask, apart } = here({
    twice: (x: number) => 2 * x,
    fails(): number {
      throw new Error("in words");
    },
  });
  expect(apart).toBe(false);
  expect(await ask("twice", 3)).toBe(6);
  await expect(ask("fails")).rejects.toThrow("in words");
});
