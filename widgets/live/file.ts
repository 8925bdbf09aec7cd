/** A graph of a reader's own, from a file that `OpGraph.save` has written, on the devices of the page. Pure. */
import { allBytes, type Costs, grouped, MEMORY, memoryOf, newBytes, pointers, type Shape } from "../kernels/problem.ts";
import { KINDS } from "../shared/palette.ts";
import type { Setting } from "./traits.ts";

const FORMAT = "placelab-graph";
const VERSIONS: readonly unknown[] = [1, 2, 3];
const MOST = 20_000; // ops, as of pages that are written

/** What a page has of a graph. */
export interface Given {
  readonly title: string;
  readonly names: readonly string[];
  readonly kinds: Uint8Array;
  readonly kindNames: string[];
  readonly shape: Shape;
  readonly costs: Costs;
}

/** The graph in the text of a file, on the cluster and under the rules of `shape` and `costs`; throws a sentence where there is none. */
export function graphOf(text: string, shape: Shape, costs: Costs, setting: Setting): Given {
  const file = new Columns(parsed(text));
  const names = file.texts("ops", "name");
  const n = names.length;
  if (n === 0 || n > MOST) throw new Error(`The file has ${n} ops; a page takes 1 to ${MOST.toLocaleString("en")}.`);
  const { memory, nDevices } = shape;
  if (file.has("metadata", "times")) throw new Error("An earlier placelab wrote this file: load it, and save it anew.");
  if (file.numbers("ops", "devices", n, -1).some((set) => set >= 0))
    throw new Error("Some ops of the file may not run on some devices, which a page does not plan for.");
  const tensorBytes = Float64Array.from(file.numbers("tensors", "bytes"));
  const tensorProducer = repeated(file.numbers("ops", "outputs", n), tensorBytes.length, "tensors");
  const consumer = file.indices("edges", "consumer", n);
  const edgeTensor = repeated(file.numbers("tensors", "consumers", tensorBytes.length), consumer.length, "edges");
  const producer = edgeTensor.map((t) => tensorProducer[t]!);
  const backwards = (v: number, e: number) => edgeTensor[e] === edgeTensor[e - 1] && v < consumer[e - 1]!;
  if (consumer.some((v, e) => v <= producer[e]! || backwards(v, e)))
    throw new Error("The file has ops or edges in a different order from placelab's: load it, and save it anew.");
  const kinds = file.indices("ops", "kind", file.texts(null, "kinds").length, n);
  const compute = Float64Array.from(file.numbers("ops", "compute", n), (x) => x ?? NaN);
  const predPtr = pointers(consumer, n);
  const storage = Int32Array.from(
    file.has("tensors", "storage") ? file.indices("tensors", "storage", tensorBytes.length) : [],
  );
  const held = {
    persistent: Float64Array.from(file.numbers("ops", "persistent", n)),
    temporary: Float64Array.from(file.numbers("ops", "temporary", n)),
  };
  const given = file.has("ops", "memory") ? Float64Array.from(file.numbers("ops", "memory", n)) : null;
  const bytes = { ...held, reserved: given ?? allBytes(held, newBytes(n, tensorProducer, tensorBytes, storage)) };
  const groups = Int32Array.from(file.numbers("ops", "group", n, -1));
  const measured = timesOf(file, n, setting, compute);
  return {
    title: file.title,
    names,
    ...coloured(
      file.texts(null, "kinds"),
      kinds,
      compute.map((x) => (Number.isNaN(x) ? 0 : x)),
    ),
    shape: {
      ...shape,
      nOps: n,
      nEdges: consumer.length,
      nGroups: groups.reduce((most, group) => Math.max(most, group + 1), 0),
      memory: {
        ...memory,
        ...memoryOf(memory.model, bytes),
        binds: memory.model !== MEMORY.none,
        storage,
      },
      mayBeWhole: true,
      nTimes: measured.timeSpeed.length,
      timeColumn: measured.column ?? new Int32Array(nDevices).fill(-1),
      group: groups,
      consumer,
      producer,
      edgeTensor,
      tensorPtr: pointers(tensorProducer, n),
      tensorProducer,
      succPtr: pointers(producer, n),
      predPtr,
      predEdge: grouped(consumer, predPtr),
    },
    costs: { ...costs, compute, tensorBytes, time: measured.time, timeSpeed: measured.timeSpeed },
  };
}

/** Columns of a file, by table and name; each complaint names what is wrong. */
class Columns {
  readonly #document: Readonly<Record<string, unknown>>;

  constructor(document: Readonly<Record<string, unknown>>) {
    this.#document = document;
  }

  get title(): string {
    const { name } = (this.#document.metadata ?? {}) as { name?: unknown };
    return typeof name === "string" ? name.split("\n").join(" ") : "this graph";
  }

  has(table: string | null, name: string): boolean {
    return this.value(table, name) != null;
  }

  value(table: string | null, name: string): unknown {
    const from = table === null ? this.#document : this.#document[table];
    return (from as Readonly<Record<string, unknown>> | undefined)?.[name];
  }

  texts(table: string | null, name: string): string[] {
    const value = this.value(table, name);
    if (!Array.isArray(value) || value.some((x) => typeof x !== "string"))
      throw new Error(`The file's ${name} must be a list of texts.`);
    return value;
  }

  /** Numbers of `low` or more, -1 for none; null where one is not known. */
  numbers(table: string | null, name: string, length?: number, low = 0): number[] {
    const value = this.value(table, name);
    const fits = (x: unknown) => x === null || (typeof x === "number" && x >= low);
    if (!Array.isArray(value) || !value.every(fits)) throw new Error(`The file's ${name} must be a list of numbers.`);
    if (length !== undefined && value.length !== length)
      throw new Error(`The file's ${name} has ${value.length} entries, expected ${length}.`);
    return value;
  }

  /** Whole numbers below `end`. */
  indices(table: string | null, name: string, end: number, length?: number): Int32Array {
    const value = this.numbers(table, name, length);
    const lost = value.find((x) => !Number.isInteger(x) || x < 0 || x >= end);
    if (lost !== undefined) throw new Error(`The file's ${name} holds ${lost}; expected 0 to ${end - 1}.`);
    return Int32Array.from(value);
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  let document: Readonly<Record<string, unknown>> | null = null;
  try {
    document = JSON.parse(text);
  } catch {
    // said below
  }
  if (document?.format !== FORMAT || !VERSIONS.includes(document.version))
    throw new Error("This is no graph as OpGraph.save writes it: load your file with placelab, and save it.");
  return document;
}

/** Each index repeated by its count. */
function repeated(counts: readonly number[], total: number, what: string): Int32Array {
  if (counts.reduce((a, b) => a + b, 0) !== total) throw new Error(`The file's counts of ${what} do not add up.`);
  const all = new Int32Array(total);
  let at = 0;
  counts.forEach((count, i) => {
    all.fill(i, at, at + count);
    at += count;
  });
  return all;
}

/** Measured times that hold on the page's devices; none where ops have operations alone. */
function timesOf(file: Columns, n: number, { names, types }: Setting, compute: Float64Array) {
  const table = file.value("ops", "time") as Readonly<Record<string, unknown>> | null | undefined;
  const keys = Object.keys(table ?? {});
  const speeds = (file.value(null, "time_speed") ?? {}) as Readonly<Record<string, number>>;
  const otherwise = file.value(null, "time_default") as string | null | undefined;
  const keyOf = (d: number) => [names[d]!, types[d]!, otherwise ?? ""].find((key) => keys.includes(key));
  const used = names.map((_, d) => keyOf(d));
  const column = Int32Array.from(used, (key) => (key === undefined ? -1 : keys.indexOf(key)));
  const NONE = { time: new Float64Array(0), timeSpeed: new Float64Array(0), column: null };
  if (used.every((key) => key === undefined)) {
    if (compute.some(Number.isNaN)) throw new Error("The file has no times for the devices of this box.");
    return NONE;
  }
  const columns = keys.map((key) => new Columns({ ops: table }).numbers("ops", key, n));
  const unknown = (key: string | undefined) => key === undefined || columns[keys.indexOf(key)]!.includes(null as never);
  if (used.some(unknown)) throw new Error("The file has times for some ops or devices of this box, and not for all.");
  const time = new Float64Array(n * keys.length);
  columns.forEach((each, j) => each.forEach((x, v) => (time[v * keys.length + j] = x ?? NaN)));
  return { time, timeSpeed: Float64Array.from(keys, (key) => speeds[key] ?? NaN), column };
}

/** A colour for each op: placelab/pictures/style.py. */
function coloured(labels: readonly string[], index: Int32Array, work: Float64Array) {
  const most = KINDS.length - 1;
  if (labels.length <= 1) return { kinds: new Uint8Array(index.length), kindNames: [labels[0] || "op"] };
  const sum = new Float64Array(labels.length);
  const count = new Int32Array(labels.length);
  index.forEach((kind, v) => {
    sum[kind]! += work[v]!;
    count[kind]! += 1;
  });
  const own = labels
    .map((_, i) => i)
    .filter((i) => labels[i])
    .sort((a, b) => sum[b]! - sum[a]! || count[b]! - count[a]! || (labels[a]! < labels[b]! ? -1 : 1))
    .slice(0, most);
  const colour = new Uint8Array(labels.length).fill(most);
  own.forEach((kind, i) => (colour[kind] = i));
  const rest = Array.from({ length: most - own.length }, () => "");
  return {
    kinds: Uint8Array.from(index, (kind) => colour[kind]!),
    kindNames: [...own.map((i) => labels[i]!), ...rest, "other"],
  };
}
