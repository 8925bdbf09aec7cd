/**
 * "Upload…", and dropping files anywhere on the explorer. A file is sent to the kernel in pieces, each after the one before has
 * arrived, since a message over a notebook's socket is limited to some megabytes.
 */

import { h, listen } from "../shared/dom.ts";
import type { Model } from "../shared/model.ts";
import type { FilesTraits, Piece } from "./traits.ts";

const PIECE = 1 << 20; // bytes
const OVER = "pl-drop"; // class of the explorer while files are dragged over it

interface Channel extends Model<FilesTraits> {
  send(piece: Piece, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
}

function render({ model, el }: { model: Channel; el: HTMLElement }): () => void {
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
  let arrived = () => {};
  let turn = Promise.resolve();

  const send = async (file: File) => {
    const { name, size } = file;
    if (size > model.get("limit")) return model.send({ name, size, at: 0, error: "large" });
    try {
      for (let at = 0; at === 0 || at < size; at += PIECE) {
        const piece = await file.slice(at, at + PIECE).arrayBuffer();
        const waiting = new Promise<void>((resolve) => (arrived = resolve));
        model.send({ name, size, at }, undefined, [piece]);
        await waiting;
      }
    } catch (error) {
      model.send({ name, size, at: 0, error: String(error) }); // a folder, or a file that is gone
    }
  };
  const take = (files: FileList | null | undefined) => {
    for (const file of files ?? []) turn = turn.then(() => send(file));
    input.value = "";
  };
  const next = () => arrived();
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
    model.off("msg:custom", next);
  };
}

export default { render };
