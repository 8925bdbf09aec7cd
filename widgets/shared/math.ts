/** The functions of `Math` by their own names, which a minifier can shorten. */
export const abs = Math.abs;
export const ceil = Math.ceil;
export const floor = Math.floor;
export const hypot = Math.hypot;
export const log = Math.log;
export const log10 = Math.log10;
export const max = Math.max;
export const min = Math.min;
export const round = Math.round;
export const sign = Math.sign;
export const sqrt = Math.sqrt;
