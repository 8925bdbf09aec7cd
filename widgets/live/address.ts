/** The state of a page in its address, so that a link shows what was found: `#1;heft+planned;bandwidth:a%20%E2%80%93%20b=-7;12@1`. Pure. */
import type { Dial } from "./dials.ts";
import type { Setting } from "./traits.ts";

/** What the hand has set. */
export interface Wish {
  readonly partitioner: string;
  readonly scheduler: string;
  /** The transfer model. */
  readonly transfers: string;
  /** Steps of dials by key, 0 left out. */
  readonly steps: ReadonlyMap<string, number>;
  /** Devices of ops that were moved by hand, by number of the op. */
  readonly moves: ReadonlyMap<number, number>;
}

/** What a page has: how many ops and devices, and how far its dials turn. */
export interface Page {
  readonly setting: Setting;
  readonly dials: readonly Dial[];
  readonly reach: number;
  readonly nOps: number;
}

const VERSION = "1";

/** The state in which the page was saved. */
export function saved({ partitioner, scheduler, transfers }: Setting): Wish {
  return { partitioner, scheduler, transfers, steps: new Map(), moves: new Map() };
}

export function isSaved(wish: Wish, setting: Setting): boolean {
  const same = wish.partitioner === setting.partitioner && wish.scheduler === setting.scheduler;
  return same && isOfSavedProblem(wish, setting) && wish.moves.size === 0;
}

/** Whether nothing that strategies plan with has changed. */
export function isOfSavedProblem({ steps, transfers }: Wish, setting: Setting): boolean {
  return steps.size === 0 && transfers === setting.transfers;
}

/** What follows the page's name in a link; "#" for the saved state. */
export function written(wish: Wish, setting: Setting): string {
  if (isSaved(wish, setting)) return "#";
  const model = wish.transfers === setting.transfers ? [] : [wish.transfers];
  const names = [wish.partitioner, wish.scheduler, ...model].map(encodeURIComponent).join("+");
  const dials = [...wish.steps].sort().map(([key, by]) => `${encodeURIComponent(key)}=${by}`);
  const moves = [...wish.moves].sort(([a], [b]) => a - b).map(([op, device]) => `${op}@${device}`);
  return `#${[VERSION, names, ...dials, ...moves].join(";")}`;
}

/** The state that `written` has written; throws a sentence where it is not of this page. */
export function read(text: string, page: Page): Wish {
  if (text === "" || text === "#") return saved(page.setting);
  const [version, names = "", ...changes] = text.slice(1).split(";");
  if (version !== VERSION) throw new Error(`This link begins with ${text.slice(0, 20)}, which this page cannot read.`);
  const [partitioner = "", scheduler = "", transfers = page.setting.transfers] = names.split("+").map(decoded);
  known(partitioner, page.setting.partitioners, "partitioner");
  known(scheduler, page.setting.schedulers, "scheduler");
  known(transfers, page.setting.models, "transfer model");
  const steps = new Map<string, number>();
  const moves = new Map<number, number>();
  for (const change of changes) {
    const dial = /^(.+)=(-?\d+)$/.exec(change);
    const move = /^(\d+)@(\d+)$/.exec(change);
    if (dial) {
      const [key, by] = [decoded(dial[1]!), Number(dial[2])];
      known(
        key,
        page.dials.map((each) => each.key),
        "dial",
      );
      if (Math.abs(by) > page.reach) throw new Error(`This link turns ${key} by ${by} steps; at most ${page.reach}.`);
      if (by !== 0) steps.set(key, by);
    } else if (move && Number(move[1]) < page.nOps && Number(move[2]) < page.setting.names.length)
      moves.set(Number(move[1]), Number(move[2]));
    else throw new Error(`This link changes ${change.slice(0, 40)}, which is not of this page.`);
  }
  return { partitioner, scheduler, transfers, steps, moves };
}

function known(name: string, names: readonly string[], what: string): void {
  if (!names.includes(name)) throw new Error(`This link has the ${what} ${name.slice(0, 40)}, which this page lacks.`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
