import { describe, expect, it } from "vitest";
import { chartOf, PAIR } from "../example.ts";
import { advance, carry, DURATION, eventTimes, happeningsAt, scrub, stepEvent, toggle } from "./playback.ts";

const HEAD = { time: 0, playing: true, speed: 1 };

describe("the playhead", () => {
  it("takes DURATION seconds for the whole schedule at speed 1, half at speed 2", () => {
    expect(advance(HEAD, 0.06, 8).time).toBeCloseTo((8 * 0.06) / DURATION);
    expect(advance({ ...HEAD, speed: 2 }, 0.06, 8).time).toBeCloseTo((16 * 0.06) / DURATION);
  });

  it("stops at the makespan", () => {
    expect(advance({ ...HEAD, time: 7.999 }, 0.1, 8)).toEqual({ time: 8, playing: false, speed: 1 });
  });

  it("does not leap after a sleep", () => {
    expect(advance(HEAD, 60, 8).time).toBeLessThan(0.1);
  });

  it("starts again from 0 once it reached the end", () => {
    expect(toggle({ ...HEAD, playing: false, time: 8 }, 8)).toEqual({ ...HEAD, time: 0 });
    expect(toggle({ ...HEAD, playing: false, time: 3 }, 8)).toEqual({ ...HEAD, time: 3 });
    expect(toggle({ ...HEAD, time: 3 }, 8).playing).toBe(false);
  });

  it("is clamped when scrubbed, and pauses", () => {
    expect(scrub(HEAD, 99, 8)).toEqual({ time: 8, playing: false, speed: 1 });
    expect(scrub(HEAD, -1, 8).time).toBe(0);
  });

  it("keeps its time under a new schedule, except at the end", () => {
    expect(carry({ ...HEAD, time: 3 }, 8, 5).time).toBe(3);
    expect(carry({ ...HEAD, time: 7 }, 8, 5).time).toBe(5);
    expect(carry({ ...HEAD, time: 8 }, 8, 20).time).toBe(20);
  });
});

describe("events", () => {
  const { bars } = chartOf(PAIR);
  const times = eventTimes(bars, 8);

  it("are the distinct starts and finishes", () => {
    expect(Array.from(times)).toEqual([0, 2, 4, 5, 6, 7, 8]);
  });

  it("merge instants that single precision tells apart but the simulator does not", () => {
    const { bars } = chartOf({
      devices: 1,
      ops: [
        [0, 0.1, 0],
        [0.1 + 1e-9, 0.2, 0],
        [0.7, 0.3, 0],
      ],
    });
    expect(eventTimes(bars, 1).length).toBe(5);
  });

  it("are stepped through in both directions and end at both ends", () => {
    expect([stepEvent(times, 2, 1), stepEvent(times, 3, 1), stepEvent(times, 8, 1)]).toEqual([4, 4, 8]);
    expect([stepEvent(times, 2, -1), stepEvent(times, 3, -1), stepEvent(times, 0, -1)]).toEqual([0, 2, 0]);
  });

  it("name what starts and what finishes", () => {
    expect(happeningsAt(bars, 4, 8)).toEqual({ start: [1], finish: [4] });
  });
});
