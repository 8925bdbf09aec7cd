/** The explorer's one help: what keys and pointer do in all its views. */
import { useEffect, useRef } from "preact/hooks";
import { KEY_HELP as DECISIONS } from "../decisions/index.ts";
import { KEY_HELP as CHART } from "../gantt/index.ts";
import { KEY_HELP as GRAPH } from "../graph/index.ts";
import { HELP, subscribe } from "../shared/bus.ts";
import { isTyping } from "../shared/keys.ts";
import { rowsOf } from "./help.ts";

const ANYWHERE =
  "Ctrl+K: type what is to be done · Ctrl+Z, Ctrl+Shift+Z: undo, redo · arrows, Space, /, w a s d: go to the chart · ?: this help · Esc: close";
const CLUSTER =
  "pull a value: change it · drag a device: to another host, or out of its own · double-click: type a value or a name · " +
  "arrows: change the value, move the device · Page ↑, ↓: double, halve · Enter: type the value · m: memory · h: next host · " +
  "F2: rename · Ctrl+D: copy · Delete: remove";
const TABLES = "arrows: cell by cell, row by row · Enter: show it, select its op · K: keep a plan of Job";
const SECTIONS = Object.entries({
  Anywhere: ANYWHERE,
  Cluster: CLUSTER,
  Chart: CHART,
  Graph: GRAPH,
  Decisions: DECISIONS,
  "Comparison, What matters, Difference, plans": TABLES,
});

export function Help({ root }: { root: HTMLElement }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => dialog.current?.close();
  useEffect(() => {
    const open = () => dialog.current?.open || dialog.current?.showModal();
    const key = (event: KeyboardEvent) => {
      if (event.key !== "?" || isTyping(event.target)) return;
      event.preventDefault();
      open();
    };
    const beside = ({ target }: Event) => target === dialog.current && close();
    root.addEventListener("click", beside);
    root.addEventListener("keydown", key, true);
    const silence = subscribe(root, HELP, open);
    return () => {
      root.removeEventListener("click", beside);
      root.removeEventListener("keydown", key, true);
      silence();
    };
  }, [root]);
  return (
    <dialog class="pl-help" aria-label="Help" ref={dialog}>
      <div>
        <button type="button" class="pl-button" title="Close (Esc)" aria-label="Close the help" onClick={close}>
          ✕
        </button>
        {SECTIONS.map(([title, keys]) => (
          <section key={title}>
            <h2>{title}</h2>
            <dl>
              {rowsOf(keys).map(([pressed, does]) => (
                <div key={pressed}>
                  <dt>{pressed}</dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
