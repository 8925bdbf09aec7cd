/** Coordinates in an element's own pixels: *Present* shows the explorer larger, and the page counts pointers and boxes in its pixels. */

/** Pixels of the page per pixel of `element`; 1 in browsers that do not tell. */
export function zoomOf(element: Element): number {
  return (element as { currentCSSZoom?: number }).currentCSSZoom ?? 1;
}

/** Pixels of the screen per pixel of `element`. */
export function ratioOf(element: Element): number {
  return (window.devicePixelRatio || 1) * zoomOf(element);
}

/** Where `element` is in the window; give the `zoom` of another one to compare the two. */
export function boxOf(element: Element, zoom = zoomOf(element)): DOMRect {
  const { x, y, width, height } = element.getBoundingClientRect();
  return new DOMRect(x / zoom, y / zoom, width / zoom, height / zoom);
}

/** Where the pointer is in the window, in pixels of `element`. */
export function pointOf(event: MouseEvent, element: Element): { x: number; y: number } {
  const zoom = zoomOf(element);
  return { x: event.clientX / zoom, y: event.clientY / zoom };
}

/** Where the pointer is inside the border of `element`. */
export function inside(event: MouseEvent, element: Element): [number, number] {
  const box = boxOf(element);
  const { x, y } = pointOf(event, element);
  return [x - box.left - element.clientLeft, y - box.top - element.clientTop];
}
