/**
 * Solves problems with the built module of live pages, for tests.
 *
 *     node solve.mjs LIVE.js PROBLEMS.json
 *
 * PROBLEMS.json: [{problem (base64), partitioner, scheduler, speed, bandwidth, latency}, …]; a partitioner of null leaves ops where they
 * are. With `graph` (the text of a file) and `devices` ({names, types}), `problem` gives the cluster alone. Prints, in JSON, of each the arrays in base64, the bytes for the chart, the makespan, and the costs in which
 * partitioners plan; or the error.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , module, given] = process.argv;
const { decodeProblem, graphOf, inWholeCosts, place, problemOf, simulate, packMemory, packRun } = await import(
  pathToFileURL(module).href
);

const text = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

function solved({ problem, partitioner, scheduler, graph, devices, ...changed }) {
  const bytes = Uint8Array.from(Buffer.from(problem, "base64"));
  const page = decodeProblem(new DataView(bytes.buffer));
  const { placed } = page;
  const { shape, costs } = graph ? graphOf(graph, page.shape, page.costs, devices) : page;
  const edits = Object.fromEntries(
    Object.entries(changed).map(([name, values]) => [name, Float64Array.from(values, Number)]),
  );
  const edited = problemOf(shape, { ...costs, ...edits });
  const where = partitioner === null ? placed : place(edited, partitioner);
  const run = simulate(edited, where, scheduler);
  const { start, finish, transfers, makespan } = run;
  const columns = {
    device: where.device,
    planned: where.planned,
    start,
    finish,
    begin: transfers.start,
    end: transfers.finish,
  };
  const arrays = Object.entries(columns).map(([name, column]) => [name, text(column)]);
  const whole = Object.fromEntries(
    Object.entries(inWholeCosts(shape, edited.costs)).map(([name, column]) => [name, text(column)]),
  );
  return {
    ...Object.fromEntries(arrays),
    wire: text(packRun(edited, run)),
    memory: text(packMemory(edited, run)),
    makespan,
    whole,
  };
}

function tried(each) {
  try {
    return solved(each);
  } catch (error) {
    return { error: error.stack };
  }
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(given, "utf8")).map(tried)));
