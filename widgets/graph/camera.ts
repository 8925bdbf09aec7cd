/** Which part of the picture is in view: the point in the upper left corner, and CSS pixels per unit. Pure. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}
export interface Size {
  readonly width: number;
  readonly height: number;
}
export interface Area extends Size {
  readonly x: number;
  readonly y: number;
}

const MARGIN = 8; // CSS pixels around what is fitted
const LARGEST = 1.25; // zoom at which what is fitted is shown at most
const CLOSEST = 4;

/** `area` in the middle of the view, as large as it fits. */
export function fit(area: Area, view: Size): Camera {
  const room = (length: number, side: number) => Math.max(length - 2 * MARGIN, 1) / Math.max(side, 1);
  const zoom = Math.min(room(view.width, area.width), room(view.height, area.height), LARGEST);
  return {
    zoom,
    x: area.x + area.width / 2 - view.width / zoom / 2,
    y: area.y + area.height / 2 - view.height / zoom / 2,
  };
}

export const whole = (picture: Size, view: Size): Camera => fit({ x: 0, y: 0, ...picture }, view);

/** Zoomed around a point of the view, which stays where it is. */
export function zoomAt(camera: Camera, factor: number, px: number, py: number, picture: Size, view: Size): Camera {
  const zoom = Math.min(Math.max(camera.zoom * factor, least(picture, view)), CLOSEST);
  return { zoom, x: camera.x + px / camera.zoom - px / zoom, y: camera.y + py / camera.zoom - py / zoom };
}

/** No smaller than the whole picture. */
const least = (picture: Size, view: Size) => whole(picture, view).zoom;

export const panned = (camera: Camera, dx: number, dy: number): Camera => ({
  ...camera,
  x: camera.x - dx / camera.zoom,
  y: camera.y - dy / camera.zoom,
});

/** Moved so that the view holds as much of the picture as it can, in the middle along a side that it holds whole. */
export function bounded(camera: Camera, picture: Size, view: Size): Camera {
  const along = (at: number, length: number, side: number) => {
    const seen = length / camera.zoom;
    const margin = MARGIN / camera.zoom;
    if (seen >= side + 2 * margin) return (side - seen) / 2;
    return Math.min(Math.max(at, -margin), side + margin - seen);
  };
  return { ...camera, x: along(camera.x, view.width, picture.width), y: along(camera.y, view.height, picture.height) };
}

/** Whether all of the picture is in view, as `whole` shows it. */
export const isWhole = (camera: Camera, picture: Size, view: Size): boolean =>
  camera.zoom <= least(picture, view) * 1.01;

/** `camera` itself if it shows all of `area`, else one that does, no closer than it. */
export function showing(camera: Camera, area: Area, view: Size): Camera {
  const [right, bottom] = [camera.x + view.width / camera.zoom, camera.y + view.height / camera.zoom];
  const inside =
    area.x >= camera.x && area.y >= camera.y && area.x + area.width <= right && area.y + area.height <= bottom;
  if (inside) return camera;
  const fitted = fit(area, view);
  if (fitted.zoom <= camera.zoom) return fitted;
  return {
    zoom: camera.zoom,
    x: area.x + area.width / 2 - view.width / camera.zoom / 2,
    y: area.y + area.height / 2 - view.height / camera.zoom / 2,
  };
}

/** Between two cameras, `share` of the way. */
export function between(from: Camera, to: Camera, share: number): Camera {
  const zoom = from.zoom * (to.zoom / from.zoom) ** share;
  const along =
    Math.abs(to.zoom / from.zoom - 1) < 1e-6 ? share : (1 / zoom - 1 / from.zoom) / (1 / to.zoom - 1 / from.zoom);
  return { zoom, x: from.x + (to.x - from.x) * along, y: from.y + (to.y - from.y) * along };
}
