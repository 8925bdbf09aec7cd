/** Schedules for the tests, written as rows and encoded as Python encodes them. Not part of the bundle. */
import { SI } from "../shared/format.ts";
import type { Paint } from "./scene/colours.ts";
import { layout } from "./scene/layout.ts";
import { type Chart, chart, type Scene } from "./scene/scene.ts";
import type { Memory } from "./wire/memory.ts";

type Row = readonly number[];

export interface Rows {
  devices: number;
  /** start, duration, device */
  ops?: Row[];
  /** start, duration, source, destination, producer */
  transfers?: Row[];
  /** start, duration, device, transfer */
  sends?: Row[];
  /** kind, row, start, duration */
  critical?: Row[];
  /** device, start, duration, reason, op */
  idle?: Row[];
}

export function encode(rows: Rows): DataView {
  const { devices, ops = [], transfers = [], sends = [], critical = [], idle = [] } = rows;
  const makespan = Math.max(0, ...ops.map(([start, duration]) => start! + duration!));
  const column = (table: Row[], i: number) => table.map((row) => row[i]!);
  const columns = [
    Uint32Array.of(1, ops.length, transfers.length, sends.length, devices, critical.length, idle.length, 0),
    Float64Array.of(makespan),
    ...floats(ops, 0, 1),
    Uint16Array.from(column(ops, 2)),
    Float32Array.from(transfers, ([start, , , , producer]) => start! - ops[producer!]![0]! - ops[producer!]![1]!),
    ...floats(transfers, 1),
    Uint16Array.from(column(transfers, 2)),
    Uint16Array.from(column(transfers, 3)),
    Uint32Array.from(column(transfers, 4)),
    ...floats(sends, 0, 1),
    Uint16Array.from(column(sends, 2)),
    Uint32Array.from(column(sends, 3)),
    Uint8Array.from(column(critical, 0)),
    Uint32Array.from(column(critical, 1)),
    ...floats(critical, 2, 3),
    Uint16Array.from(column(idle, 0)),
    ...floats(idle, 1, 2),
    Uint8Array.from(column(idle, 3)),
    Uint32Array.from(column(idle, 4)),
  ];
  return message(columns);

  function floats(table: Row[], ...which: number[]): Float32Array[] {
    return which.map((i) => Float32Array.from(column(table, i)));
  }
}

/** Columns one after the other, each from a multiple of 8 bytes on. */
function message(columns: { buffer: ArrayBufferLike }[]): DataView {
  const bytes = columns.flatMap(({ buffer }) => {
    const data = Array.from(new Uint8Array(buffer));
    return [...data, ...Array<number>((8 - (data.length % 8)) % 8).fill(0)];
  });
  return new DataView(Uint8Array.from(bytes).buffer);
}

/** Two devices: op 0 on the first, its output to the second, ops 1 and 2 there; op 3 late on the first. */
export const PAIR: Rows = {
  devices: 2,
  ops: [
    [0, 2, 0],
    [4, 1, 1],
    [5, 3, 1],
    [6, 1, 0],
  ],
  transfers: [[2, 2, 0, 1, 0]],
  critical: [
    [0, 0, 0, 2],
    [1, 0, 2, 2],
    [0, 1, 4, 1],
    [0, 2, 5, 3],
  ],
  idle: [
    [1, 0, 4, 0, 0],
    [0, 2, 4, 1, 1],
    [0, 7, 1, 3, 0xffffffff],
  ],
};

export function chartOf(rows: Rows): Chart {
  return chart(encode(rows));
}

/** Curves of (time, share of the peak in 65535ths), and spans (device, start, duration, bytes), as Python encodes them. */
export function encodeMemory(capacity: Row, peak: Row, curves: Row[][], short: Row[] = []): DataView {
  const points = curves.flat();
  const differences = (values: ArrayLike<number>) => Array.from(values, (v, i) => v - (i ? values[i - 1]! : 0));
  const bits = new Uint32Array(Float32Array.from(points, ([t]) => t!).buffer);
  return message([
    Uint32Array.of(1, capacity.length, points.length, short.length),
    Float32Array.from(capacity),
    Float32Array.from(peak),
    Uint32Array.from(curves, (_, i) => curves.slice(0, i).flat().length),
    Uint32Array.from(differences(bits)),
    Uint16Array.from(differences(points.map(([, level]) => level!))),
    Uint16Array.from(short, ([device]) => device!),
    ...[1, 2, 3].map((i) => Float32Array.from(short, (row) => row[i]!)),
  ]);
}

/** A scene 100 + 800 pixels wide that shows all of `rows`, one device pixel per CSS pixel. */
export function sceneOf(rows: Rows, width = 900, height = 200, memory: Memory | null = null): Scene {
  const all = chartOf(rows);
  return {
    chart: all,
    labels: { names: [], kinds: new Uint8Array(all.bars.nOps), kindNames: [], devices: [], units: SI },
    memory,
    kept: null,
    links: null,
    colours: new Uint8Array(all.bars.nOps),
    match: null,
    layout: layout(all.lanes, width, height, 1, 100, memory !== null),
    paint: undefined as unknown as Paint, // what is under the pointer has no colour
    span: { from: 0, to: all.columns.makespan },
    scroll: 0,
  };
}

/** Ops (device, start, finish) of a kept schedule as Python encodes them. */
export function encodeKept(makespan: number, devices: number, ops: Row[]): DataView {
  return message([
    Uint32Array.of(1, ops.length, devices, 0),
    Float64Array.of(makespan),
    Uint16Array.from(ops, ([device]) => device!),
    ...[1, 2].map((i) => Float32Array.from(ops, (row) => row[i]!)),
  ]);
}
