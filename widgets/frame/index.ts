/** What surrounds the explorer's views: splitter, full screen, presenting, panels that close, downloads. */
import { UNANSWERED } from "../shared/alone.ts";
import { subscribe } from "../shared/bus.ts";
import type { Of } from "../shared/commands.ts";
import { h, listen, style } from "../shared/dom.ts";
import { download } from "../shared/download.ts";
import type { Render } from "../shared/model.ts";
import { boxOf, pointOf } from "../shared/zoom.ts";
import { findCell, showCell } from "./cell.ts";
import css from "./frame.css";
import { GoOn } from "./goon.ts";
import { keepPlaceholder, notebookOf } from "./placeholder.ts";
import { bounded, byKey } from "./split.ts";
import type { Download, FrameTraits } from "./traits.ts";

const ROOT = ".placelab-explorer";
const ARRIVES = 5000; // ms within which a picture reaches the page
const ROWS = 68; // px of the rows above the middle one; where the page is narrow they are higher, and what is shared is the same
const LIVE = "comm_live_update"; // event of a widget whose kernel has ended
const ENDED = "jupyter-widgets-disconnected"; // what ipywidgets calls it; anywidget does not say it
const BUSY = "The kernel is busy, and follows.";
const GONE = "The kernel has ended; run the cell again to have it back.";
const OPENED = ".pl-opens[aria-pressed='true']"; // buttons whose panel is open

const render: Render<FrameTraits, Of<"stale">> = ({ model, el }) => {
  const ending = new AbortController();
  const { signal } = ending;
  const button = (text: string, label: string) =>
    h("button", { type: "button", title: label, "aria-label": label }, text) as HTMLButtonElement;
  const present = button("▣", "Present: larger type, and nothing but the views");
  const full = button("⤢", "Full screen");
  const splitter = h("div.pl-splitter", {
    role: "separator",
    tabindex: 0,
    "aria-orientation": "horizontal",
    "aria-label": "height of the chart",
  });
  el.append(h("div.pl-frame", { "data-lm-suppress-shortcuts": "true" }, style(css), present, full));

  const root = () => el.closest<HTMLElement>(ROOT);
  const setSplit = (share: number) => {
    model.set("split", bounded(share));
    model.save_changes();
  };
  const showSplit = () => {
    root()?.style.setProperty("--pl-split", String(model.get("split")));
    splitter.setAttribute("aria-valuenow", String(Math.round(100 * model.get("split"))));
  };
  const attach = () => {
    const found = root();
    if (!found) return;
    found.append(splitter);
    showSplit();
    listen(found, "keydown", (event) => event.key === "Escape" && shut(found), { signal });
    listen(found, "click", ({ target }) => jump(target), { signal });
    offerJump();
    listen(document, "pointerdown", (event) => outside(found, event.target), { signal });
  };
  const silent = subscribe<boolean>(el, UNANSWERED, (waits) => {
    late = waits;
    offer();
  });
  requestAnimationFrame(attach); // the page attaches the element only now
  const notebook = notebookOf(model.widget_manager);
  const failingCell = () => findCell(el, notebook, model.get("failing").source ?? "");
  const offerJump = () => root()?.classList.toggle("pl-jumps", failingCell() !== null);
  model.on("change:failing", offerJump);
  const jump = (target: EventTarget | null) => {
    if (!(target instanceof Element && target.closest(".pl-jump"))) return;
    const cell = failingCell();
    if (cell) showCell(cell, model.get("failing").line ?? 1);
    else offerJump(); // it has been changed or deleted meanwhile
  };
  if (notebook) keepPlaceholder(notebook, model.get("whole"));
  const goOn = new GoOn(el, root, () => model.get("picture")[0] ?? "");
  let late = false;
  let ended = false;
  const offer = () => goOn.offer(ended ? GONE : late ? BUSY : "");
  const live = async () => {
    ended = !(await isLive(model.widget_manager, model.get("whole")));
    root()?.classList.toggle(ENDED, ended);
    offer();
  };
  model.on(LIVE, live);

  const setPresent = (on: boolean) => {
    root()?.classList.toggle("pl-present", on);
    present.setAttribute("aria-pressed", String(on));
  };
  listen(
    present,
    "click",
    () => {
      const on = !root()?.classList.contains("pl-present");
      setPresent(on);
      if (on === !document.fullscreenElement) toggleFull(root()).catch(() => undefined); // a page in a frame may be refused it
    },
    { signal },
  );
  listen(document, "fullscreenchange", () => document.fullscreenElement || setPresent(false), { signal });
  listen(full, "click", () => void toggleFull(root()), { signal });
  listen(
    splitter,
    "keydown",
    (event) => {
      const share = byKey(event.key, model.get("split"));
      if (share === null) return;
      setSplit(share);
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  listen(splitter, "dblclick", () => setSplit(0), { signal });
  dragged(splitter, root, setSplit, signal);

  let looking = 0;
  const look = () => {
    clearTimeout(looking);
    looking = window.setTimeout(() => {
      if (!isStale(el, model.get("picture"))) return;
      model.off("change:picture", look);
      model.send({ kind: "stale" });
    }, ARRIVES);
  };
  model.on("change:split", showSplit);
  model.on("change:picture", look);
  look();
  const onMessage = (message: unknown, buffers: unknown) => {
    const { download: name, type } = message as Download;
    download(name, new Blob([(buffers as BlobPart[])[0]!], { type }));
  };
  model.on("msg:custom", onMessage);
  return () => {
    ending.abort();
    silent();
    goOn.close();
    model.off(LIVE, live);
    model.off("change:failing", offerJump);
    clearTimeout(looking);
    model.off("change:picture", look);
    splitter.remove();
    model.off("change:split", showSplit);
    model.off("msg:custom", onMessage);
  };
};

/** Whether the kernel of a widget is there; where the host has no widget manager, nobody tells. */
async function isLive(manager: unknown, id: string): Promise<boolean> {
  const { get_model } = (manager ?? {}) as { get_model?(id: string): Promise<{ comm_live?: boolean }> };
  return (await get_model?.call(manager, id))?.comm_live ?? true;
}

/** Whether the notebook around `el` holds an earlier picture: after the page is loaded again, a cell's outputs get no news until it is run. */
function isStale(el: HTMLElement, [name, number]: string[]): boolean {
  const held = name ? el.closest(".jp-NotebookPanel")?.querySelector<HTMLElement>(`.${name}`) : null;
  return !!held && held.dataset.number !== number;
}

/** Dragging the splitter moves the border between the middle row and the chart. */
function dragged(
  splitter: HTMLElement,
  root: () => HTMLElement | null,
  set: (share: number) => void,
  signal: AbortSignal,
): void {
  listen(
    splitter,
    "pointerdown",
    (event) => {
      splitter.setPointerCapture(event.pointerId);
      event.preventDefault();
    },
    { signal },
  );
  listen(
    splitter,
    "pointermove",
    (event) => {
      const found = root();
      if (!found || !splitter.hasPointerCapture(event.pointerId)) return;
      const top = parseFloat(getComputedStyle(splitter).getPropertyValue("--pl-top")) || 0;
      set((pointOf(event, found).y - boxOf(found).top - top) / (boxOf(found).height - ROWS));
    },
    { signal },
  );
}

function shut(root: HTMLElement): void {
  for (const open of root.querySelectorAll<HTMLElement>(OPENED)) open.click();
}

/** A click beside an open panel closes it; one inside, or on its button, does not. */
function outside(root: HTMLElement, target: EventTarget | null): void {
  for (const open of root.querySelectorAll<HTMLElement>(OPENED))
    if (target instanceof Node && !open.closest(".pl-pops")?.contains(target)) open.click();
}

async function toggleFull(root: HTMLElement | null): Promise<void> {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await root?.requestFullscreen();
}

export default { render };
