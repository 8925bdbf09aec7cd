/** A page that plays a schedule without a kernel: the chart's own module, with the traits in the page instead of a kernel. */
import { publish } from "../shared/bus.ts";
import { type Model, modelOf } from "../shared/model.ts";
import { PAYLOAD, unpack, unzipped } from "../shared/packed.ts";
import type { GanttTraits } from "./wire/traits.ts";

type Render = (context: { model: Model<GanttTraits>; el: HTMLElement; alone: boolean }) => void;

/** Shows the schedule in this page; does nothing in a page without one. */
export async function play(render: Render): Promise<void> {
  const payload = globalThis.document?.getElementById(PAYLOAD);
  if (!payload) return;
  const model = modelOf(unpack(await unzipped(payload.textContent!)) as GanttTraits);
  const el = document.body.appendChild(document.createElement("main"));
  render({ model, el, alone: true });
  publish(el, "model", model); // to the controls of a page that recomputes
}
