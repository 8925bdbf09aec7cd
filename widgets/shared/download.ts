/** Files that the browser downloads. */
import { h } from "./dom.ts";

/** Has the browser download `content` as a file of this name. */
export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = h("a", { href: url, download: name }) as HTMLAnchorElement;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
