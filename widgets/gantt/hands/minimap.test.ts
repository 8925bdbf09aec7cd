import { describe, expect, it } from "vitest";
import { framed } from "./minimap.ts";

describe("the frame of the whole run", () => {
  const span = { from: 2, to: 5 };
  it("moves, or grows at the edge that is held", () => {
    expect(framed(span, 1, "all")).toEqual({ from: 3, to: 6 });
    expect(framed(span, -1, "from")).toEqual({ from: 1, to: 5 });
    expect(framed(span, 1, "to")).toEqual({ from: 2, to: 6 });
  });
  it("turns round where an edge passes the other one", () => {
    expect(framed(span, 4, "from")).toEqual({ from: 5, to: 6 });
  });
});
