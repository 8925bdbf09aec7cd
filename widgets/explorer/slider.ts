/** The numbers of a slider, steps of one size or of powers of ten. Pure. */
export interface Range {
  min: number;
  max: number;
  step: number;
  /** Whether `min` itself is not allowed; sliders for whole numbers have none of it. */
  above?: boolean;
}

/** The lower end of the slider itself. */
export const begin = ({ min, step, above = false }: Range): number => (above ? min + step : min);

/** The value at a place of the slider, in three digits where it is a power of ten. */
export function valueAt(place: number, range: Range, powers: boolean): number {
  return powers ? inside(Number((10 ** place).toPrecision(3)), range, powers) : place;
}

/** What is typed, or the nearest value of the slider. */
export function inside(value: number, range: Range, powers: boolean): number {
  const real = (place: number) => (powers ? 10 ** place : place);
  const { min, max, above } = range;
  if (above ? value <= real(min) : value < real(min)) return real(begin(range));
  return Math.min(value, real(max));
}
