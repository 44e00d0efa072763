/** The discrete Fourier transform, of any length, in doubles. */

/** @typedef {(re: Float64Array, im: Float64Array) => void} Transform in place */

/** @param {number} length @returns {Transform} */
export const fourier = (length) => (Number.isInteger(Math.log2(length)) ? radix2(length) : chirp(length));

/**
 * Cooley and Tukey's, of a power of two: bits reversed, then butterflies of 2, 4, 8 …
 * @param {number} length
 * @returns {Transform}
 */
function radix2(length) {
  const bits = Math.log2(length);
  const reversed = Uint32Array.from({ length }, (_, i) => {
    let to = 0;
    for (let bit = 0; bit < bits; bit++) to |= ((i >> bit) & 1) << (bits - 1 - bit);
    return to;
  });
  const cos = Float64Array.from({ length: length / 2 }, (_, i) => Math.cos((2 * Math.PI * i) / length));
  const sin = Float64Array.from({ length: length / 2 }, (_, i) => -Math.sin((2 * Math.PI * i) / length));
  return (re, im) => {
    reversed.forEach((to, from) => {
      if (to <= from) return;
      [re[from], re[to]] = [re[to], re[from]];
      [im[from], im[to]] = [im[to], im[from]];
    });
    for (let half = 1; half < length; half *= 2) {
      const step = length / half / 2;
      for (let start = 0; start < length; start += 2 * half) {
        for (let i = 0; i < half; i++) {
          const [a, b] = [start + i, start + i + half];
          const [c, s] = [cos[i * step], sin[i * step]];
          const x = re[b] * c - im[b] * s,
            y = re[b] * s + im[b] * c;
          re[b] = re[a] - x;
          im[b] = im[a] - y;
          re[a] += x;
          im[a] += y;
        }
      }
    }
  };
}

/**
 * Bluestein's, of any other length n: with w = e^(−πi/n), X_k = w^k² Σ (x_j w^j²) w^−(k−j)², a convolution, which is a
 * product of longer transforms.
 * @param {number} length
 * @returns {Transform}
 */
function chirp(length) {
  const long = 2 ** Math.ceil(Math.log2(2 * length - 1));
  const transform = radix2(long);
  const angle = (/** @type {number} */ i) => (Math.PI * ((i * i) % (2 * length))) / length;
  const cos = Float64Array.from({ length }, (_, i) => Math.cos(angle(i)));
  const sin = Float64Array.from({ length }, (_, i) => -Math.sin(angle(i)));
  const [kernelRe, kernelIm] = [new Float64Array(long), new Float64Array(long)];
  for (let i = 0; i < length; i++) {
    kernelRe[i] = kernelRe[(long - i) % long] = cos[i];
    kernelIm[i] = kernelIm[(long - i) % long] = -sin[i];
  }
  transform(kernelRe, kernelIm);
  const [re, im] = [new Float64Array(long), new Float64Array(long)];
  return (real, imaginary) => {
    re.fill(0);
    im.fill(0);
    for (let i = 0; i < length; i++) {
      re[i] = real[i] * cos[i] - imaginary[i] * sin[i];
      im[i] = real[i] * sin[i] + imaginary[i] * cos[i];
    }
    transform(re, im);
    for (let i = 0; i < long; i++) {
      const product = re[i] * kernelRe[i] - im[i] * kernelIm[i];
      im[i] = -(re[i] * kernelIm[i] + im[i] * kernelRe[i]); // conjugated: the way back is the way forth
      re[i] = product;
    }
    transform(re, im);
    for (let i = 0; i < length; i++) {
      const [x, y] = [re[i] / long, -im[i] / long];
      real[i] = x * cos[i] - y * sin[i];
      imaginary[i] = x * sin[i] + y * cos[i];
    }
  };
}
