/** Type what is to be done: a line over the explorer, opened by Ctrl+K anywhere in it; and the note on what an edit did. */

import type { Of } from "../shared/commands.ts";
import { h, listen, set, style } from "../shared/dom.ts";
import { isTyping } from "../shared/keys.ts";
import type { Render } from "../shared/model.ts";
import { markTheme, THEME_CSS, watchTheme } from "../shared/theme.ts";
import { commandOf, isForChart, moved } from "./keys.ts";
import css from "./palette.css";
import type { PaletteTraits } from "./traits.ts";

const ROOT = ".placelab-explorer";
const STACKED = ".pl-messages, .pl-waits"; // what a note never covers
const STAYS = 6000; // ms of a note, longer under the pointer or with the focus
const HINT = "a strategy, a model, “gpu:1 memory 8 GB”, “bus 300 GB/s”, an op, “why is gpu:1 idle”";

/** Presses a button, or goes to a field. */
function press(element: HTMLElement | null | undefined): void {
  element?.focus();
  element?.click();
}

/** Leaves the keys to the explorer where what a button does hides or disables it: the page would take them, as those of an undo. */
function keepKeys(root: HTMLElement, left: Element): void {
  if (left.checkVisibility() && !left.matches(":disabled")) return;
  requestAnimationFrame(() => document.activeElement === document.body && root.focus({ preventScroll: true }));
}

const render: Render<PaletteTraits, Of<"choose" | "undo" | "redo">> = ({ model, el }) => {
  const ending = new AbortController();
  const { signal } = ending;
  const button = h(
    "button",
    { type: "button", title: "Type what is to be done (Ctrl+K)", "aria-label": "Commands" },
    "⌕",
  );
  const input = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-label": "Command" });
  set(input, { placeholder: HINT, autocomplete: "off", spellcheck: "false", "aria-controls": "pl-offers" });
  const list = h("ol", { role: "listbox", id: "pl-offers" });
  const dialog = h("div.pl-palette", { role: "dialog", "aria-label": "Commands", hidden: true }, input, list);
  const said = h("span");
  const effect = h("b");
  const undo = h("button", { type: "button" });
  const away = h("button", { type: "button", "aria-label": "Dismiss" }, "✕");
  const note = h("div.pl-note", { role: "status", hidden: true }, said, effect, undo, away);
  const over = h("div.placelab.pl-over", {}, style(THEME_CSS, css), dialog, note);
  const commands = h(
    "div.placelab.pl-commands",
    { "data-lm-suppress-shortcuts": "true" },
    style(THEME_CSS, css),
    button,
  );
  el.append(commands);
  const mark = () => [commands, over].forEach(markTheme);
  let at = 0;
  let awaiting = false; // Enter was pressed before the offers came
  let before: HTMLElement | null = null; // what had the focus
  let timer = 0;

  const root = () => el.closest<HTMLElement>(ROOT);
  const type = (text: string) => {
    awaiting = false;
    model.set("typed", text);
    model.save_changes();
  };
  const open = () => {
    root()?.querySelector<HTMLDialogElement>("dialog[open]")?.close(); // below it nothing can have the focus
    before = document.activeElement as HTMLElement | null;
    dialog.hidden = false;
    input.value = "";
    input.focus();
    at = 0;
    type("");
    show();
  };
  const close = () => {
    if (dialog.hidden) return;
    dialog.hidden = true;
    before?.focus();
  };
  const choose = (number: number) => {
    const offer = model.get("offers")[number];
    if (!offer) return;
    close();
    if (offer.press) press(root()?.querySelector<HTMLElement>(offer.press));
    else model.send({ kind: "choose", offer: number, typed: model.get("answers") });
  };
  /** Chooses once the offers are those for what is typed: a quick hand presses Enter before they come. */
  const enter = () => {
    awaiting = model.get("answers") !== model.get("typed");
    if (!awaiting) choose(at);
  };
  const answered = () => {
    if (awaiting && !dialog.hidden) enter();
  };
  const show = () => {
    const offers = model.get("offers");
    at = Math.min(at, Math.max(offers.length - 1, 0));
    list.replaceChildren(
      ...offers.map(({ phrase, says, kind }, i) => {
        const option = h(
          "li",
          { role: "option", id: `pl-offer-${i}`, "aria-selected": String(i === at) },
          h("b", {}, phrase),
          h("span.says", {}, says),
          h("span.kind", {}, kind),
        );
        listen(option, "click", () => choose(i));
        return option;
      }),
    );
    if (!offers.length) list.append(h("li.none", {}, h("span.says", {}, `Nothing fits. Try ${HINT}`)));
    set(input, { "aria-activedescendant": offers.length ? `pl-offer-${at}` : undefined });
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  listen(button, "click", open, { signal });
  listen(input, "input", () => {
    at = 0;
    type(input.value);
  });
  listen(dialog, "keydown", (event) => {
    event.stopPropagation();
    const to = moved(event.key, at, model.get("offers").length);
    if (to !== null) at = to;
    else if (event.key === "Enter") enter();
    else if (event.key === "Escape") close();
    else if (event.key === "Tab") {
      input.value = model.get("offers")[at]?.phrase ?? input.value;
      type(input.value);
    } else return;
    event.preventDefault();
    show();
  });

  const dismiss = () => {
    note.hidden = true;
  };
  const stay = () => clearTimeout(timer);
  const leave = () => {
    clearTimeout(timer);
    timer = window.setTimeout(dismiss, STAYS);
  };
  /** The note stands over the messages at the chart's lower edge, however many there are. */
  const rise = () => {
    const found = root();
    const tops = [...(found?.querySelectorAll(STACKED) ?? [])]
      .filter((each) => each.getBoundingClientRect().height)
      .map((each) => each.getBoundingClientRect().top);
    const free = found && tops.length ? found.getBoundingClientRect().bottom - Math.min(...tops) + 6 : 0;
    note.style.bottom = free ? `${free}px` : "";
  };
  const rising = new ResizeObserver(rise);
  let heard = model.get("done").number ?? 0;
  const tell = () => {
    const { number = 0, text = "", effect: by = "", redo = false } = model.get("done");
    if (number === heard) return;
    heard = number;
    said.textContent = said.title = text;
    effect.textContent = by;
    undo.textContent = redo ? "Redo" : "Undo";
    note.hidden = !text;
    for (const each of root()?.querySelectorAll(STACKED) ?? []) rising.observe(each);
    rise();
    leave();
  };
  for (const type of ["pointerenter", "focusin"] as const) listen(note, type, stay);
  for (const type of ["pointerleave", "focusout"] as const) listen(note, type, leave);
  listen(undo, "click", () => {
    model.send({ kind: model.get("done").redo ? "redo" : "undo" });
    dismiss();
  });
  listen(away, "click", dismiss);

  const attach = () => {
    const found = root();
    if (!found) return;
    found.append(over);
    found.dataset.lmSuppressShortcuts = "true";
    found.tabIndex = -1; // a click beside all controls leaves the keys to the explorer
    mark();
    const pressed = (event: KeyboardEvent) => {
      if (isForChart(event, event.target, found)) {
        const stage = found.querySelector<HTMLElement>(".pl-gantt .stage");
        stage?.focus({ preventScroll: true });
        stage?.dispatchEvent(new KeyboardEvent("keydown", { key: event.key, shiftKey: event.shiftKey }));
        return event.preventDefault();
      }
      const command = commandOf(event);
      if (!command || (command !== "open" && isTyping(event.target))) return;
      event.preventDefault();
      event.stopPropagation();
      if (command === "open") open();
      else model.send({ kind: command });
    };
    listen(found, "keydown", pressed, { signal, capture: true });
    listen(found, "focusout", ({ target, relatedTarget }) => !relatedTarget && keepKeys(found, target as Element), {
      signal,
    });
    listen(found, "pointerdown", ({ target }) => !dialog.contains(target as Node) && close(), { signal });
  };
  requestAnimationFrame(attach); // the page attaches the element only now
  const forget = watchTheme(mark);
  model.on("change:offers", show);
  model.on("change:answers", answered);
  model.on("change:done", tell);
  return () => {
    ending.abort();
    rising.disconnect();
    clearTimeout(timer);
    forget();
    over.remove();
    model.off("change:offers", show);
    model.off("change:answers", answered);
    model.off("change:done", tell);
  };
};

export default { render };
