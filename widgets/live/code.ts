/** Python that gives what the page shows, from the schedule that was exported. Pure. */
import type { Placed } from "../kernels/problem.ts";
import { type Columns, QUANTITIES } from "./values.ts";

const LINK = "link.name: (rate, link.pairs)";
const LINKS = "schedule.problem.cluster.links";

/**
 * Of a cluster with these columns instead of the saved ones, under a pair of strategies; a partitioner of null leaves ops where they
 * are. Then `moved` ops go to the devices that they have there. `models`: other transfer and memory models than the saved ones. `hand`: a plan by hand
 * instead.
 */
export function code(
  saved: Columns,
  now: Columns,
  partitioner: string | null,
  scheduler: string,
  moved: ReadonlyMap<number, number> = new Map(),
  models: Readonly<Record<string, string>> = {},
  hand: Placed | null = null,
): string {
  const k = now.speed.length;
  const changes = QUANTITIES.filter((name) => now[name] !== saved[name]).map((name) => {
    if (name === "shared") return `    links={${LINK} for link, rate in zip(${LINKS}, ${list(now.shared)})},\n`;
    return `    ${name}=${name === "speed" || name === "memory" ? list(now[name]) : matrix(now[name], k)},\n`;
  });
  const rules = Object.entries(models).map(([name, value]) => `${name}="${value}"`);
  const given = `schedule.problem${rules.length ? `.replace(${rules.join(", ")})` : ""}`;
  const problem = changes.length
    ? `cluster = schedule.problem.cluster.replace(\n${changes.join("")})\nproblem = ${given}.with_costs(cluster=cluster)\n`
    : `problem = ${given}\n`;
  if (hand) {
    const plan = `[${hand.device.join(", ")}], [${hand.planned.join(", ")}]`;
    return `${problem}pl.simulate(problem, pl.Placement(problem, ${plan}), "planned").makespan\n`;
  }
  const run = moved.size ? afterMoves(partitioner, scheduler, moved) : unmoved(partitioner, scheduler);
  return `${problem}${run}.makespan\n`;
}

function unmoved(partitioner: string | null, scheduler: string): string {
  const placement = "pl.Placement(problem, schedule.device, schedule.placement.planned)";
  return partitioner
    ? `pl.solve(problem, "${partitioner}", "${scheduler}")`
    : `pl.simulate(problem, ${placement}, "${scheduler}")`;
}

function afterMoves(partitioner: string | null, scheduler: string, moved: ReadonlyMap<number, number>): string {
  const placement = partitioner ? `pl.place(problem, "${partitioner}")` : "schedule.placement";
  const ops = `placement = ${placement}\ndevice = placement.device.copy()\n`;
  const moves = `device[[${[...moved.keys()].join(", ")}]] = [${[...moved.values()].join(", ")}]\n`;
  return `${ops}${moves}pl.simulate(problem, pl.Placement(problem, device, placement.planned), "${scheduler}")`;
}

function list(values: ArrayLike<number>): string {
  return `[${Array.from(values, (x) => (Number.isFinite(x) ? String(x) : 'float("inf")')).join(", ")}]`;
}

function matrix(values: Float64Array, k: number): string {
  return `[${Array.from({ length: k }, (_, i) => list(values.subarray(i * k, (i + 1) * k))).join(", ")}]`;
}
