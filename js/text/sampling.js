/** Chooses the next token by its scores: transformers' processors, in their order and with their defaults. */

import { checkWhole, invalid, nameOf } from '../base/errors.js';

/** @import { GenerateOptions } from '../types.js' */
/** @typedef {Pick<GenerateOptions, 'temperature' | 'topK' | 'topP' | 'repetitionPenalty' | 'seed'>} Sampling */
/** @typedef {(scores: Float32Array, ids: readonly number[]) => number} Choose the ids are all tokens so far */

/**
 * @param {Sampling} options
 * @returns {Choose}
 */
export function chooserOf(options) {
  const { temperature = 0, topK, topP, repetitionPenalty = 1, seed } = options;
  needNumber('temperature', temperature, (t) => t >= 0, 'of at least 0');
  needNumber('repetitionPenalty', repetitionPenalty, (p) => p > 0, 'above 0');
  if (topK !== undefined) checkWhole('generate: topK', topK, 0);
  if (topP !== undefined) needNumber('topP', topP, (p) => p > 0 && p <= 1, 'above 0 and at most 1');
  if (seed !== undefined) checkWhole('generate: seed', seed, 0);
  const stray = Object.entries({ topK, topP, seed }).find(([, value]) => value !== undefined && !temperature);
  if (stray) throw invalid(`generate: ${stray[0]} is for a temperature above 0; without one the best token is taken`);
  if (!temperature) return (scores, ids) => largest(penalized(scores, ids, repetitionPenalty));
  const draw = drawing(seed ?? crypto.getRandomValues(new Uint32Array(1))[0]);
  return (scores, ids) => pick(probabilities(scores, ids, options), draw(ids.length));
}

/** @param {string} name @param {unknown} value @param {(value: number) => boolean} fits @param {string} wanted */
function needNumber(name, value, fits, wanted) {
  if (typeof value !== 'number' || !Number.isFinite(value) || !fits(value))
    throw invalid(`generate: ${name} must be a number ${wanted}, not ${nameOf(value)}`);
}

/**
 * The probabilities of the next token: softmax(scores / temperature) of those that are left.
 * @param {Float32Array} scores @param {readonly number[]} ids @param {Sampling} options
 */
export function probabilities(scores, ids, { temperature = 1, topK = 50, topP = 1, repetitionPenalty = 1 }) {
  const left = new Float64Array(penalized(scores, ids, repetitionPenalty)).map((score) => score / temperature);
  if (topK && topK < left.length) keepBest(left, topK);
  return topP < 1 ? withoutTail(softmax(left), topP) : softmax(left);
}

/**
 * Applies the repetition penalty to tokens so far: positive scores are divided, negative ones multiplied. Without a
 * penalty the scores
 * themselves.
 * @param {Float32Array} scores @param {readonly number[]} ids @param {number} by
 * @returns {Float32Array | Float64Array}
 */
function penalized(scores, ids, by) {
  if (by === 1) return scores;
  const changed = new Float64Array(scores);
  for (const id of new Set(ids)) changed[id] = scores[id] > 0 ? scores[id] / by : scores[id] * by;
  return changed;
}

/** Keeps the scores as good as the k-th best. @param {Float64Array} scores @param {number} k */
function keepBest(scores, k) {
  const least = ranked(scores.slice(), scores.length - k);
  for (let i = 0; i < scores.length; i++) if (scores[i] < least) scores[i] = -Infinity;
}

/** The value at a position if all were sorted (Hoare's selection). @param {Float64Array} row @param {number} place */
function ranked(row, place) {
  let [low, high] = [0, row.length - 1];
  while (low < high) {
    const pivot = row[(low + high) >> 1];
    let [i, j] = [low, high];
    while (i <= j) {
      while (row[i] < pivot) i++;
      while (row[j] > pivot) j--;
      if (i > j) break;
      const score = row[i];
      row[i++] = row[j];
      row[j--] = score;
    }
    if (place <= j) high = j;
    else if (place >= i) low = i;
    else break;
  }
  return row[place];
}

/** @param {Float64Array} scores */
function softmax(scores) {
  const most = scores[largest(scores)];
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((all, power) => all + power, 0);
  return powers.map((power) => power / sum);
}

/**
 * Leaves out the least likely, as long as those left have `share` of all.
 * @param {Float64Array} p @param {number} share
 */
function withoutTail(p, share) {
  const order = Array.from(p.keys()).filter((i) => p[i] > 0);
  order.sort((a, b) => p[a] - p[b]);
  let tail = 0;
  for (const i of order.slice(0, -1)) {
    tail += p[i];
    if (tail > 1 - share) break;
    p[i] = 0;
  }
  const sum = p.reduce((all, x) => all + x, 0);
  return p.map((x) => x / sum);
}

/** The first of several. @param {Float32Array | Float64Array} row */
function largest(row) {
  let best = 0;
  for (let i = 1; i < row.length; i++) if (row[i] > row[best]) best = i;
  return best;
}

/** @param {Float64Array} p @param {number} at from 0 up to 1 */
function pick(p, at) {
  let last = 0;
  for (let i = 0; i < p.length; i++) {
    if (!p[i]) continue;
    last = i;
    at -= p[i];
    if (at < 0) return i;
  }
  return last; // the sum was rounded below 1
}

/** A number from 0 up to 1 for each place in a text (splitmix32). @param {number} seed */
const drawing = (seed) => (/** @type {number} */ place) => {
  let z = Math.imul(place + 1, 0x9e3779b9) + Math.imul(seed ^ (seed / 2 ** 32), 0x85ebca6b);
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
};
