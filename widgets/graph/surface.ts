/** Two canvases, one over the other, as large as the stage they are in. */
import { h } from "../shared/dom.ts";
import { ratioOf } from "../shared/zoom.ts";
import type { Size } from "./camera.ts";

export interface Surface {
  readonly size: Size;
  readonly base: CanvasRenderingContext2D;
  readonly marks: CanvasRenderingContext2D;
  stop(): void;
}

/** Calls `resized` whenever the stage has another size. */
export function surface(stage: HTMLElement, resized: () => void): Surface {
  const canvases = [h("canvas"), h("canvas")] as const;
  stage.prepend(...canvases);
  const [base, marks] = canvases.map((canvas) => canvas.getContext("2d")!) as [
    CanvasRenderingContext2D,
    CanvasRenderingContext2D,
  ];
  const made = { size: { width: 0, height: 0 }, base, marks, stop: () => observer.disconnect() };
  const observer = new ResizeObserver(() => {
    const { clientWidth: width, clientHeight: height } = stage;
    if (!width || !height || (width === made.size.width && height === made.size.height)) return;
    const ratio = ratioOf(stage);
    for (const canvas of canvases) {
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      canvas.getContext("2d")!.scale(ratio, ratio);
    }
    made.size = { width, height };
    resized();
  });
  observer.observe(stage);
  return made;
}
