/**
 * Builds the module of live pages with a mistake in one of its sources, for the test of their tests.
 *
 *     node mutant.mjs FILE BEFORE AFTER TARGET.mjs
 *
 * In FILE, a path in widgets/, the first BEFORE becomes AFTER.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const [, , file, before, after, outfile] = process.argv;
const widgets = join(dirname(fileURLToPath(import.meta.url)), "..");
const path = join(widgets, file);
const text = readFileSync(path, "utf8");
if (!text.includes(before)) throw new Error(`${file} has no ${before}`);

await build({
  absWorkingDir: widgets,
  entryPoints: ["live/index.ts"],
  outfile,
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
