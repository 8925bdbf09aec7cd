/**
 * Solves problems with the built module of live pages, for tests.
 *
 *     node solve.mjs LIVE.js PROBLEMS.json
 *
 * PROBLEMS.json: [{problem (base64), partitioner, scheduler, speed, bandwidth, latency}, …]; a partitioner of null leaves ops where they
 * are. `moves` are made by hand after that; of the ops only `part` is placed, the others wait, and only it runs; `allowed` has the devices that may run each op, as bits; `memory` is another memory model. With `graph` (the text of a
 * file) and `devices` ({names, types}), `problem` gives the cluster alone. Prints, in JSON, of each the arrays in base64, the bytes
 * for the chart, the makespan, a lower bound on it, and the costs in which partitioners plan; or the error.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , module, given] = process.argv;
const {
  bestBound,
  decodeProblem,
  graphOf,
  hand,
  inWholeCosts,
  place,
  problemOf,
  simulate,
  packMemory,
  packRun,
  withMemory,
} = await import(pathToFileURL(module).href);

const text = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

function solved({ problem, partitioner, scheduler, graph, devices, moves, memory, part, allowed = null, ...changed }) {
  const bytes = Uint8Array.from(Buffer.from(problem, "base64"));
  const page = decodeProblem(new DataView(bytes.buffer));
  const { placed } = page;
  const { shape, costs } = graph ? graphOf(graph, page.shape, page.costs, devices) : page;
  const edits = Object.fromEntries(
    Object.entries(changed).map(([name, values]) => [name, Float64Array.from(values, Number)]),
  );
  const whole = problemOf(memory ? withMemory(shape, memory) : shape, { ...costs, ...edits });
  const there = partitioner === null ? placed : place(whole, partitioner);
  const of = part ? Uint8Array.from({ length: shape.nOps }, (_, v) => part.includes(v)) : null;
  const edited = hand.partOf(whole, of);
  const where = of ? hand.behind(shape, there, of) : there;
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
  if (moves) Object.assign(columns, byHand(edited, where, run, scheduler, moves));
  const arrays = Object.entries(columns).map(([name, column]) => [name, text(column)]);
  const costsOfPlans = Object.fromEntries(
    Object.entries(inWholeCosts(edited.shape, edited.costs)).map(([name, column]) => [name, text(column)]),
  );
  return {
    ...Object.fromEntries(arrays),
    wire: text(packRun(edited, run)),
    memory: text(packMemory(edited, run)),
    makespan,
    bound: bestBound(edited, allowed),
    whole: costsOfPlans,
  };
}

/**
 * The plan by hand after moves [ops, device, position], and of the ops moved their legal places on all devices before; or
 * [[a, b], -1]: an exchange, which leaves the plan as it is where that is illegal.
 */
function byHand(problem, placed, run, scheduler, moves) {
  const ran = (plan) => ({ ...plan, run: simulate(problem, plan, "planned") });
  let plan = ran(hand.planOf(problem, placed, run, scheduler));
  const seen = [];
  for (const [ops, device, position] of moves) {
    if (device < 0) {
      const there = hand.swapped(problem.shape, plan, ...ops);
      seen.push(there ? 1 : 0);
      plan = there ? ran(there) : plan;
      continue;
    }
    const op = hand.blockOf(plan, ops);
    const places = problem.costs.speed.length;
    for (let d = 0; d < places; d++) {
      const { first, last, start, ready } = hand.placesOf(problem, plan, op, d);
      seen.push(first, last, start, ready);
    }
    const there = hand.placesOf(problem, plan, op, device);
    plan = ran(hand.moved(problem.shape, plan, op, device, there, position));
  }
  const { device, planned, run: last } = plan;
  const everywhere = () => true;
  let best = null;
  for (best of hand.bestMoves(problem, plan, everywhere));
  const { device: bestDevice, planned: bestPlanned } = best?.plan ?? plan;
  return {
    best: Float64Array.of(best?.makespan ?? last.makespan),
    bestDevice,
    bestPlanned,
    handDevice: device,
    handPlanned: planned,
    handStart: last.start,
    handPlaces: Float64Array.from(seen),
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
