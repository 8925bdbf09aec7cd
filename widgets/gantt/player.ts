/**
 * A page that plays a schedule without a kernel: the chart's own module, with the traits in the page instead of a kernel.
 *
 * Written by placelab/app/export.py: base64 of gzip of [uint32 length of the JSON header, header, buffers]; the header holds the
 * plain traits, and name and length of each binary one.
 */
import { publish } from "../shared/bus.ts";
import { type Model, modelOf } from "../shared/model.ts";
import type { GanttTraits } from "./wire/traits.ts";

export const PAYLOAD = "placelab-schedule"; // id of the script element that holds the data

type Render = (context: { model: Model<GanttTraits>; el: HTMLElement; alone: boolean }) => void;

/** Shows the schedule in this page; does nothing in a page without one. */
export async function play(render: Render): Promise<void> {
  const payload = globalThis.document?.getElementById(PAYLOAD);
  if (!payload) return;
  const traits = unpack(await gunzip(Uint8Array.from(atob(payload.textContent!), (c) => c.charCodeAt(0))));
  const model = modelOf(traits);
  const el = document.body.appendChild(document.createElement("main"));
  render({ model, el, alone: true });
  publish(el, "model", model); // to the controls of a page that recomputes
}

export function unpack(data: Uint8Array): GanttTraits {
  const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
  const { traits, buffers } = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  let at = data.byteOffset + 4 + length;
  for (const [name, bytes] of buffers as [string, number][]) {
    traits[name] = new DataView(data.buffer, at, bytes);
    at += bytes;
  }
  return traits;
}

async function gunzip(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
