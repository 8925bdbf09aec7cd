/** "Copy as code": copies a cell's text to the clipboard and shows it. */

import { copy } from "../shared/copy.ts";
import { h, listen, style } from "../shared/dom.ts";
import type { Model } from "../shared/model.ts";
import { markTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import css from "./code.css";
import type { CodeTraits } from "./traits.ts";

function render({ model, el }: { model: Model<CodeTraits>; el: HTMLElement }): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const button = h(
    "button",
    { type: "button", "aria-expanded": "false", title: "Copy a cell that makes again exactly what is shown" },
    "Code",
  );
  const said = h("span", { role: "status" });
  const close = h("button", { type: "button", "aria-label": "Close" }, "×");
  const text = h("pre", { tabindex: "0", "aria-label": "Cell" });
  const note = h("div.note", { role: "status" });
  const panel = h("div.panel", {}, h("div.head", {}, said, close), note, text);
  const root = h(
    "div.placelab.pl-code",
    { "data-lm-suppress-shortcuts": "true" },
    style(THEME_CSS, css),
    button,
    panel,
  );
  el.append(root);

  const open = (shown: boolean) => {
    panel.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
  };
  const show = () => {
    text.textContent = model.get("code");
    note.textContent = model.get("note");
  };
  const changed = () => panel.hidden || show();
  const dismiss = () => {
    open(false);
    button.focus();
  };

  open(false);
  listen(
    button,
    "click",
    async () => {
      show(); // a click while it is open copies again; ×, Escape and a click elsewhere close it
      open(true);
      model.set("copies", model.get("copies") + 1);
      model.save_changes();
      said.textContent = (await copy(model.get("code"), text))
        ? "Copied: paste it into a cell."
        : "Press Ctrl+C to copy the text that is selected.";
    },
    { signal },
  );
  listen(close, "click", dismiss, { signal });
  listen(root, "keydown", (event) => event.key === "Escape" && !panel.hidden && dismiss(), { signal });
  listen(document.body, "keydown", keepInside, { signal });
  listen(document, "pointerdown", (event) => panel.hidden || root.contains(event.target as Node) || open(false), {
    signal,
  });
  model.on("change:code", changed);
  model.on("change:note", changed);
  markTheme(root);
  const unwatch = watchTheme(() => markTheme(root));
  return () => {
    ending.abort();
    unwatch();
    model.off("change:code", changed);
    model.off("change:note", changed);
  };
}

/**
 * Keeps keys for the explorer's menus, buttons and heat map from being shortcuts of the notebook: otherwise typing "m-sct" in
 * the menu of partitioners would turn the cell into Markdown. It is in this widget because those are Jupyter's own.
 */
function keepInside(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && event.key === "Enter")) return;
  if ((event.target as Element).closest(".placelab-explorer")) event.stopPropagation();
}

export default { render };
