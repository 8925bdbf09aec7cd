/** Names in the room that there is. */

/** `name` in at most `room` characters: whole, its last component, or the beginning of that; "" below three. */
export function shorten(name: string, room: number): string {
  if (name.length <= room) return name;
  const last = name.slice(name.lastIndexOf("/") + 1);
  if (last.length <= room) return last;
  return room >= 3 ? `${last.slice(0, room - 1)}…` : "";
}

/** `text` in at most `room` pixels of the canvas: with an ellipsis where it is cut, after the share `head` of what is left. */
export function cut(
  context: Pick<CanvasRenderingContext2D, "measureText">,
  text: string,
  room: number,
  head = 1,
): string {
  if (context.measureText(text).width <= room) return text;
  const of = (letters: number) => {
    const begin = Math.ceil(letters * head);
    return `${text.slice(0, begin).replace(/…$/, "")}…${text.slice(text.length - letters + begin)}`;
  };
  let [fits, none] = [0, text.length]; // letters that fit, and that do not
  while (none - fits > 1) {
    const middle = (fits + none) >> 1;
    if (context.measureText(of(middle)).width <= room) fits = middle;
    else none = middle;
  }
  return fits ? of(fits) : "";
}

/** As `cut`, with an ellipsis inside: names of devices differ at their ends. */
export function cutInside(context: CanvasRenderingContext2D, text: string, room: number): string {
  return cut(context, text, room, 1 / 3);
}
