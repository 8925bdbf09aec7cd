import { expect, test } from "vitest";
import { keepPlaceholder, type NotebookModel, notebookOf } from "./placeholder.ts";

const VIEW = "application/vnd.jupyter.widget-view+json";
const STATE = "application/vnd.jupyter.widget-state+json";

class Notebook implements NotebookModel {
  written = 0;
  // biome-ignore lint/suspicious/noExplicitAny: as deep as whoever wrote it likes
  metadata: Record<string, any> = {};
  cells: { outputs?: { length: number; get(index: number): { data: Record<string, unknown> } } }[];

  constructor(...ids: string[]) {
    this.cells = [
      {},
      ...ids.map((model_id) => ({ outputs: { length: 1, get: () => ({ data: { [VIEW]: { model_id } } }) } })),
    ];
  }

  getMetadata(key: string): unknown {
    return this.metadata[key];
  }

  setMetadata(key: string, value: unknown): void {
    this.metadata[key] = value;
    this.written++;
  }

  get models(): string[] {
    return Object.keys(this.metadata.widgets[STATE].state);
  }
}

test("a placeholder is written once", () => {
  const notebook = new Notebook("a");
  keepPlaceholder(notebook, "a");
  keepPlaceholder(notebook, "a");
  expect(notebook.models).toEqual(["a"]);
  expect(notebook.written).toBe(1);
  expect(notebook.metadata.widgets[STATE]).toMatchObject({ version_major: 2, version_minor: 0 });
});

test("the placeholder of an output that has gone goes, that of another explorer stays", () => {
  const notebook = new Notebook("old", "other");
  keepPlaceholder(notebook, "old");
  keepPlaceholder(notebook, "other");
  notebook.cells = new Notebook("new", "other").cells;
  keepPlaceholder(notebook, "new");
  expect(notebook.models).toEqual(["other", "new"]);
});

test("what JupyterLab or others have saved stays as it is", () => {
  const notebook = new Notebook("a");
  const slider = { model_name: "IntSliderModel", state: { value: 3 } };
  const itself = { model_name: "VBoxModel", state: { children: [] } };
  notebook.metadata.widgets = {
    [STATE]: { version_major: 2, version_minor: 0, state: { slider, a: itself } },
    other: 1,
  };
  keepPlaceholder(notebook, "a");
  expect(notebook.written).toBe(0);
  keepPlaceholder(notebook, "b");
  expect(notebook.metadata.widgets[STATE].state).toMatchObject({ slider, a: itself });
  expect(notebook.metadata.widgets.other).toBe(1);
});

test("the notebook of a widget manager, of JupyterLab's alone", () => {
  const notebook = new Notebook();
  expect(notebookOf({ context: { model: notebook } })).toBe(notebook);
  for (const other of [undefined, {}, { context: {} }, { context: { model: { cells: [] } } }])
    expect(notebookOf(other)).toBeUndefined();
});
