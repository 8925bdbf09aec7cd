/** The explorer: one anywidget, whose parts are controls that Preact draws and views with modules of their own. */
import { render as draw } from "preact";
import { markTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import { Begin } from "./begin.tsx";
import { Parts } from "./controls.tsx";
import css from "./explorer.css";
import helpCss from "./help.css";
import { Help } from "./help.tsx";
import type { Whole } from "./part.ts";
import type { ExplorerTraits } from "./traits.ts";

const CLASSES = ["placelab", "placelab-explorer"];
const shown = new WeakMap<Whole, number>(); // how often this page shows each

function render({ model, el }: { model: Whole; el: HTMLElement }): () => void {
  const get = <K extends keyof ExplorerTraits>(name: K) => model.get(name) as ExplorerTraits[K];
  el.classList.add(...CLASSES);
  markTheme(el);
  if (get("height")) el.style.height = `${get("height")}px`;
  const nonce = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce;
  const show = () =>
    draw(
      <>
        <style nonce={nonce}>{[THEME_CSS, css, helpCss, get("hiding")].join("\n")}</style>
        <Parts whole={model} references={get("root")} />
        <Begin whole={model} root={el} hints={get("hints")} />
        <Help root={el} />
      </>,
      el,
    );
  show();
  model.on("change:hints", show);
  const stay = () => setTimeout(() => stillShown(model)); // what is set during a change is not sent
  model.on("change:views", stay);
  const ends = [watchTheme(() => markTheme(el)), ...get("links").map(([from, to]) => follow(model, from, to))];
  count(model, 1);
  return () => {
    for (const end of ends) end();
    model.off("change:hints", show);
    model.off("change:views", stay);
    draw(null, el);
    el.classList.remove(...CLASSES);
    count(model, -1);
  };
}

/** Has trait `to` follow trait `from`, without the kernel. */
function follow(model: Whole, from: string, to: string): () => void {
  const copy = () => {
    model.set(to, model.get(from));
    model.save_changes();
  };
  model.on(`change:${from}`, copy);
  return () => model.off(`change:${from}`, copy);
}

/** Says again how often this page shows the explorer, where another browser on the same kernel has said less, as when it was closed. */
function stillShown(model: Whole): void {
  if (Number(model.get("views")) < (shown.get(model) ?? 0)) count(model, 0);
}

/** Tells the kernel how often the page shows the explorer: it computes nothing for nobody. */
function count(model: Whole, more: number): void {
  const views = (shown.get(model) ?? 0) + more;
  shown.set(model, views);
  model.set("views", views);
  model.save_changes();
}

export default { render };
