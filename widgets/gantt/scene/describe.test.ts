import { expect, it, describe as suite } from "vitest";
import { SI } from "../../shared/format.ts";
import { chartOf, PAIR } from "../example.ts";
import { describe, eventLine, opLine, summary } from "./describe.ts";

const chart = chartOf(PAIR);
const labels = {
  names: ["net/conv", "relu", "fc", "loss"],
  kinds: new Uint8Array(4),
  kindNames: [],
  devices: ["gpu:0", "gpu:1"],
  units: SI,
};

suite("words", () => {
  it("say name, device and times with units", () => {
    expect(describe(chart, labels, { kind: "op", bar: 1, row: 1, device: 1 })).toEqual({
      title: "relu",
      rows: [
        ["on", "gpu:1"],
        ["start", "4 s"],
        ["finish", "5 s"],
        ["takes", "1 s"],
        ["critical path", "yes"],
      ],
    });
    expect(opLine(chart, labels, 3)).toBe("loss on gpu:0, 6 s to 7 s (1 s)");
  });

  it("give instants enough digits to tell start from finish", () => {
    const close = chartOf({
      devices: 1,
      ops: [
        [2.7041e-3, 4.61e-7, 0],
        [7e-3, 1e-3, 0],
      ],
    });
    expect(opLine(close, labels, 0)).toBe("net/conv on gpu:0, 2.7041 ms to 2.70456 ms (461 ns)");
  });

  it("name the output that travels and its link", () => {
    const { title, rows } = describe(chart, labels, { kind: "transfer", bar: 4, row: 0, device: 1 });
    expect(title).toBe("transfer, output of net/conv");
    expect(rows[0]).toEqual(["link", "gpu:0 → gpu:1"]);
  });

  it("say what an idle device waits for, and that nothing is left at the end", () => {
    expect(describe(chart, labels, { kind: "idle", row: 0, device: 1 })).toMatchObject({
      title: "idle: waits for a transfer",
      rows: [
        ["on", "gpu:1"],
        ["output of", "net/conv"],
        ["from", "0 s"],
        ["to", "4 s"],
        ["for", "4 s"],
      ],
    });
    expect(describe(chart, labels, { kind: "idle", row: 2, device: 0 }).title).toBe("idle: nothing left to run");
  });

  it("tell the event that the playhead stands on", () => {
    expect(eventLine(chart, labels, { start: [1], finish: [4] })).toBe("finished: 1 transfer · started: relu");
    expect(eventLine(chart, labels, { start: [0, 1, 2], finish: [] })).toBe("started: net/conv, relu and 1 more");
  });

  it("sum the schedule up when nothing is selected", () => {
    expect(summary(chart, labels, -1)).toBe("4 ops on 2 devices · 1 transfer · makespan 8 s");
  });
});
