/** An object that computes in a worker, so that the page goes on drawing meanwhile; where there can be no worker, in the page. */

/** What of an object can be asked: plain data go in, and come out. */
export type Ask<T> = <K extends keyof T & string>(
  what: K,
  ...given: T[K] extends (...given: infer G) => unknown ? G : never
) => Promise<T[K] extends (...given: never) => infer R ? R : never>;

/** Calls that the object makes, by name. */
export type Notices = Readonly<Record<string, (...given: never[]) => void>>;

export interface Apart<T> {
  readonly ask: Ask<T>;
  /** Whether it is in a worker. */
  readonly apart: boolean;
  end(): void;
}

type Made = Record<string, (...given: unknown[]) => unknown>;
/** Makes the object that `kind` names, of plain data. */
export type Makers = Readonly<Record<string, (given: never, notices: Notices) => object>>;

interface Question {
  readonly id: number;
  readonly what: string;
  readonly given: readonly unknown[];
}
type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly notice: string; readonly given: readonly unknown[] };

const PATIENCE = 10_000; // ms until a worker that does not answer counts as none

/** In a worker: makes the object that is asked for, and answers one question after the other. */
export function serve(makers: Makers, notices: readonly string[]): void {
  const post = (answer: Answer) => self.postMessage(answer);
  const tell = Object.fromEntries(
    notices.map((notice) => [notice, (...given: never[]) => post({ notice, given })] as const),
  );
  let made: Made = {};
  self.onmessage = ({ data }: MessageEvent<Question>) => {
    const { id, what, given } = data;
    try {
      if (id === 0) made = makers[what]!(given[0] as never, tell) as Made;
      post({ id, value: id === 0 ? null : made[what]!(...given) });
    } catch (error) {
      post({ id, error: said(error) });
    }
  };
}

/** The object in a worker that runs the module with this text, which must `serve`; rejects where there can be no worker. */
export async function inWorker<T>(module: string, kind: string, given: unknown, notices: Notices): Promise<Apart<T>> {
  const url = URL.createObjectURL(new Blob([scriptOf(module)], { type: "text/javascript" }));
  const worker = new Worker(url);
  const waiting = new Map<number, { done(value: unknown): void; failed(error: Error): void }>();
  let count = 0;
  let begun = false;
  const ask = (what: string, ...asked: unknown[]) =>
    new Promise((done, failed) => {
      const id = count++;
      waiting.set(id, { done, failed });
      worker.postMessage({ id, what, given: asked } satisfies Question);
    });
  const end = () => {
    worker.terminate();
    for (const { failed } of waiting.values()) failed(new Error("The page's worker has ended."));
    waiting.clear();
  };
  worker.onmessage = ({ data }: MessageEvent<Answer>) => {
    if ("notice" in data) return notices[data.notice]!(...(data.given as never[]));
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    if ("error" in data) asked?.failed(new Error(data.error));
    else asked?.done(data.value);
  };
  worker.onerror = (event) => {
    if (begun) return; // the browser logs it
    event.preventDefault();
    end();
  };
  const late = setTimeout(end, PATIENCE);
  try {
    await ask(kind, given);
    begun = true;
  } finally {
    clearTimeout(late);
    URL.revokeObjectURL(url);
  }
  return { ask: ask as Ask<T>, apart: true, end };
}

/** A module that imports nothing as a script: a page from a file may start no worker with a module. */
function scriptOf(module: string): string {
  return `"use strict";(()=>{${module.replace(/\bexport\s*\{[^{}]*\};?\s*$/, "")}})()`;
}

/** The same in the page itself. */
export function here<T extends object>(made: T): Apart<T> {
  const ask = async (what: string, ...asked: unknown[]) => (made as Made)[what]!(...asked);
  return { ask: ask as Ask<T>, apart: false, end() {} };
}

export function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
