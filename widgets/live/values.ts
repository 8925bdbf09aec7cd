/** Values of the cluster that a hand has changed. Pure. */
import { BANDWIDTH, CAPACITY, LATENCY, SPEED, MEMORY as STORE } from "../cluster/quantity.ts";
import { type Costs, MEMORY, type Shape } from "../kernels/problem.ts";

/** The columns that a hand can change; `shared` are bandwidths of links that several pairs share. */
export const QUANTITIES = ["speed", "memory", "bandwidth", "latency", "shared"] as const;
export type Quantity = (typeof QUANTITIES)[number];
export type Columns = Readonly<Record<Quantity, Float64Array>>;
/** New values [SI] by `at` their place; those that are as saved are left out. */
export type Values = ReadonlyMap<string, number>;

const BOUNDS = { speed: SPEED, memory: STORE, bandwidth: BANDWIDTH, latency: LATENCY, shared: CAPACITY } as const;
const TURNED = 101; // how far dials turn a value, and rounding

export const at = (quantity: Quantity, cell: number): string => `${quantity}:${cell}`;

export function columnsOf({ memory }: Shape, { speed, bandwidth, latency, linkBandwidth }: Costs): Columns {
  return { speed, memory: memory.capacity, bandwidth, latency, shared: linkBandwidth };
}

/** The columns with these values in them; a column without any is the saved one itself. */
export function changed(saved: Columns, values: Values): Columns {
  const columns: Record<Quantity, Float64Array> = { ...saved };
  for (const [key, value] of values) {
    const [quantity, cell] = placeOf(key);
    if (columns[quantity] === saved[quantity]) columns[quantity] = saved[quantity].slice();
    columns[quantity][cell] = value;
  }
  return columns;
}

/** A problem's costs, and its shape, with these columns in them. */
export function withColumns(shape: Shape, costs: Costs, columns: Columns): [Shape, Costs] {
  const { speed, memory: capacity, bandwidth, latency, shared: linkBandwidth } = columns;
  const { memory } = shape;
  const now = { ...memory, capacity, binds: memory.model !== MEMORY.none };
  const shapeNow = capacity === memory.capacity ? shape : { ...shape, memory: now };
  return [shapeNow, { ...costs, speed, bandwidth, latency, linkBandwidth }];
}

/** What is another value in `now` than in `saved`. */
export function differences(saved: Columns, now: Columns): Map<string, number> {
  const values = new Map<string, number>();
  for (const quantity of QUANTITIES)
    now[quantity].forEach((value, cell) => {
      if (value !== saved[quantity][cell]) values.set(at(quantity, cell), value);
    });
  return values;
}

/** Whether a hand can give a quantity that value, in the canvas or by the dials, where it was saved with another one. */
export function isLawful(quantity: Quantity, value: number, saved: number): boolean {
  const { low, high, end } = BOUNDS[quantity];
  if (value === Infinity) return end !== undefined || saved === Infinity;
  return (value >= Math.min(low, saved / TURNED) && value <= Math.max(high, saved * TURNED)) || value === saved;
}

export function placeOf(key: string): [Quantity, number] {
  const [quantity, cell] = key.split(":");
  return [quantity as Quantity, Number(cell)];
}
