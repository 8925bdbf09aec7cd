import { expect, it, describe as suite } from "vitest";
import { decodePage } from "./page.ts";

/** A message of columns and texts, each part padded to 8 bytes. */
function message(header: number[], columns: ArrayBufferView[], texts: unknown): DataView {
  const text = new TextEncoder().encode(JSON.stringify(texts));
  const parts = [new Uint32Array([...header, text.length]), ...columns, text];
  const bytes: number[] = [];
  for (const { buffer, byteOffset, byteLength } of parts) {
    bytes.push(...new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
    while (bytes.length % 8) bytes.push(0);
  }
  return new DataView(Uint8Array.from(bytes).buffer);
}

suite("pages", () => {
  it("of decisions have scores, reasons, and the other strategy's decisions about the same ops", () => {
    const page = decodePage(
      message(
        [1, 7, 0, 40, 2, 2, 1, 0],
        [
          new Uint32Array([5, 6]),
          new Uint32Array([1, 0]),
          new Float64Array([9, NaN]),
          new Float64Array([4, 3, 2, NaN]),
          new Float64Array([1, 1, 2, NaN]),
          new Uint32Array([2 ** 32 - 1, 3]),
          new Uint32Array([0, 1]),
          new Float64Array([NaN, NaN, 5, 4]),
          new Float64Array(4),
        ],
        { names: ["a", "<b>"], why: ["x", "y"], other_why: ["", "z"], other_here: ["q → r", ""] },
      ),
    );
    expect(page).toMatchObject({ mode: "decisions", generation: 7, first: 40 });
    expect(page.rows[0]).toMatchObject({
      row: 40,
      op: 5,
      name: "a",
      device: 1,
      rank: 9,
      why: "x",
      other: undefined,
      otherHere: "q → r",
    });
    expect(page.rows[1]).toMatchObject({
      row: 41,
      op: 6,
      device: 0,
      other: { row: 3, device: 1, why: "z" },
      otherHere: "",
    });
    expect(page.mode === "decisions" && [...page.rows[1]!.score, ...page.rows[1]!.other!.score]).toEqual([
      2,
      NaN,
      5,
      4,
    ]);
  });

  it("of ranks have the terms of each op", () => {
    const page = decodePage(
      message(
        [1, 2, 1, 0, 2, 1, 0, 1],
        [
          new Uint32Array([1, 0]),
          new Float64Array([2, 3]),
          new Float64Array([2, 9]),
          new Uint32Array([0, 0, 1]),
          new Uint32Array([1]),
          new Float64Array([4]),
          new Float64Array([2]),
          new Uint32Array([0, 5]),
        ],
        { names: ["exit", "entry"], successors: ["exit"] },
      ),
    );
    expect(page.rows).toEqual([
      { op: 1, name: "exit", own: 2, rank: 2, terms: [], more: 0 },
      { op: 0, name: "entry", own: 3, rank: 9, terms: [{ op: 1, name: "exit", way: 4, rank: 2 }], more: 5 },
    ]);
  });

  it("that are empty have no rows, and of another version are refused", () => {
    expect(decodePage(new DataView(new ArrayBuffer(0))).rows).toEqual([]);
    expect(() => decodePage(message([9, 0, 0, 0, 0, 0, 0, 0], [], {}))).toThrow("version 9");
  });
});
