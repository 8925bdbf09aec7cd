/** The span of time in view, and how it moves within a schedule. Pure. */
import { clampSpan, type Span } from "../../shared/scale.ts";

const MARGIN = 1.01; // the whole schedule ends a little before the right edge
const CLOSEST = 2e-5; // shortest view, as a share of the makespan: single precision resolves no more

/** The whole schedule. */
export function whole(makespan: number): Span {
  return { from: 0, to: makespan * MARGIN || 1 };
}

export function isWhole(span: Span, makespan: number): boolean {
  return span.to - span.from >= whole(makespan).to * 0.999;
}

/** `span`, moved and resized to what can be shown. */
export function bounded(span: Span, makespan: number): Span {
  const end = whole(makespan).to;
  return clampSpan(span, end, end * CLOSEST);
}

/** The view after the schedule was replaced: the whole if it was the whole, else unchanged. */
export function carried(span: Span, before: number, makespan: number): Span {
  return isWhole(span, before) ? whole(makespan) : bounded(span, makespan);
}

/** Moved by a share of its length. */
export function moved(span: Span, share: number): Span {
  const by = share * (span.to - span.from);
  return { from: span.from + by, to: span.to + by };
}

/** A close view of [start, finish]. */
export function closeUp(start: number, finish: number, makespan: number): Span {
  const room = Math.max(finish - start, makespan * CLOSEST) * 2;
  return { from: start - room, to: finish + room };
}

/** `span` itself when it shows some of [start, finish], else one as long with `start` in its middle. */
export function showing(span: Span, start: number, finish: number): Span {
  if (finish >= span.from && start <= span.to) return span;
  const half = (span.to - span.from) / 2;
  return { from: start - half, to: start + half };
}

/** `span` itself when it holds `time`, else the page that begins there. */
export function turned(span: Span, time: number): Span {
  return time >= span.from && time <= span.to ? span : { from: time, to: time + span.to - span.from };
}
