/** Random numbers from a seed, the same in every engine: they use no function whose last bits may differ. */

/** @typedef {() => number} Random gives numbers from 0 up to 1 */

/** Chris Doty-Humphrey's sfc32: 128 bits of state. @param {number} seed @returns {Random} */
export function randomOf(seed) {
  let [a, b, c, count] = [0x9e3779b9, Math.floor(seed / 2 ** 32) | 0, seed | 0, 1];
  const next = () => {
    const sum = (((a + b) | 0) + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

/**
 * Von Neumann's method: the first run of falling numbers below x has an odd length with probability exp(-x).
 * @param {Random} random @param {number} x from 0 to 1
 */
function hasPassed(random, x) {
  for (let last = x, isOdd = true; ; isOdd = !isOdd) {
    const next = random();
    if (next >= last) return isOdd;
    last = next;
  }
}

/**
 * A standard normal number within ±bound: a uniform one is taken with probability exp(-x²/2).
 * @param {Random} random @param {number} bound
 */
export function normal(random, bound) {
  for (;;) {
    const x = bound * (2 * random() - 1);
    const pieces = Math.ceil((x * x) / 2) || 1;
    let isTaken = true;
    for (let i = 0; i < pieces && isTaken; i++) isTaken = hasPassed(random, (x * x) / 2 / pieces);
    if (isTaken) return x;
  }
}
