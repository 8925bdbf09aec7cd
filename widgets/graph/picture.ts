/** A scene with what is looked up in it. Pure. */
import type { Box, Scene } from "./traits.ts";

export interface Edge {
  readonly source: number;
  readonly target: number;
  readonly bytes: number;
  /** Whether it closes a cycle of boxes. */
  readonly back: boolean;
}

export interface Picture {
  readonly boxes: readonly Box[];
  readonly edges: readonly Edge[];
  /** Edges that leave and that enter each box, by number. */
  readonly leaving: readonly (readonly number[])[];
  readonly entering: readonly (readonly number[])[];
  /** Box of each op. */
  readonly owner: Int32Array;
  readonly nOps: number;
  readonly width: number;
  readonly height: number;
  /** Box of a node on show. */
  readonly boxOf: ReadonlyMap<number, number>;
}

export function pictureOf(scene: Scene, owner: Int32Array): Picture {
  const boxes = scene.boxes ?? [];
  const { source = [], target = [], bytes = [], back = [] } = scene.edges ?? {};
  const turned = new Set(back);
  const edges = source.map((s, i) => ({ source: s, target: target[i]!, bytes: bytes[i]!, back: turned.has(i) }));
  const leaving: number[][] = boxes.map(() => []);
  const entering: number[][] = boxes.map(() => []);
  edges.forEach((edge, i) => {
    leaving[edge.source]!.push(i);
    entering[edge.target]!.push(i);
  });
  let width = 0;
  let height = 0;
  for (const box of boxes) {
    width = Math.max(width, box.x + box.w);
    height = Math.max(height, box.y + box.h);
  }
  const boxOf = new Map(boxes.map((box, i) => [box.node, i]));
  return { boxes, edges, leaving, entering, owner, nOps: scene.ops ?? 0, width, height, boxOf };
}

/** The box that shows a node: its own, or the one of the closed scope that an op is in; -1 for none. */
export function boxOfNode(picture: Picture, node: number): number {
  return picture.boxOf.get(node) ?? (node >= 0 && node < picture.nOps ? (picture.owner[node] ?? -1) : -1);
}

/** The ops in a box, by number. */
export function opsIn({ boxes, owner }: Picture, box: number): number[] {
  const inside = new Uint8Array(boxes.length);
  boxes.forEach((each, i) => (inside[i] = i === box || (each.inside >= 0 && inside[each.inside]) ? 1 : 0)); // outer ones first
  return Array.from(owner.keys()).filter((op) => inside[owner[op]!]);
}

export const isScope = (picture: Picture, box: Box): boolean => box.node >= picture.nOps;

/** The innermost box at a point of the picture, -1 for none. */
export function boxAt(picture: Picture, x: number, y: number): number {
  for (let i = picture.boxes.length - 1; i >= 0; i--) {
    const box = picture.boxes[i]!;
    if (x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h) return i;
  }
  return -1;
}
