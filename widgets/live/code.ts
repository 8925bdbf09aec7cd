/** Python that gives what the page shows, from the schedule that was exported. Pure. */
import type { Costs } from "../kernels/problem.ts";
import type { Quantity } from "./dials.ts";

const QUANTITIES: readonly Quantity[] = ["speed", "bandwidth", "latency"];

/** Of a cluster with these costs instead of the saved ones, under a pair of strategies; a partitioner of null leaves ops where they are. */
export function code(saved: Costs, now: Costs, partitioner: string | null, scheduler: string): string {
  const changes = QUANTITIES.filter((name) => now[name] !== saved[name]).map(
    (name) => `    ${name}=${name === "speed" ? list(now.speed) : matrix(now[name], now.speed.length)},\n`,
  );
  const problem = changes.length
    ? `cluster = schedule.problem.cluster.replace(\n${changes.join("")})\nproblem = schedule.problem.with_costs(cluster=cluster)\n`
    : "problem = schedule.problem\n";
  const placement = "pl.Placement(problem, schedule.device, schedule.placement.planned)";
  const run = partitioner
    ? `pl.solve(problem, "${partitioner}", "${scheduler}")`
    : `pl.simulate(problem, ${placement}, "${scheduler}")`;
  return `${problem}${run}.makespan\n`;
}

function list(values: ArrayLike<number>): string {
  return `[${Array.from(values, (x) => (Number.isFinite(x) ? String(x) : 'float("inf")')).join(", ")}]`;
}

function matrix(values: Float64Array, k: number): string {
  return `[${Array.from({ length: k }, (_, i) => list(values.subarray(i * k, (i + 1) * k))).join(", ")}]`;
}
