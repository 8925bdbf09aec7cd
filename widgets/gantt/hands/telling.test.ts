import { expect, it } from "vitest";
import type { Details, Step } from "../wire/details.ts";
import { asText, folded } from "./telling.ts";

const step = (name: string): Step => [name, "2 s", "1 s", 1, 3, 0];

it("says how many steps are left out, before the last ones", () => {
  const rows = ["a", "b", "c"].map(step);
  const chain = { head: "why", rows, left: 7, after: 1, root: true };
  expect(folded(chain)).toEqual([rows[0], rows[1], 7, rows[2]]);
  expect(folded({ ...chain, left: 0, after: 0 })).toEqual(rows);
  expect(folded({ ...chain, after: 0 }).at(-1)).toBe(7);
});

it("writes the details as lines", () => {
  const details: Details = {
    title: "b",
    note: "op 2 of 2",
    facts: [["device", "dev1"]],
    bars: { head: "why here", rows: [[1, "dev1", 1, "3 s", "", true]], foot: "soonest", origin: false },
    idle: { head: "idle by reason", rows: [[0, "transfer", 1, "2 s", "1 gap", false]], foot: "", origin: false },
    chain: { head: "why then", rows: [step("b"), step("a")], left: 2, after: 1, root: true },
  };
  const text =
    "b (op 2 of 2)\ndevice: dev1\n\nwhy here\ndev1: 3 s\nsoonest\n\nidle by reason\ntransfer: 2 s 1 gap\n\nwhy then\n1 s: b (2 s)\n… 2 more\n1 s: a (2 s)";
  expect(asText(details)).toBe(text);
  expect(asText({})).toBe("");
});
