/**
 * Where nothing was asked for, a page to begin with: a place to drop a model on and three examples, over what is open behind it. A
 * browser shows it until something is opened, and the hints after it; any press beside it leads to what is behind.
 */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Of } from "../shared/commands.ts";
import { copy } from "../shared/copy.ts";
import { HINTS, Hints, wereShown } from "./hints.tsx";
import { partOf, type Whole } from "./part.ts";

/** The message of `Explorer._begin`. */
interface Beginning {
  how: "once" | "again";
  /** The model that is open behind the page. */
  behind: string;
  examples: Example[];
}

interface Example {
  name: string;
  title: string;
  says: string;
  tag: string;
  /** Name of the part whose click opens it. */
  button: string;
}

const CODE =
  "import placelab as pl\n\npl.explore(G)  # a networkx DiGraph: nodes with time or compute, edges with bytes";
const OPEN = ".pl-open > .pl-opens";

/** Lanes of bars, each from and how long in percent of the makespan: of HEFT's plan, of 1F1B, of Inception where it is busy. */
const PICTURES: Record<string, readonly (readonly [number, number][])[]> = {
  topcuoglu: [
    [
      [34, 16],
      [71, 6],
    ],
    [
      [22, 10],
      [32, 20],
      [70, 15],
      [91, 9],
    ],
    [
      [0, 11],
      [11, 24],
      [35, 12],
      [48, 14],
    ],
  ],
  pipeline: [
    [
      [0, 7],
      [8, 7],
      [16, 7],
      [40, 14],
      [55, 7],
      [63, 14],
      [78, 20],
    ],
    [
      [8, 7],
      [16, 7],
      [32, 14],
      [47, 7],
      [55, 14],
      [70, 20],
    ],
    [
      [16, 7],
      [24, 14],
      [39, 7],
      [47, 14],
      [62, 14],
      [77, 5],
    ],
  ],
  inception_v3: [
    [
      [0, 36],
      [44, 2],
      [50, 2],
      [54, 2],
      [58, 2],
      [68, 2],
      [74, 2],
      [78, 2],
    ],
    [
      [0, 2],
      [32, 4],
      [44, 4],
      [64, 2],
      [82, 18],
    ],
    [
      [0, 2],
      [36, 2],
      [48, 4],
      [58, 2],
      [72, 4],
    ],
  ],
};

interface Given {
  whole: Whole;
  root: HTMLElement;
  /** How often a user has asked for the hints. */
  hints: number;
}

/** The page to begin with where the kernel sends it; else the hints. */
export function Begin({ whole, root, hints }: Given) {
  // The chart may be ready, and the hints remembered as shown, before the kernel sends this page, which hides them.
  const [first] = useState(() => !wereShown());
  const [left, setLeft] = useState(first ? HINTS : []);
  const [beginning, set] = useState<Beginning | null>(null);
  useLayoutEffect(() => {
    const hear = (message: unknown) => {
      const { to, content } = message as { to?: string; content?: Beginning };
      if (to === "begin" && content && (content.how === "again" || first)) set(content);
    };
    whole.on("msg:custom", hear);
    return () => whole.off("msg:custom", hear);
  }, [whole]);
  useEffect(() => (beginning ? leftBy(root, whole, () => set(null)) : undefined), [beginning]);
  useEffect(() => (hints ? setLeft(HINTS) : undefined), [hints]);
  if (!beginning) return <Hints root={root} left={left} setLeft={setLeft} />;
  const { behind, examples } = beginning;
  const upload = () => root.querySelector<HTMLInputElement>(".pl-open input[type=file]")?.click();
  return (
    <>
      <div class="pl-begin pl-begin-title">
        <b>What shall be placed?</b>
        <span>Drop a model, or take one of three examples.</span>
        <button type="button" class="pl-button" onClick={() => set(null)}>
          Go on with {behind}
        </button>
      </div>
      <div class="pl-begin pl-begin-examples">
        {examples.map((example) => (
          <button
            key={example.name}
            type="button"
            onClick={() => partOf<object, Of<"click">>(whole, example.button).send({ kind: "click" })}
          >
            <Picture of={example.name} />
            <b>{example.title}</b>
            <span>{example.says}</span>
            <i>{example.tag}</i>
          </button>
        ))}
      </div>
      <div class="pl-begin pl-begin-drop">
        <div>
          <b>Drop a model here</b>
          <span>.onnx .pb .pbtxt .json .json.gz, a torch.export program, a decoder's config.json</span>
          <div>
            <button type="button" class="pl-button pl-first" onClick={upload}>
              Open a file…
            </button>
            <button type="button" class="pl-button" onClick={() => givePath(root)}>
              Give a path…
            </button>
            <Copied root={root} />
          </div>
          <small>
            Only the graph is read: the weights of large ONNX files are not sent. An upload whose connection is cut goes
            on.
          </small>
        </div>
      </div>
    </>
  );
}

/** Ends the page on an example's click, on a press beside it, on Escape and on another state; not while a file is chosen. */
function leftBy(root: HTMLElement, whole: Whole, end: () => void): () => void {
  const press = ({ target }: Event) => {
    if (target instanceof Element && !target.closest(".pl-begin, .pl-open, .pl-messages, .pl-numbers")) end();
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "Escape") end();
  };
  root.addEventListener("pointerdown", press);
  root.addEventListener("keydown", key);
  whole.on("change:now", end);
  return () => {
    root.removeEventListener("pointerdown", press);
    root.removeEventListener("keydown", key);
    whole.off("change:now", end);
  };
}

function givePath(root: HTMLElement): void {
  const opens = root.querySelector<HTMLElement>(OPEN);
  if (opens?.getAttribute("aria-pressed") === "false") opens.click();
  const focus = () => root.querySelector<HTMLElement>(".pl-open .pl-field > input")?.focus();
  setTimeout(focus, 100); // once the kernel has opened the panel
}

function Copied({ root }: { root: HTMLElement }) {
  const [copied, set] = useState(false);
  const click = () => copy(CODE, root).then(set);
  return (
    <button type="button" class="pl-button" title={CODE} onClick={click}>
      {copied ? "Copied" : "Copy code: pl.explore(G)"}
    </button>
  );
}

function Picture({ of }: { of: string }) {
  const lanes = PICTURES[of] ?? [];
  return (
    <svg viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true">
      {lanes.flatMap((bars, lane) =>
        bars.map(([from, long]) => (
          <rect key={`${lane} ${from}`} class={`lane${lane}`} x={from} y={1 + 10 * lane} width={long} height={7} />
        )),
      )}
    </svg>
  );
}
