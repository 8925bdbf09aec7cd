// Builds one self-contained, minified ES module per view into the Python package. The result depends on the sources alone,
// so that CI can rebuild and compare byte by byte.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "placelab", "app", "widgets", "static");
const entry = (folder) => ["index.ts", "index.tsx"].map((file) => join(here, folder, file)).find(existsSync);
const views = readdirSync(here).filter(entry);
const VIEW = 60_000; // bytes of one view, gzipped; every widget instance sends its whole module over the kernel's socket
const LARGER = { explorer: 250_000, live: 127_000 }; // of those that have views in them: the explorer, and the page that recomputes

await build({
  absWorkingDir: here,
  entryPoints: Object.fromEntries(views.map((view) => [view, entry(view)])),
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

const sizes = views.map((view) => gzipSync(readFileSync(join(out, `${view}.js`)), { level: 9 }).length);
views.forEach((view, i) => {
  console.log(`${view}.js ${sizes[i]} bytes gzipped`);
  const most = LARGER[view] ?? VIEW;
  if (sizes[i] > most) throw new Error(`${view}.js has more than ${most} bytes gzipped: drop a dependency or split`);
});

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
