/** Where a hint lies on no message. Pure. */
interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const GAP = 6; // px

/** How far `hint` has to go down, or with `way` -1 up, until it meets none of the messages. */
export function aside(hint: Box, messages: readonly Box[], way: 1 | -1): number {
  let by = 0;
  const meets = ({ left, top, right, bottom }: Box) =>
    left < hint.right && hint.left < right && top < hint.bottom + by && hint.top + by < bottom;
  for (let met = messages.find(meets); met; met = messages.find(meets))
    by = way > 0 ? met.bottom + GAP - hint.top : met.top - GAP - hint.bottom;
  return by;
}
