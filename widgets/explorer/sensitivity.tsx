/** The makespan over the value that is chosen on the canvas: small, but with axes, where it covers nothing. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Units, unitsOf } from "../shared/format.ts";
import { type Curve, isKnown, told } from "../shared/sensitivity.ts";
import { boxOf, zoomOf } from "../shared/zoom.ts";
import { heightOver, marksOf, type Size } from "./over.ts";
import type { SensitivityTraits } from "./traits.ts";
import { type Given, useLook, useTraits } from "./use.ts";

export function Sensitivity({ model }: Given<SensitivityTraits>) {
  const { curve, label, unitless } = useTraits(model, "curve", "label", "unitless");
  const place = useRef<HTMLDivElement>(null);
  const known = isKnown(curve) ? curve : null;
  const size = useRoom(place, !!known);
  const look = useLook(model, "pl-over");
  return (
    <div {...look} ref={place}>
      {known && size && <Drawn curve={known} name={label} size={size} units={unitsOf(unitless)} />}
    </div>
  );
}

const LEAST = 150; // pixels wide

/** The size that it may have: between the buttons, and down to where the drawing begins; null where there is too little. */
function useRoom(place: { current: HTMLDivElement | null }, known: boolean): Size | null {
  const [size, setSize] = useState<Size | null>(null);
  useEffect(() => {
    const element = place.current!;
    const around = element.parentElement!;
    const measure = () => {
      const { width } = boxOf(element);
      const room = known && width >= LEAST ? { wide: Math.round(width), high: heightOver(groundOf(element)) } : null;
      around.classList.toggle("pl-has-over", room !== null);
      setSize((old) => (old?.wide === room?.wide && old?.high === room?.high ? old : room));
    };
    const resized = new ResizeObserver(measure);
    resized.observe(around);
    const built = new MutationObserver(measure); // the drawing is put there anew when it has another structure or size
    const body = around.querySelector(".cluster > .body");
    if (body) built.observe(body, { childList: true });
    return () => {
      resized.disconnect();
      built.disconnect();
    };
  }, [known]);
  return size;
}

/** Pixels from the upper end of `element` to the drawing; 0 where the drawing has no ground above it. */
function groundOf(element: HTMLElement): number {
  const body = element.parentElement!.querySelector(".cluster > .body");
  if (!body || body.classList.contains("grid") || body.scrollHeight > body.clientHeight) return 0;
  const drawn = [...body.querySelectorAll(".diagram > g")].map((part) => boxOf(part, zoomOf(element)));
  return Math.min(...drawn.filter(({ height }) => height > 0).map(({ top }) => top)) - boxOf(element).top;
}

interface Shown {
  curve: Curve;
  name: string;
  size: Size;
  units: Units;
}

function Drawn({ curve, name, size, units }: Shown) {
  const { points, ticks, ends, here, left, right, axis } = marksOf(curve, size, units.time);
  const words = `makespan over the ${name}: ${told(curve, units)}`;
  return (
    <svg role="img" aria-label={words} width={size.wide} height={size.high}>
      <title>{words}</title>
      <path class="axis" d={`M${left} 2V${axis}H${right}`} />
      {ticks.map(({ x, text }) => (
        <g key={x}>
          <line class="axis" x1={x} x2={x} y1={axis} y2={axis + 3} />
          <text class="below" x={x} y={size.high - 1}>
            {text}
          </text>
        </g>
      ))}
      {ends.map(({ x, y, text, anchor }) => (
        <text key={anchor} x={x} y={y} text-anchor={anchor}>
          {text}
        </text>
      ))}
      <polyline points={points} />
      <circle cx={here.x} cy={here.y} r={3.5} />
    </svg>
  );
}
