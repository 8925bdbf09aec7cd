/** How dark a cell of the plane is. Pure. */

/** From 0 for the slowest to 1 for the fastest, by the logarithm of seconds. */
export function shade(seconds: number, all: readonly number[]): number {
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return most > least ? Math.log(most / seconds) / Math.log(most / least) : 1;
}

/** The number that an arrow key leads to in a grid of so many rows and columns; the same where there is none. */
export function stepped(at: number, key: string, rows: number, columns: number): number {
  const [row, column] = [Math.floor(at / columns), at % columns];
  const moves: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    Home: [-row, -column],
    End: [rows - 1 - row, columns - 1 - column],
  };
  const [down, right] = moves[key] ?? [0, 0];
  const clamp = (value: number, most: number) => Math.min(Math.max(value, 0), most);
  return clamp(row + down, rows - 1) * columns + clamp(column + right, columns - 1);
}
