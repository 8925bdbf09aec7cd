/**
 * Calls translated kernels as they were called in Python, and says where results differ.
 *
 *     node replay.mjs KERNELS.mjs CALLS.json
 *
 * Prints {"calls": number, "different": [{"kernel", "call", "what"}, …]} as JSON. Numbers are equal if their bits are, so -0 is not 0.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , translated, recorded] = process.argv;
const kernels = await import(pathToFileURL(translated).href);
const calls = JSON.parse(readFileSync(recorded, "utf8"));
const KINDS = { f8: Float64Array, i4: Int32Array, u1: Uint8Array };
const different = [];

function array(type, text) {
  const bytes = Uint8Array.from(Buffer.from(text, "base64"));
  return new KINDS[type](bytes.buffer);
}

function number(value) {
  return typeof value === "string" ? Number(value.replace("inf", "Infinity")) : value;
}

function argument({ array: at, block, value }, arrays) {
  if (at !== undefined) return arrays[at];
  if (block === undefined) return number(value);
  return Object.fromEntries(Object.entries(block).map(([name, each]) => [name, argument(each, arrays)]));
}

function sameResult(found, expected) {
  if (Array.isArray(expected)) return expected.every((each, i) => sameResult(found[i], each));
  return expected === null || Object.is(Number(found), Number(number(expected)));
}

calls.forEach((call, i) => {
  const arrays = call.arrays.map(({ type, before }) => array(type, before));
  const note = (what) => different.push({ kernel: call.kernel, call: i, what });
  try {
    const found = kernels[call.kernel](...call.arguments.map((each) => argument(each, arrays)));
    if (!sameResult(found, call.result)) note(`returns ${found}, not ${call.result}`);
  } catch (error) {
    note(String(error));
  }
  call.arrays.forEach(({ type, after }, j) => {
    const expected = array(type, after);
    const wrong = expected.findIndex((x, at) => !Object.is(x, arrays[j][at]));
    if (wrong >= 0) note(`array ${j} has ${arrays[j][wrong]} at ${wrong}, not ${expected[wrong]}`);
  });
});
process.stdout.write(JSON.stringify({ calls: calls.length, different }));
