/**
 * Pixels in another size, as Pillow's BILINEAR filter gives them, to the bit: a triangle as wide as the scale, so
 * nothing is skipped when a picture becomes smaller. All of it is integer arithmetic, the same in every browser.
 */

/**
 * @typedef {{ data: Uint8Array, width: number, height: number, channels: number }} Picture its pixels one after another
 * @typedef {{ first: number, weights: Int32Array }[]} Taps for each new pixel: the first old one, and how much of each
 */

/** Bits after the point of a weight: with a byte's eight and a sign it makes 31. */
const BITS = 22;
const HALF = 1 << (BITS - 1);

/** @param {number} x */
const triangle = (x) => Math.max(0, 1 - Math.abs(x));

/**
 * @param {number} size
 * @param {number} wanted
 * @param {number} from
 * @param {number} count of the new pixels
 * @returns {Taps}
 */
const tapsOf = (size, wanted, from, count) =>
  Array.from({ length: count }, (_, i) => tapsAt(from + i, size, size / wanted));

/** @param {number} at @param {number} size @param {number} scale */
function tapsAt(at, size, scale) {
  const width = Math.max(scale, 1);
  const center = (at + 0.5) * scale;
  const first = Math.max(0, Math.trunc(center - width + 0.5));
  const end = Math.min(size, Math.trunc(center + width + 0.5));
  const shares = Array.from({ length: end - first }, (_, i) => triangle((i + first - center + 0.5) * (1 / width)));
  const sum = shares.reduce((total, share) => total + share, 0);
  return { first, weights: Int32Array.from(shares, (share) => 0.5 + (share / sum) * (1 << BITS)) };
}

/**
 * The part of a picture, `width` × `height` from `left` and `top`, that it would have if it were `across` × `down`.
 * @param {Picture} picture
 * @param {{ across: number, down: number, left: number, top: number, width: number, height: number }} wanted
 * @returns {Picture}
 */
export function resize(picture, { across, down, left, top, width, height }) {
  const rows = tapsOf(picture.height, down, top, height);
  const last = rows[height - 1];
  const [from, to] = [rows[0].first, last.first + last.weights.length];
  const narrow = alongRows(picture, tapsOf(picture.width, across, left, width), from, to);
  return alongColumns(narrow, rows, from);
}

/**
 * Resizes the rows `from` … `to` alone.
 * @param {Picture} picture
 * @param {Taps} taps
 * @param {number} from
 * @param {number} to
 */
function alongRows({ data, width, channels }, taps, from, to) {
  const made = new Uint8Array((to - from) * taps.length * channels);
  const row = channels === 3 ? rowOfColours : rowOfGrey;
  for (let y = from; y < to; y++) row(data, y * width * channels, taps, made, (y - from) * taps.length * channels);
  return { data: made, width: taps.length, height: to - from, channels };
}

/** @param {Uint8Array} data @param {number} start @param {Taps} taps @param {Uint8Array} made @param {number} to */
function rowOfColours(data, start, taps, made, to) {
  for (let n = 0, at = to; n < taps.length; n++, at += 3) {
    const { first, weights } = taps[n];
    let red = HALF,
      green = HALF,
      blue = HALF;
    for (let i = 0, old = start + 3 * first; i < weights.length; i++, old += 3) {
      const weight = weights[i];
      red += data[old] * weight;
      green += data[old + 1] * weight;
      blue += data[old + 2] * weight;
    }
    made[at] = red >> BITS;
    made[at + 1] = green >> BITS;
    made[at + 2] = blue >> BITS;
  }
}

/** @param {Uint8Array} data @param {number} start @param {Taps} taps @param {Uint8Array} made @param {number} to */
function rowOfGrey(data, start, taps, made, to) {
  for (let n = 0; n < taps.length; n++) {
    const { first, weights } = taps[n];
    let sum = HALF;
    for (let i = 0; i < weights.length; i++) sum += data[start + first + i] * weights[i];
    made[to + n] = sum >> BITS;
  }
}

/**
 * Sums of whole rows, which memory has side by side.
 * @param {Picture} picture whose first row is `from`
 * @param {Taps} taps
 * @param {number} from
 */
function alongColumns({ data, width, channels }, taps, from) {
  const row = width * channels;
  const made = new Uint8Array(taps.length * row);
  const sums = new Int32Array(row);
  taps.forEach(({ first, weights }, y) => {
    sums.fill(HALF);
    for (let i = 0, old = (first - from) * row; i < weights.length; i++, old += row) {
      const weight = weights[i];
      for (let x = 0; x < row; x++) sums[x] += data[old + x] * weight;
    }
    for (let x = 0; x < row; x++) made[y * row + x] = sums[x] >> BITS;
  });
  return { data: made, width, height: taps.length, channels };
}
