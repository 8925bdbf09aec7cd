/** Reads pages of rows, as placelab/app/widgets/decisions.py writes them. */
import { reader } from "../shared/reader.ts";

/** One decision of one strategy. */
export interface Decision {
  /** Row of its trace. */
  readonly row: number;
  readonly device: number;
  /** What was compared, NaN where a device was no candidate; shape (devices,). */
  readonly score: Float64Array;
  /** Seconds that the op takes on each device, NaN where that is not known. */
  readonly took: Float64Array;
  readonly why: string;
}

export interface DecisionRow extends Decision {
  readonly op: number;
  readonly name: string;
  /** NaN for none. */
  readonly rank: number;
  /** The other strategy's decision about the same op, if it has one. */
  readonly other?: Decision;
  /** What the other strategy decides at this row, "" behind its end. */
  readonly otherHere: string;
}

export interface Term {
  readonly op: number;
  readonly name: string;
  readonly way: number;
  readonly rank: number;
}

export interface RankRow {
  readonly op: number;
  readonly name: string;
  readonly own: number;
  readonly rank: number;
  /** Successors, that of the longest path first. */
  readonly terms: readonly Term[];
  /** How many more successors there are. */
  readonly more: number;
}

interface Rows<R> {
  readonly generation: number;
  readonly first: number;
  readonly rows: readonly R[];
}

export type Page = (Rows<DecisionRow> & { readonly mode: "decisions" }) | (Rows<RankRow> & { readonly mode: "ranks" });

const NONE = 2 ** 32 - 1; // row of no decision

/** Reads a message; an empty one has no rows. */
export function decodePage(message: DataView): Page {
  if (!message.byteLength) return { mode: "decisions", generation: -1, first: 0, rows: [] };
  const read = reader(message, 9, "page of decisions");
  const [, generation, kind, first, n, k, other, terms, bytes] = read.header;
  const page = { generation: generation!, first: first! };
  return kind
    ? { ...page, mode: "ranks", rows: ranks(read, n!, terms!, bytes!) }
    : { ...page, mode: "decisions", rows: decisions(read, first!, n!, k!, !!other, bytes!) };
}

type Reader = ReturnType<typeof reader>;

function decisions(read: Reader, first: number, n: number, k: number, compared: boolean, bytes: number): DecisionRow[] {
  const op = read.u32(n);
  const device = read.u32(n);
  const rank = read.f64(n);
  const mine = table(read, n, k);
  const otherRow = read.u32(compared ? n : 0);
  const otherDevice = read.u32(compared ? n : 0);
  const others = table(read, compared ? n : 0, k);
  const words = texts(read, bytes) as { names: string[]; why: string[]; other_why?: string[]; other_here?: string[] };
  const other = (i: number): Decision | undefined =>
    compared && otherRow[i] !== NONE
      ? { row: otherRow[i]!, device: otherDevice[i]!, ...others(i), why: words.other_why![i]! }
      : undefined;
  return Array.from({ length: n }, (_, i) => ({
    row: first + i,
    op: op[i]!,
    name: words.names[i]!,
    device: device[i]!,
    rank: rank[i]!,
    ...mine(i),
    why: words.why[i]!,
    other: other(i),
    otherHere: words.other_here?.[i] ?? "",
  }));
}

/** Scores and times of a row, given its number. */
function table(read: Reader, n: number, k: number) {
  const [score, took] = [read.f64(n * k), read.f64(n * k)];
  return (i: number) => ({ score: score.subarray(i * k, (i + 1) * k), took: took.subarray(i * k, (i + 1) * k) });
}

function texts(read: Reader, bytes: number): unknown {
  return JSON.parse(new TextDecoder().decode(read.u8(bytes)));
}

function ranks(read: Reader, n: number, m: number, bytes: number): RankRow[] {
  const op = read.u32(n);
  const [own, rank] = [read.f64(n), read.f64(n)];
  const at = read.u32(n + 1);
  const successor = read.u32(m);
  const [way, beyond] = [read.f64(m), read.f64(m)];
  const more = read.u32(n);
  const words = texts(read, bytes) as { names: string[]; successors: string[] };
  const term = (t: number): Term => ({
    op: successor[t]!,
    name: words.successors[t]!,
    way: way[t]!,
    rank: beyond[t]!,
  });
  return Array.from({ length: n }, (_, i) => ({
    op: op[i]!,
    name: words.names[i]!,
    own: own[i]!,
    rank: rank[i]!,
    terms: Array.from({ length: at[i + 1]! - at[i]! }, (_, j) => term(at[i]! + j)),
    more: more[i]!,
  }));
}
