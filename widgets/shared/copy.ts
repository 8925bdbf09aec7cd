/** The clipboard. */

/** Whether copying succeeded; otherwise the text is selected, so that the user can copy it. */
export async function copy(code: string, element: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code);
    return true;
  } catch {
    getSelection()?.selectAllChildren(element);
    return false;
  }
}
