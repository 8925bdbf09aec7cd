/**
 * An ONNX file without the elements of its larger tensors, which no cost depends on: the same bytes that Python makes of it
 * (`without_weights` in placelab/formats/onnx/model_proto.py), so that they need not be sent. Bytes of weights are not read.
 */

const SMALL = 1 << 10; // bytes; smaller tensors are kept, as shapes are computed from them
const WINDOW = 1 << 16; // bytes that are read at a time
const DEEPEST = 100;
const BYTES = 2; // wire type of what has a length
const NUMBERS = new Set([4, 5, 6, 7, 9, 10, 11]); // fields of a tensor: float_data … raw_data … uint64_data
const INSIDE: Record<string, Record<number, string>> = {
  ModelProto: { 7: "GraphProto", 25: "FunctionProto" },
  FunctionProto: { 7: "NodeProto", 11: "AttributeProto" },
  GraphProto: { 1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto" },
  NodeProto: { 5: "AttributeProto" },
  AttributeProto: {
    5: "TensorProto",
    6: "GraphProto",
    10: "TensorProto",
    11: "GraphProto",
    22: "SparseTensorProto",
    23: "SparseTensorProto",
  },
  SparseTensorProto: { 1: "TensorProto", 2: "TensorProto" },
};

interface Field {
  readonly number: number;
  readonly wire: number;
  readonly begin: number;
  readonly value: number;
  readonly stop: number;
}

/** Bytes that are made, or a range of the file that is kept. */
type Kept = Uint8Array<ArrayBuffer> | readonly [from: number, to: number];

/** Rejects where the file is damaged. */
export async function withoutWeights(file: Blob): Promise<Blob> {
  const kept = await slim(new Bytes(file), "ModelProto", 0, file.size, DEEPEST);
  return new Blob(kept.map((part) => (part instanceof Uint8Array ? part : file.slice(part[0], part[1]))));
}

/** A file of which a window is in memory. */
class Bytes {
  readonly #file: Blob;
  #from = 0;
  #window = new Uint8Array();

  constructor(file: Blob) {
    this.#file = file;
  }

  /** Has the bytes from an offset on in memory, as many as a field's head may have. */
  has(at: number): boolean {
    const last = Math.min(at + 20, this.#file.size);
    return at >= this.#from && last <= this.#from + this.#window.length;
  }

  async load(at: number): Promise<void> {
    this.#from = at;
    this.#window = new Uint8Array(await this.#file.slice(at, at + WINDOW).arrayBuffer());
  }

  /** A number in groups of seven bits, and where it ends. */
  varint(at: number): [value: number, end: number] {
    let value = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.#window[at - this.#from + i];
      if (byte === undefined) break;
      value += (byte & 127) * 2 ** (7 * i);
      if (byte < 128) return [value, at + i + 1];
    }
    throw new Error("damaged");
  }
}

async function* fields(bytes: Bytes, start: number, end: number): AsyncGenerator<Field> {
  for (let begin = start; begin < end; ) {
    if (!bytes.has(begin)) await bytes.load(begin);
    const [tag, after] = bytes.varint(begin);
    const wire = tag % 8;
    let value = after;
    let stop = after;
    if (wire === 0) stop = bytes.varint(after)[1];
    else if (wire === 1) stop += 8;
    else if (wire === 5) stop += 4;
    else if (wire === BYTES) {
      const [length, from] = bytes.varint(after);
      value = from;
      stop = from + length;
    } else throw new Error("damaged");
    if (stop > end) throw new Error("damaged");
    yield { number: Math.floor(tag / 8), wire, begin, value, stop };
    begin = stop;
  }
}

async function slim(bytes: Bytes, kind: string, start: number, end: number, depth: number): Promise<Kept[]> {
  if (!depth) throw new Error("too deep");
  const parts: Kept[] = [];
  let kept = start; // from here on nothing is in the parts yet
  const inside = INSIDE[kind] ?? {};
  for await (const { number, wire, begin, value, stop } of fields(bytes, start, end)) {
    if (kind === "TensorProto") {
      if (!NUMBERS.has(number)) continue;
      parts.push([kept, begin]);
    } else if (number in inside && wire === BYTES && stop - value > SMALL) {
      const inner = await slim(bytes, inside[number]!, value, stop, depth - 1);
      parts.push(
        [kept, begin],
        head(
          number,
          inner.reduce((sum, part) => sum + sizeOf(part), 0),
        ),
        ...inner,
      );
    } else continue;
    kept = stop;
  }
  parts.push([kept, end]);
  return parts.filter((part) => sizeOf(part) > 0);
}

const sizeOf = (part: Kept) => (part instanceof Uint8Array ? part.length : part[1] - part[0]);

/** Tag and length of a field. */
function head(number: number, length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array([...groups(number * 8 + BYTES), ...groups(length)]);
}

function groups(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...groups(Math.floor(value / 128))];
}
