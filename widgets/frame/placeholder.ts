/**
 * A placeholder for the explorer's widget in the notebook's metadata. JupyterLab looks there for a widget whose kernel has ended,
 * and logs an error where it finds none; a widget that lives, as after the page is loaded again, comes before it.
 */

const WIDGETS = "widgets"; // key of the metadata
const STATE = "application/vnd.jupyter.widget-state+json";
const VIEW = "application/vnd.jupyter.widget-view+json";
const CONTROLS = { model_module: "@jupyter-widgets/controls", model_module_version: "2.0.0" };
const MARK = "<!-- placelab explorer -->"; // by which placeholders are known
const EMPTY = { ...CONTROLS, model_name: "HTMLModel", state: { value: MARK } }; // the saved picture below shows what there was

type Models = Record<string, { state?: { value?: unknown } }>;
interface Saved {
  state: Models;
  version_major: number;
  version_minor: number;
}
interface Outputs {
  length: number;
  get(index: number): { data: Record<string, unknown> };
}
/** What is used here of JupyterLab's INotebookModel. */
export interface NotebookModel {
  cells: Iterable<{ outputs?: Outputs }>;
  getMetadata(key: string): unknown;
  setMetadata(key: string, value: unknown): void;
}

/** The notebook of a widget manager; undefined where it is not JupyterLab's or Notebook 7's. */
export function notebookOf(manager: unknown): NotebookModel | undefined {
  const model = (manager as { context?: { model?: NotebookModel } } | undefined)?.context?.model;
  return typeof model?.setMetadata === "function" ? model : undefined; // other hosts may have a context of their own
}

/** Keep a placeholder for the widget `id`, and forget those whose output the notebook no longer has. */
export function keepPlaceholder(notebook: NotebookModel, id: string): void {
  const widgets = (notebook.getMetadata(WIDGETS) ?? {}) as Record<string, Saved>;
  const { state: models = {}, ...version } = widgets[STATE] ?? { version_major: 2, version_minor: 0 };
  const shown = shownIn(notebook).add(id);
  const state = Object.fromEntries(
    Object.entries(models).filter(([key, model]) => shown.has(key) || model.state?.value !== MARK),
  );
  state[id] ??= EMPTY; // JupyterLab may have saved the widget itself
  if (Object.keys(state).join() !== Object.keys(models).join()) {
    notebook.setMetadata(WIDGETS, { ...widgets, [STATE]: { ...version, state } });
  }
}

/** The widgets that the notebook's outputs show. */
function shownIn({ cells }: NotebookModel): Set<string> {
  const ids = new Set<string>();
  for (const { outputs } of cells)
    for (let i = 0; i < (outputs?.length ?? 0); i++) {
      const view = outputs!.get(i).data[VIEW] as { model_id?: string } | undefined;
      if (view?.model_id) ids.add(view.model_id);
    }
  return ids;
}
