/** Columns made number by number: several times as fast as `from` of typed arrays with a function. */

export function float64(n: number, f: (i: number) => number): Float64Array<ArrayBuffer> {
  const made = new Float64Array(n);
  for (let i = 0; i < n; i++) made[i] = f(i);
  return made;
}

export function float32(n: number, f: (i: number) => number): Float32Array<ArrayBuffer> {
  const made = new Float32Array(n);
  for (let i = 0; i < n; i++) made[i] = f(i);
  return made;
}
