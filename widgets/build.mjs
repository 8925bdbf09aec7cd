// Builds one self-contained, minified ES module per view into the Python package. The result depends on the sources alone,
// so that CI can rebuild and compare byte by byte.
import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "placelab", "widgets", "static");
const views = ["gantt", "cluster", "code"];
const LIMIT = 100_000; // bytes in all; every widget instance sends its whole module over the kernel's socket

await build({
  absWorkingDir: here,
  entryPoints: Object.fromEntries(views.map((view) => [view, join(here, view, "index.ts")])),
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  loader: { ".css": "text" },
  plugins: [minifiedCss()],
});

let total = 0;
for (const view of views) {
  const { size } = statSync(join(out, `${view}.js`));
  total += size;
  console.log(`${view}.js ${size} bytes`);
}
if (total > LIMIT) throw new Error(`the bundle is ${total} bytes, at most ${LIMIT} are allowed: drop a dependency or split`);

/** Style sheets become strings in the module; esbuild minifies them first. */
function minifiedCss() {
  return {
    name: "minified-css",
    setup(bundler) {
      bundler.onLoad({ filter: /\.css$/ }, async ({ path }) => {
        const { code } = await bundler.esbuild.transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
        return { contents: code, loader: "text" };
      });
    },
  };
}
