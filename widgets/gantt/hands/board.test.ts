import { describe, expect, it, vi } from "vitest";
import type { Theme } from "../../shared/theme.ts";
import { chartOf, encodeKept } from "../example.ts";
import { decodeKept } from "../scene/kept.ts";
import { Board } from "./board.ts";
import type { Stage } from "./stage.ts";

vi.stubGlobal("window", { devicePixelRatio: 1 });
const stage = { size: () => ({ width: 900, height: 200 }), resize: () => {}, scroll: 0, room: 200, element: {} };
const theme = { bg: "#ffffff", ink: "#000000", accent: "#0000ff", critical: "#ff0000", dark: false } as Theme;
const lasting = (seconds: number) => chartOf({ devices: 1, ops: [[0, seconds, 0]] });

function board(): Board {
  const made = new Board(stage as unknown as Stage, () => {});
  made.dress(theme);
  return made;
}

describe("the time axis", () => {
  it("shows the whole schedule, whatever its makespan", () => {
    const b = board();
    b.show(lasting(10));
    expect(b.seen.to).toBeCloseTo(10.1);
    b.show(lasting(5));
    expect(b.seen.to).toBeCloseTo(5.05);
  });

  it("stays when it is kept, grows when it must, and is let go again by fitting", () => {
    const b = board();
    b.show(lasting(10));
    b.keepAxis(true);
    b.show(lasting(5));
    expect(b.seen.to).toBeCloseTo(10.1);
    b.show(lasting(20));
    b.show(lasting(4));
    expect(b.seen.to).toBeCloseTo(20.2);
    b.fit();
    expect(b.seen.to).toBeCloseTo(4.04);
    b.show(lasting(2));
    expect(b.seen.to).toBeCloseTo(4.04);
    b.keepAxis(false);
    expect(b.seen.to).toBeCloseTo(2.02);
  });

  it("has room for a kept schedule", () => {
    const b = board();
    b.show(lasting(5));
    b.showKept(decodeKept(encodeKept(8, 1, [[0, 0, 8]])));
    expect(b.seen.to).toBeCloseTo(8.08);
    b.showKept(null);
    expect(b.seen.to).toBeCloseTo(5.05);
  });

  it("tells nothing of a kept schedule while decisions are shown, but where bars are placed by hand", () => {
    const b = board();
    b.show(
      chartOf({
        devices: 1,
        ops: [
          [0, 2, 0],
          [2, 3, 0],
        ],
      }),
    );
    b.showKept(decodeKept(encodeKept(8, 1, [[0, 0, 8]])));
    b.showDecided(Uint8Array.of(1, 0));
    expect([b.kept, b.seen.to < 8]).toEqual([null, true]);
    b.placing = true;
    expect(b.kept?.makespan).toBe(8);
    b.placing = false;
    b.showDecided(new Uint8Array());
    expect(b.kept?.makespan).toBe(8);
    expect(b.seen.to).toBeCloseTo(8.08);
  });
});
