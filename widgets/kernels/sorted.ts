/** Items in the order of their values. Pure. */

const FEW = 500; // items up to which comparing them is the quicker way
const DIGIT = 11; // bits: three digits in a word, of which the last has one less
const WAYS = 1 << DIGIT;
const SIGN = 0x8000_0000;

/** 0 to n - 1. */
export function numbers(n: number): Int32Array {
  const all = new Int32Array(n);
  for (let i = 0; i < n; i++) all[i] = i;
  return all;
}

/**
 * The items by ascending value, those of equal value in the order in which they are given; by default all, by number.
 *
 * Many are sorted digit by digit of the bits of their values: in a tenth of the time that comparing them takes.
 */
export function ascending(values: Float64Array, items = numbers(values.length)): Int32Array {
  const n = items.length;
  if (n <= FEW) return items.slice().sort((a, b) => values[a]! - values[b]!);
  const words = new Uint32Array(2 * n); // of the values of the items as they were given, the lower word first
  const floats = new Float64Array(words.buffer);
  for (let i = 0; i < n; i++) {
    floats[i] = values[items[i]!]! + 0; // -0 is 0
    const negative = words[2 * i + 1]! & SIGN;
    if (negative) words[2 * i] = ~words[2 * i]!;
    words[2 * i + 1] = negative ? ~words[2 * i + 1]! : words[2 * i + 1]! | SIGN;
  }
  let from: Int32Array = numbers(n);
  let to: Int32Array = new Int32Array(n);
  const first = new Int32Array(WAYS);
  for (let digit = 0; digit < 6; digit++) {
    const word = digit < 3 ? 0 : 1;
    const shift = (digit % 3) * DIGIT;
    first.fill(0);
    for (let i = word; i < 2 * n; i += 2) first[(words[i]! >>> shift) & (WAYS - 1)]! += 1;
    if (first[(words[word]! >>> shift) & (WAYS - 1)] === n) continue; // all have the same one
    let total = 0;
    for (let way = 0; way < WAYS; way++) {
      const count = first[way]!;
      first[way] = total;
      total += count;
    }
    for (let i = 0; i < n; i++) {
      const item = from[i]!;
      const way = (words[2 * item + word]! >>> shift) & (WAYS - 1);
      to[first[way]!] = item;
      first[way]! += 1;
    }
    [from, to] = [to, from];
  }
  for (let i = 0; i < n; i++) to[i] = items[from[i]!]!;
  return to;
}
