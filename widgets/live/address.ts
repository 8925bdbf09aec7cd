/** The state of a page in its address, so that a link shows what was found: `#2;heft+planned;bandwidth:a%20%E2%80%93%20b=3.15e10;12@1`. Pure. */
import type { Dial } from "./dials.ts";
import { lanesOfText } from "./lanes.ts";
import type { Setting } from "./traits.ts";
import { at, type Columns, isLawful, placeOf, QUANTITIES, type Quantity, type Values } from "./values.ts";

/** What the hand has set. */
export interface Wish {
  readonly partitioner: string;
  readonly scheduler: string;
  /** The transfer model. */
  readonly transfers: string;
  /** The memory model. */
  readonly memory: string;
  /** The partitioner that the state is compared with; "" for the saved state. */
  readonly against: string;
  /** The plan by hand, see lanes.ts; "" for none. Then the partitioner is `BY_HAND`, the scheduler planned. */
  readonly hand: string;
  /** Values of the cluster. */
  readonly values: Values;
  /** Devices of ops that were moved by hand, by number of the op. */
  readonly moves: ReadonlyMap<number, number>;
}

/** What a page has. */
export interface Page {
  readonly setting: Setting;
  readonly dials: readonly Dial[];
  readonly saved: Columns;
  /** Colocation group of each op, -1 for none. */
  readonly group: Int32Array;
}

export const BY_HAND = "by hand";
const VERSION = "2"; // 1 had steps of dials instead of values

/** Whether the page has an address of its own: not where a notebook holds it, which would be left by a link. */
export const HAS_ADDRESS = globalThis.location?.protocol !== "about:";

/** The state in which the page was saved. */
export function saved({ partitioner, scheduler, transfers, memory }: Setting): Wish {
  return { partitioner, scheduler, transfers, memory, against: "", hand: "", values: new Map(), moves: new Map() };
}

export function isSaved(wish: Wish, setting: Setting): boolean {
  const same = wish.partitioner === setting.partitioner && wish.scheduler === setting.scheduler;
  return same && isOfSavedProblem(wish, setting) && wish.moves.size === 0 && !wish.against;
}

/** Whether nothing that strategies plan with has changed. */
export function isOfSavedProblem({ values, transfers, memory }: Wish, setting: Setting): boolean {
  return values.size === 0 && transfers === setting.transfers && memory === setting.memory;
}

/** What follows the page's name in a link; "#" for the saved state. */
export function written(wish: Wish, { setting, dials }: Page): string {
  if (isSaved(wish, setting)) return "#";
  const model = wish.transfers === setting.transfers ? [] : [wish.transfers];
  const names = [wish.partitioner, wish.scheduler, ...model].map(encodeURIComponent).join("+");
  const moves = [...wish.moves].sort(([a], [b]) => a - b).map(([op, device]) => `${op}@${device}`);
  const against = wish.against ? [`vs=${encodeURIComponent(wish.against)}`] : [];
  const counted = wish.memory === setting.memory ? [] : [`mem=${encodeURIComponent(wish.memory)}`];
  const hand = wish.hand ? [`hand=${wish.hand}`] : [];
  return `#${[VERSION, names, ...against, ...counted, ...hand, ...inGroups(wish.values, dials), ...moves].join(";")}`;
}

/** Values by dial where all that belongs to one has the same, as in `speed:gpu=2e12`, else by place: `speed~0.3=2e12`. */
function inGroups(values: Values, dials: readonly Dial[]): string[] {
  const left = new Map(values);
  const texts: string[] = [];
  for (const { key, quantity, cells } of dials) {
    const [value, ...others] = new Set(cells.map((cell) => values.get(at(quantity, cell))));
    if (value === undefined || others.length) continue;
    texts.push(`${encodeURIComponent(key)}=${value}`);
    for (const cell of cells) left.delete(at(quantity, cell));
  }
  const groups = new Map<string, [Quantity, number, number[]]>();
  for (const [key, value] of left) {
    const [quantity, cell] = placeOf(key);
    const group = groups.get(`${quantity}=${value}`) ?? [quantity, value, []];
    group[2].push(cell);
    groups.set(`${quantity}=${value}`, group);
  }
  for (const [quantity, value, cells] of groups.values())
    texts.push(`${quantity}~${cells.sort((a, b) => a - b).join(".")}=${value}`);
  return texts.sort();
}

/** The state that `written` has written; throws a sentence where it is not of this page. */
export function read(text: string, page: Page): Wish {
  if (text === "" || text === "#") return saved(page.setting);
  const [version, names = "", ...changes] = text.slice(1).split(";");
  if (version !== VERSION) throw new Error(`This link begins with ${text.slice(0, 20)}, which this page cannot read.`);
  const [partitioner = "", scheduler = "", transfers = page.setting.transfers] = names.split("+").map(decoded);
  const hand = changes.find((change) => change.startsWith("hand="))?.slice(5) ?? "";
  if (partitioner !== BY_HAND || !hand) known(partitioner, page.setting.partitioners, "partitioner");
  known(scheduler, page.setting.schedulers, "scheduler");
  known(transfers, page.setting.models, "transfer model");
  const values = new Map<string, number>();
  const moves = new Map<number, number>();
  let against = "";
  let memory = page.setting.memory;
  for (const change of changes) {
    if (change.startsWith("hand=")) continue;
    if (change.startsWith("mem=")) {
      memory = decoded(change.slice(4));
      known(memory, page.setting.memories, "memory model");
      continue;
    }
    if (change.startsWith("vs=")) {
      against = decoded(change.slice(3));
      known(against, page.setting.partitioners, "partitioner");
      continue;
    }
    const value = /^([^~=]+)(?:~([\d.]+))?=([^=]+)$/.exec(change);
    const move = /^(\d+)@(\d+)$/.exec(change);
    if (value) {
      const [quantity, cells] = placesOf(decoded(value[1]!), value[2], page);
      const now = Number(value[3]);
      for (const cell of cells) {
        const before = page.saved[quantity][cell]!;
        if (!isLawful(quantity, now, before))
          throw new Error(
            `This link sets a ${quantity} to ${value[3]!.slice(0, 40)}, which this page does not compute.`,
          );
        if (now !== before) values.set(at(quantity, cell), now);
      }
    } else if (move && Number(move[1]) < page.group.length && Number(move[2]) < page.setting.names.length)
      moves.set(Number(move[1]), Number(move[2]));
    else if (change) throw new Error(`This link changes ${change.slice(0, 40)}, which is not of this page.`);
  }
  const own = partitioner === BY_HAND ? hand : "";
  heedRules(moves, own, page);
  return { partitioner, scheduler, transfers, memory, against, hand: own, values, moves };
}

/** Throws where ops are moved to devices that may not run them, or a group is split: no hand does that in the page. */
function heedRules(moves: ReadonlyMap<number, number>, hand: string, { setting, group }: Page): void {
  const { allowed, names } = setting;
  const where = new Map(moves);
  const planned = hand ? lanesOfText(hand, group.length, names.length)[0] : [];
  planned.forEach((device, op) => device >= 0 && where.set(op, device)); // those below wait
  const together = new Map<number, number>(); // the device of each group
  for (const [op, device] of where) {
    const mine = group[op]!;
    const members = mine < 0 ? [op] : [...group.keys()].filter((v) => group[v] === mine);
    const may = allowed === null || (allowed && members.every((v) => (allowed[v]! >> device) & 1));
    if (!may) throw new Error(`This link puts an op on ${names[device]}, which may not run it.`);
    if (mine >= 0 && (together.get(mine) ?? device) !== device)
      throw new Error(`This link puts ops on ${names[device]} that must be where others of their group are.`);
    together.set(mine, device);
  }
}

/** The places that a dial turns, or those that are listed. */
function placesOf(name: string, listed: string | undefined, { dials, saved }: Page): [Quantity, readonly number[]] {
  if (listed === undefined) {
    const dial = dials.find(({ key }) => key === name);
    if (!dial) throw new Error(`This link changes the ${name.slice(0, 40)}, which this page lacks.`);
    return [dial.quantity, dial.cells];
  }
  known(name, QUANTITIES, "quantity");
  const cells = listed.split(".").map(Number);
  const k = saved.speed.length;
  const ofPairs = name === "bandwidth" || name === "latency"; // of which a device has none to itself
  const lost = cells.find((cell) => !(cell < saved[name as Quantity].length) || (ofPairs && cell % (k + 1) === 0));
  if (lost !== undefined) throw new Error(`This link changes the ${name} number ${lost}, which this page lacks.`);
  return [name as Quantity, cells];
}

function known(name: string, names: readonly string[], what: string): void {
  if (!name) throw new Error(`This link has no ${what}.`);
  if (!names.includes(name)) throw new Error(`This link has the ${what} ${name.slice(0, 40)}, which this page lacks.`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
