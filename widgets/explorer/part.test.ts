import { expect, it } from "vitest";
import type { Of } from "../shared/commands.ts";
import { partOf, type Whole } from "./part.ts";

type Heard = (message?: unknown, buffers?: unknown) => void;

/** A model in memory; `tell` calls who listens. */
function whole() {
  const state: Record<string, unknown> = { "p1.value": 1, "p2.value": 2 };
  const listening = new Map<string, Set<Heard>>();
  const sent: unknown[] = [];
  const model: Whole = {
    get: (name) => state[name],
    set: (name, value) => {
      state[name] = value;
    },
    save_changes: () => sent.push("saved"),
    on: (event, listener) => void listening.set(event, (listening.get(event) ?? new Set()).add(listener)),
    off: (event, listener) => void listening.get(event)?.delete(listener),
    send: (content) => sent.push(content),
  };
  const tell = (event: string, ...given: unknown[]) => listening.get(event)?.forEach((listener) => listener(...given));
  return { model, state, sent, tell };
}

it("reads, writes and hears the traits of its own part", () => {
  const { model, state, tell } = whole();
  const part = partOf<{ value: number }>(model, "p1");
  let heard = 0;
  const hear = () => heard++;
  part.on("change:value", hear);
  part.set("value", 5);
  expect([part.get("value"), state["p1.value"], state["p2.value"]]).toEqual([5, 5, 2]);
  tell("change:p1.value");
  tell("change:p2.value");
  expect(heard).toBe(1);
  part.off("change:value", hear);
  tell("change:p1.value");
  expect(heard).toBe(1);
});

it("hears the messages that are for it, and says whom its own are from", () => {
  const { model, sent, tell } = whole();
  const part = partOf<object, Of<"click">>(model, "p2");
  const heard: unknown[] = [];
  const hear: Heard = (content, buffers) => heard.push(content, buffers);
  part.on("msg:custom", hear);
  tell("msg:custom", { to: "p1", content: "no" }, []);
  tell("msg:custom", { to: "p2", content: "yes" }, ["bytes"]);
  tell("msg:custom", "of another kind");
  expect(heard).toEqual(["yes", ["bytes"]]);
  part.send({ kind: "click" });
  expect(sent).toEqual([{ to: "p2", content: { kind: "click" } }]);
});

it("sends nothing where the connection to the kernel has ended, and does not fail", () => {
  const { model } = whole();
  model.send = () => {
    throw new Error("Cannot send");
  };
  expect(() => partOf<object, Of<"click">>(model, "p1").send({ kind: "click" })).not.toThrow();
});
