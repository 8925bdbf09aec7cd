/**
 * Builds the module of live pages with a mistake in one of its sources, several times, for the test of their tests.
 *
 *     node mutants.mjs MISTAKES.json
 *
 * MISTAKES.json: [{file, before, after, target}, …]. In `file`, a path in widgets/, the first `before` becomes `after`.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const widgets = join(dirname(fileURLToPath(import.meta.url)), "..");

function mutant({ file, before, after, target }) {
  const path = join(widgets, file);
  const text = readFileSync(path, "utf8");
  if (!text.includes(before)) throw new Error(`${file} has no ${before}`);
  return build({
    absWorkingDir: widgets,
    entryPoints: ["live/index.ts"],
    outfile: target,
    bundle: true,
    format: "esm",
    target: "es2022",
    loader: { ".css": "text" },
    logLevel: "error",
    plugins: [
      {
        name: "mistake",
        setup(bundler) {
          bundler.onLoad({ filter: /\.ts$/ }, (source) =>
            source.path === path ? { contents: text.replace(before, () => after), loader: "ts" } : undefined,
          );
        },
      },
    ],
  });
}

const [, , mistakes] = process.argv;
await Promise.all(JSON.parse(readFileSync(mistakes, "utf8")).map(mutant));
