/** The cell that a strategy was defined in: found in the notebook by its text, shown with the line that failed. */
import type { NotebookModel } from "./placeholder.ts";

const NOTEBOOK = ".jp-Notebook";
const SHOWN = 2500; // ms that the cell stays marked

/** Number of the last cell with that text, -1 for none: a cell that is run again may have changed since. */
export function cellWith(source: string, cells: Iterable<Cell>): number {
  const texts = [...cells].map((cell) => cell.sharedModel?.getSource().trim());
  return source.trim() ? texts.lastIndexOf(source.trim()) : -1;
}

/** What is used here of a cell of JupyterLab's notebook. */
export interface Cell {
  readonly sharedModel?: { getSource(): string };
}

/** The element of the cell with that text, in the notebook around `el`; null where the host has no cells, or none like it. */
export function findCell(el: HTMLElement, notebook: NotebookModel | undefined, source: string): HTMLElement | null {
  const number = notebook ? cellWith(source, notebook.cells as Iterable<Cell>) : -1;
  if (number < 0) return null;
  const around = el.closest(NOTEBOOK);
  const windowed = around?.querySelector<HTMLElement>(`.jp-Cell[data-windowed-list-index="${number}"]`);
  return windowed ?? around?.querySelectorAll<HTMLElement>(".jp-Cell")[number] ?? null;
}

/** Scrolls to a cell and marks it and one of its lines, counted from 1, for a moment. */
export function showCell(cell: HTMLElement, line: number): void {
  cell.scrollIntoView({ block: "center" });
  const marked = [cell, cell.querySelectorAll<HTMLElement>(".cm-line")[line - 1]].filter((each) => each !== undefined);
  for (const each of marked) each.style.outline = "2px solid #c4161c";
  setTimeout(() => {
    for (const each of marked) each.style.removeProperty("outline");
  }, SHOWN);
}
