/**
 * The processor time that a page's own module takes for a drag of all bandwidths, in Node: of live_page.py.
 *
 *     node live_page.mjs LIVE.js PROBLEM MOVES
 *
 * PROBLEM: the columns of a page. Prints, in JSON, milliseconds of each move: to place and to simulate, and to write what the chart reads.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , module, given, moves] = process.argv;
const { decodeProblem, packRun, place, problemOf, simulate } = await import(pathToFileURL(module).href);
const bytes = readFileSync(given);
const { shape, costs } = decodeProblem(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));

function took(call) {
  const { user, system } = process.cpuUsage();
  const made = call();
  const now = process.cpuUsage();
  return [(now.user + now.system - user - system) / 1000, made];
}

const found = [];
for (let i = 0; i < Number(moves); i++) {
  const bandwidth = costs.bandwidth.map((x) => x * 1.07 ** ((i % 40) - 20));
  const [compute, [problem, run]] = took(() => {
    const edited = problemOf(shape, { ...costs, bandwidth });
    return [edited, simulate(edited, place(edited, "heft"), "planned")];
  });
  const [wire] = took(() => packRun(problem, run));
  found.push([compute, wire]);
}
process.stdout.write(JSON.stringify(found));
