// Reviews of eight words, as indices of a vocabulary of 50: 8 are good, 8 are bad. The last of them is what counts.

/** Numbers from 0 to 1. @param {number} i */
const noise = (i) => (Math.abs(Math.sin(12.9898 * (i + 1))) * 43758.5453) % 1;
const [WORDS, LENGTH, OPINIONS] = [50, 8, 8];

/** @param {number} count @param {number} seed @returns {{ words: number[][], labels: number[] }} */
export function reviews(count, seed) {
  let drawn = 1e5 * seed;
  const draw = (/** @type {number} */ most) => Math.floor(most * noise(drawn++));
  const labels = Array.from({ length: count }, () => draw(2));
  const words = labels.map((label) => {
    const text = Array.from({ length: LENGTH }, () => draw(WORDS));
    const last = draw(LENGTH);
    return text.map((word, i) => {
      if (i === last) return OPINIONS * label + draw(OPINIONS);
      return i > last && word < 2 * OPINIONS ? word + 2 * OPINIONS : word;
    });
  });
  return { words, labels };
}
