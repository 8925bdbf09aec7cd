/** What the help lists. Pure. */

/** The rows of a line as `m: memory · Enter, i: details`: what is pressed, and what it does. */
export function rowsOf(line: string): [string, string][] {
  return line.split(" · ").map((each) => {
    const at = each.indexOf(": ");
    return at < 0 ? ["", each] : [each.slice(0, at), each.slice(at + 2)];
  });
}
