import { describe, expect, it } from "vitest";
import { escaped, rectangles } from "./vector.ts";

describe("pixels as rectangles", () => {
  /** The pixels that the paths paint, in their order. */
  const painted = (paths: Map<number, string>, width: number, height: number) => {
    const pixels = new Uint32Array(width * height);
    for (const [colour, path] of paths)
      for (const [, x, y, w, h] of path.matchAll(/M(\d+) (\d+)h(\d+)v(\d+)h-\d+z/g))
        for (let j = 0; j < Number(h); j++)
          pixels.fill(colour, (Number(y) + j) * width + Number(x), (Number(y) + j) * width + Number(x) + Number(w));
    return pixels;
  };

  it("paint each pixel as it was, whatever the pattern", () => {
    let seed = 1;
    const next = (n: number) => {
      seed = (seed * 48271) % 2147483647;
      return seed % n;
    };
    for (let trial = 0; trial < 50; trial++) {
      const [width, height] = [1 + next(12), 1 + next(9)];
      const pixels = Uint32Array.from({ length: width * height }, () => 7 + next(3));
      expect(painted(rectangles(pixels, width, height), width, height)).toEqual(pixels);
    }
  });
  it("are few where pixels of one colour make a rectangle", () => {
    const pixels = Uint32Array.of(0, 0, 0, 0, 5, 5, 0, 5, 5);
    expect(rectangles(pixels, 3, 3).get(5)).toBe("M1 1h2v2h-2z");
  });
});

describe("text of SVG", () => {
  it("cannot leave its element, and holds nothing that XML cannot", () => {
    expect(escaped(`</text><script>&"'\u0000`)).toBe("&lt;/text&gt;&lt;script&gt;&amp;&quot;&#39;\ufffd");
  });
});
