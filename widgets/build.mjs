// Builds one self-contained, minified ES module per view into the Python package. The result depends on the sources alone,
// so that CI can rebuild and compare byte by byte.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "placelab", "widgets", "static");
const views = ["gantt", "cluster", "code", "files", "comparison"];
// Fields of our own that get short names; `unambiguous` refuses one that anything else could be called by.
const INTERNAL = `
  acknowledged barCss bars card cards chart colourOf column crest doubleClick dragging editor gutter incoming inside
  invalidate kindNames labelFrom lanes members merged nDevices nextGesture nOps nSends nTransfers outgoing paint
  perDevice perSecond playhead producer ptr quantity row showLanes showMemory showSelection showTable thinLane
  transfers
`.trim().split(/\s+/);
const COMMENT = /\/\*[^]*?\*\/|\/\/.*/g;
const LIMIT = 100_000; // bytes in all; every widget instance sends its whole module over the kernel's socket

unambiguous(INTERNAL);
await build({
  absWorkingDir: here,
  entryPoints: Object.fromEntries(views.map((view) => [view, join(here, view, "index.ts")])),
  outdir: out,
  bundle: true,
  minify: true,
  mangleProps: new RegExp(`^(${INTERNAL.join("|")})$`),
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

/** Throws when a name is one of the browser's, of a trait, of a data attribute, or stands in quotes: it has to stay then. */
function unambiguous(names) {
  const read = (folder, suffix) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(suffix) && !name.endsWith(`.test${suffix}`))
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .join("\n");
  const compilers = join(here, "node_modules", "@typescript"); // one, for this machine
  const lib = join(compilers, readdirSync(compilers)[0], "lib");
  const declared = read(lib, ".d.ts").replace(COMMENT, "");
  const sources = [...views, "shared", "player"].map((folder) => read(join(here, folder), ".ts")).join("\n");
  const traits = views.map((view) => readFileSync(join(here, view, "traits.ts"), "utf8").replace(COMMENT, "")).join("\n");
  for (const name of names) {
    const elsewhere =
      new RegExp(`^\\s*(readonly |get |set )*"?${name}"?\\??\\s*[:(<]`, "m").test(declared) ||
      new RegExp(`\\b${name}\\b`).test(traits) ||
      new RegExp(`dataset\\.${name}\\b|["'\`]${name}["'\`]`).test(sources);
    if (elsewhere) throw new Error(`${name} is not a name of our own alone: take it out of INTERNAL`);
  }
}

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
