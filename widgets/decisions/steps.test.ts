import { expect, it, describe as suite } from "vitest";
import { guess, hides, missing, moved, OFF, start, within } from "./steps.ts";

suite("keys", () => {
  it("move within the rows", () => {
    expect(["ArrowRight", "ArrowUp", "PageDown", "Home", "End", "x"].map((key) => moved(key, 3, 10))).toEqual([
      4,
      2,
      9,
      0,
      9,
      undefined,
    ]);
    expect([moved("ArrowLeft", 0, 10), moved("End", 0, 0), within(-5, 0)]).toEqual([0, 0, 0]);
  });
});

suite("a page", () => {
  const page = { first: 100, rows: { length: 50 } };
  it("misses the first row that it does not have", () => {
    expect(missing(page, 90, 110, 1000)).toBe(90);
    expect(missing(page, 140, 160, 1000)).toBe(150);
    expect(missing(page, 500, 510, 1000)).toBe(500);
  });
  it("misses none that do not exist", () => {
    expect(missing(page, 100, 150, 1000)).toBe(-1);
    expect(missing(page, 140, 160, 150)).toBe(-1);
    expect(missing(page, -10, 0, 1000)).toBe(-1);
  });
});

suite("predictions", () => {
  it("hide what was not guessed yet, and count", () => {
    let quiz = start(2);
    expect([hides(quiz, 1), hides(quiz, 2), hides(OFF, 2)]).toEqual([false, true, false]);
    quiz = guess(guess(quiz, 2, true), 3, false);
    expect(quiz).toEqual({ on: true, revealed: 3, right: 1, guesses: 2 });
    expect([hides(quiz, 3), hides(quiz, 4)]).toEqual([false, true]);
  });
});
