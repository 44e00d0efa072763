/** Numbers that look like chance and are the same everywhere: the fraction of sin(12.9898 i) · 43758.5453. */

/** In 0 … 1. @param {number} i */
export function noise(i) {
  const x = Math.sin(12.9898 * i) * 43758.5453;
  return x - Math.floor(x);
}

/** In −1 … 1. @param {number} first @param {number} count */
export const noises = (first, count) => Float32Array.from({ length: count }, (_, i) => 2 * noise(first + i) - 1);
