/** What the cluster canvas has no room for: a line at its lower edge says how many devices one has to scroll to. */
import { h, listen } from "../shared/dom.ts";
import { boxOf } from "../shared/zoom.ts";

interface Card {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const SLACK = 4; // pixels that may be missing of one that counts as seen

/** How many cards end right of, or below, what is seen of a drawing, as words; "" for none. */
export function restOf(cards: readonly Card[], right: number, bottom: number): string {
  const missing = cards.filter(({ x, y, w, h }) => Math.max(x + w - right, y + h - bottom) > SLACK);
  return missing.length ? `and ${missing.length} more` : "";
}

/** The same for the drawing in `body`, or in a part of it that scrolls; where cards will be, though they may still glide there. */
function restIn(body: Element): string {
  const svg = body.querySelector<SVGSVGElement>(".diagram");
  const frame = svg?.parentElement;
  if (!svg || !frame || !svg.viewBox.baseVal) return "";
  const seen = boxOf(frame.scrollHeight > frame.clientHeight + 1 ? frame : body);
  const all = boxOf(svg);
  const { x, y, width } = svg.viewBox.baseVal;
  const scale = all.width / width;
  const cards = [...svg.querySelectorAll<SVGGElement>(".card")].map((card) => {
    const { e, f } = card.transform.baseVal.consolidate()!.matrix;
    const plate = card.querySelector<SVGRectElement>(".plate")!;
    const [w, h] = [plate.width.baseVal.value, plate.height.baseVal.value];
    return { x: (e - x) * scale, y: (f - y) * scale, w: w * scale, h: h * scale };
  });
  return restOf(cards, seen.right - all.x, seen.bottom - all.y);
}

interface View {
  render(given: never): unknown;
}

/** The cluster canvas with that line. */
export function withRest(cluster: View): View {
  return {
    render(given: { el: HTMLElement }) {
      const end = cluster.render(given as never);
      const root = given.el.querySelector<HTMLElement>(".cluster")!;
      const body = root.querySelector<HTMLElement>(".body")!;
      const line = h("div.pl-rest");
      const tell = () => {
        line.textContent = restIn(body);
        line.classList.toggle("pl-half", body.matches(".beside"));
      };
      root.append(line);
      listen(body, "scroll", tell, { capture: true });
      const resized = new ResizeObserver(tell);
      resized.observe(body);
      const drawn = new MutationObserver(tell);
      drawn.observe(body, { childList: true });
      return () => {
        resized.disconnect();
        drawn.disconnect();
        if (typeof end === "function") end();
      };
    },
  };
}
