/** Memory of a device as a bar: categories one after the other up to the capacity, past it red. */
import { h } from "./dom.ts";
import { bytes } from "./format.ts";

/** What a device holds. */
export interface Held {
  /** Categories of memory with their bytes. */
  parts: [string, number][];
  /** Bytes; null is unlimited. */
  capacity: number | null;
  /** Bytes that are missing; 0 where it fits. */
  lacks: number;
}

const COLOURS: Record<string, string> = {
  weights: "#77AADD",
  gradients: "#EE8866",
  optimizer: "#EEDD88",
  activations: "#44BB99",
  cache: "#FFAABB",
  buffers: "#BBBBBB",
};
const NAMES: Record<string, string> = { cache: "KV cache" };
const nameOf = (category: string) => NAMES[category] ?? category;

const sumOf = ({ parts }: Held): number => parts.reduce((all, [, size]) => all + size, 0);

/** A bar as wide as `most` bytes, by default as the capacity or what is held. */
export function memoryBar(held: Held, most = 0): HTMLElement {
  const { parts, capacity } = held;
  const sum = sumOf(held);
  const whole = Math.max(most, capacity ?? sum, sum) || 1;
  const share = (size: number) => `${(100 * size) / whole}%`;
  const found = h(
    "span.bar.memory",
    {},
    ...parts.map(([category, size]) => {
      const part = h("i", { title: `${nameOf(category)} ${bytes(size)}`, "data-bytes": size });
      part.style.width = share(size);
      part.style.background = COLOURS[category] ?? "";
      return part;
    }),
  );
  if (capacity !== null && sum > capacity) {
    const past = h("i.past", { title: `${bytes(sum - capacity)} past the capacity` });
    past.style.left = share(capacity);
    past.style.right = `${100 - (100 * sum) / whole}%`;
    found.append(past);
  }
  return found;
}

/** A swatch and a name per category. */
export function memoryLegend(parts: Held["parts"]): HTMLElement[] {
  return parts.map(([category]) => {
    const swatch = h("i");
    swatch.style.background = COLOURS[category] ?? "";
    return h("span", {}, swatch, nameOf(category));
  });
}

/** What is held, of how much, or by how much too much, in words. */
export function used(held: Held): string {
  const sum = bytes(sumOf(held));
  if (held.lacks) return `${sum}, ${bytes(held.lacks)} too much`;
  return held.capacity === null ? sum : `${sum} of ${bytes(held.capacity)}`;
}
