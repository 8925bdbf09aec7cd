/** The whole picture, small, with the part that is in view. */
import { h, listen } from "../shared/dom.ts";
import { inside, ratioOf } from "../shared/zoom.ts";
import { type Camera, isWhole } from "./camera.ts";
import type { Drawing } from "./draw.ts";

const LARGEST = { width: 110, height: 56 };

export interface Minimap {
  readonly element: HTMLElement;
  /** Drawn when the view shows a part of the picture, else hidden. */
  show(drawing: Drawing): void;
}

/** `look` gets the point of the picture that is to be in the middle of the view. */
export function minimap(look: (x: number, y: number) => void, signal: AbortSignal): Minimap {
  const canvas = h("canvas");
  const element = h("div.minimap", { hidden: true, "aria-hidden": "true" }, canvas);
  let scale = 1;
  const go = (event: PointerEvent) => {
    const [x, y] = inside(event, canvas);
    look(x / scale, y / scale);
  };
  listen(
    element,
    "pointerdown",
    (event) => {
      element.setPointerCapture(event.pointerId);
      event.stopPropagation();
      go(event);
    },
    { signal },
  );
  listen(element, "pointermove", (event) => element.hasPointerCapture(event.pointerId) && go(event), { signal });
  return {
    element,
    show(drawing) {
      const { picture, camera, size } = drawing;
      element.hidden = !picture.boxes.length || isWhole(camera, picture, size) || size.width < 300;
      if (element.hidden) return;
      scale = Math.min(LARGEST.width / picture.width, LARGEST.height / picture.height);
      paint(canvas, drawing, scale, camera);
    },
  };
}

function paint(
  canvas: HTMLCanvasElement,
  { picture, parts, paint: { theme, border }, size }: Drawing,
  scale: number,
  camera: Camera,
): void {
  const ratio = ratioOf(canvas);
  const [width, height] = [Math.ceil(picture.width * scale), Math.ceil(picture.height * scale)];
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const g = canvas.getContext("2d")!;
  g.scale(ratio, ratio);
  g.fillStyle = theme.bg;
  g.fillRect(0, 0, width, height);
  picture.boxes.forEach((box, i) => {
    if (box.open) return;
    g.fillStyle = parts[i]![0]?.colour ?? border;
    g.fillRect(box.x * scale, box.y * scale, Math.max(box.w * scale, 1), Math.max(box.h * scale, 1));
  });
  g.strokeStyle = theme.accent;
  g.lineWidth = 1.5;
  g.strokeRect(
    (camera.x * scale) | 0,
    (camera.y * scale) | 0,
    (size.width / camera.zoom) * scale,
    (size.height / camera.zoom) * scale,
  );
}
