/**
 * "Upload…", and dropping files anywhere on the explorer. A file is sent to the kernel in pieces, each after the one before has
 * arrived, since a message over a notebook's socket is limited to some megabytes. What a connection that was cut has lost is sent
 * again. Of large ONNX files the weights are left out.
 */

import type { Of } from "../shared/commands.ts";
import { h, listen } from "../shared/dom.ts";
import { si } from "../shared/format.ts";
import type { Render } from "../shared/model.ts";
import type { Arrived, FilesTraits } from "./traits.ts";
import { withoutWeights } from "./weights.ts";

const PIECE = 1 << 20; // bytes
const AGAIN = 5_000; // ms without an answer after which a piece is sent again, at first
const SELDOM = 40_000; // and at last
const OVER = "pl-drop"; // class of the explorer while files are dragged over it

const render: Render<FilesTraits, Of<"piece" | "refuse">> = ({ model, el }) => {
  const ending = new AbortController();
  const { signal } = ending;
  const input = h("input", { type: "file", multiple: true, hidden: true, accept: model.get("accept") });
  const button = h(
    "button.pl-button",
    {
      style: "width: auto",
      title: "Files of this browser's machine; they can be dropped anywhere on the explorer, too",
    },
    "Upload…",
  );
  el.append(button, input);
  let arrived = (_: Arrived) => {};
  let turn = Promise.resolve();
  const note = waiting(el);

  /** Sends a piece until the kernel says what it has, again where a connection that was cut has lost it; null: cancelled. */
  const deliver = async (piece: Of<"piece">, content: ArrayBuffer): Promise<number | null> => {
    for (let wait = AGAIN; ; wait = Math.min(2 * wait, SELDOM)) {
      const answer = new Promise<number>((resolve) => {
        arrived = ({ id, have }) => id === piece.id && resolve(have);
      });
      model.send(piece, undefined, [content]);
      const have = await Promise.race([answer, note.cancelled, later(wait)]);
      if (have !== undefined) return have;
      note.show(`${piece.name} waits for the kernel: ${si(piece.at, "B")} of ${si(piece.size, "B")} have arrived.`);
    }
  };
  const send = async (given: File) => {
    const { name } = given;
    const id = `${Date.now()}-${Math.random()}`;
    const file = await lightened(given);
    const { size } = file;
    const refuse = (why: string) => model.send({ kind: "refuse", id, name, size, why });
    if (size > model.get("limit")) return refuse("large");
    note.begin();
    try {
      for (let at = 0; at === 0 || at < size; ) {
        const have = await deliver(
          { kind: "piece", id, name, size, at },
          await file.slice(at, at + PIECE).arrayBuffer(),
        );
        note.hide();
        if (have === null) return refuse("it was cancelled");
        if (!size) return;
        at = have;
      }
    } catch (error) {
      refuse(String(error)); // a folder, or a file that is gone
    }
  };
  const take = (files: FileList | null | undefined) => {
    for (const file of files ?? []) turn = turn.then(() => send(file));
    input.value = "";
  };
  const next = (message: unknown) => arrived(message as Arrived);
  /** The explorer under dragged files, if it is the one that contains this button. */
  const over = (event: DragEvent) => {
    const root = (event.target as Element).closest?.(".placelab-explorer");
    return root?.contains(el) && event.dataTransfer?.types.includes("Files") ? root : undefined;
  };
  const drag = (event: DragEvent) => {
    el.closest(".placelab-explorer")?.classList.toggle(OVER, event.type === "dragover" && !!over(event));
    if (event.type === "dragleave" || !over(event)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.type === "drop") take(event.dataTransfer?.files);
  };

  listen(button, "click", () => input.click(), { signal });
  listen(input, "change", () => take(input.files), { signal });
  for (const type of ["dragover", "dragleave", "drop"] as const)
    listen(document, type, drag, { signal, capture: true });
  model.on("msg:custom", next);
  return () => {
    ending.abort();
    note.hide();
    model.off("msg:custom", next);
  };
};

/** Without its weights where it is a large ONNX file; as it is where that cannot be read. */
async function lightened(file: File): Promise<Blob> {
  if (file.size <= PIECE || !file.name.toLowerCase().endsWith(".onnx")) return file;
  return withoutWeights(file).catch(() => file);
}

const later = (wait: number) => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), wait));

/** A sentence over the explorer while an upload waits, and a button that ends it. */
function waiting(el: HTMLElement) {
  const text = h("span");
  const cancel = h("button.pl-button", { type: "button" }, "Cancel");
  const element = h("div.pl-waits", { role: "status" }, text, " It goes on by itself.", cancel);
  let end = () => {};
  listen(cancel, "click", () => end());
  return {
    cancelled: new Promise<null>(() => {}),
    begin() {
      this.cancelled = new Promise((resolve) => {
        end = () => resolve(null);
      });
    },
    show(said: string) {
      text.textContent = said;
      if (!element.isConnected) el.closest(".placelab-explorer")?.append(element);
    },
    hide: () => element.remove(),
  };
}

export default { render };
