import { expect, it } from "vitest";
import { modelOf } from "../shared/model.ts";
import { unpack } from "../shared/packed.ts";
import type { GanttTraits } from "./wire/traits.ts";

it("unpacks plain and binary traits", () => {
  const header = new TextEncoder().encode(
    JSON.stringify({
      traits: { devices: ["gpu:0"], selection: -1 },
      buffers: [
        ["names", 3],
        ["kinds", 1],
      ],
    }),
  );
  const data = new Uint8Array(4 + header.length + 4);
  new DataView(data.buffer).setUint32(0, header.length, true);
  data.set(header, 4);
  data.set([97, 10, 98, 7], 4 + header.length);
  const traits = unpack(data) as GanttTraits;
  expect(traits.devices).toEqual(["gpu:0"]);
  expect(new TextDecoder().decode(traits.names)).toBe("a\nb");
  expect(traits.kinds.getUint8(0)).toBe(7);
});

it("gives names that count on their numbers", () => {
  const text = ["op9", "", "", "a/b2:0", "", "x", "7", ""].join("\n");
  const names = new TextEncoder().encode(text);
  const header = new TextEncoder().encode(JSON.stringify({ traits: {}, buffers: [["names", names.length]] }));
  const data = new Uint8Array(4 + header.length + names.length);
  new DataView(data.buffer).setUint32(0, header.length, true);
  data.set(header, 4);
  data.set(names, 4 + header.length);
  const found = new TextDecoder().decode((unpack(data) as GanttTraits).names).split("\n");
  expect(found).toEqual(["op9", "op10", "op11", "a/b2:0", "a/b2:1", "x", "7", "8"]);
});

it("stands in for a model: tells listeners of changes, once, until they leave", () => {
  const model = modelOf({ selection: -1 } as GanttTraits);
  const heard: number[] = [];
  const listen = () => heard.push(model.get("selection"));
  model.on("change:selection", listen);
  model.set("selection", 3);
  model.set("selection", 3);
  model.off("change:selection", listen);
  model.set("selection", 4);
  expect(heard).toEqual([3]);
});
