/**
 * Local differential privacy: the update of each round is clipped to a norm, noise of the normal distribution is added,
 * and the rounds are counted.
 */

import { checkKeys, invalid, nameOf } from '../base/errors.js';
import { epsilonOf } from './accountant.js';

/** @import { PrivacyOptions, PrivacyState } from '../types/federated/index.js' */
/** @typedef {(room: Uint32Array<ArrayBuffer>) => unknown} Random fills it with random bits */

export const PRIVACY_KEYS = /** @type {const} */ ([
  ...['clippingNorm', 'noiseMultiplier', 'delta', 'maxEpsilon', 'spent', 'onSpend'],
]);
/** Two updates within a norm are at most so many norms apart. */
const APART = 2;
/** Numbers of 32 bits that crypto.getRandomValues gives at once. */
const AT_ONCE = 16_384;

/** @type {Random} */
const cryptographic = (room) => crypto.getRandomValues(room);

/** The privacy of a node, and how much of it is spent. */
export class Privacy {
  #options;
  #rounds;

  /** @param {PrivacyOptions} options */
  constructor(options) {
    checkKeys('privacy', options, PRIVACY_KEYS);
    const { clippingNorm, noiseMultiplier, delta, maxEpsilon = Infinity, spent = 0, onSpend = () => {} } = options;
    const positive = { clippingNorm, noiseMultiplier, delta, maxEpsilon };
    for (const [key, value] of Object.entries(positive))
      if (!(value > 0)) throw invalid(`privacy.${key} must be a number above 0, not ${nameOf(value)}`);
    if (!(delta < 1)) throw invalid(`privacy.delta must be below 1, not ${delta}`);
    if (!Number.isSafeInteger(spent) || spent < 0)
      throw invalid(`privacy.spent must be a whole number from 0, not ${nameOf(spent)}`);
    this.#options = { clippingNorm, noiseMultiplier, delta, maxEpsilon, onSpend };
    this.#rounds = spent;
  }

  get clippingNorm() {
    return this.#options.clippingNorm;
  }

  /** @param {number} rounds */
  #epsilonAfter(rounds) {
    const { noiseMultiplier, delta } = this.#options;
    return epsilonOf({ noiseMultiplier: noiseMultiplier / APART, rounds, delta });
  }

  /** @returns {PrivacyState} */
  get state() {
    const { delta, maxEpsilon } = this.#options;
    const rounds = this.#rounds;
    return { epsilon: this.#epsilonAfter(rounds), next: this.#epsilonAfter(rounds + 1), delta, maxEpsilon, rounds };
  }

  get isSpent() {
    const { next, maxEpsilon } = this.state;
    return next > maxEpsilon;
  }

  /** Refuses another round that the budget does not allow. */
  check() {
    const { next, maxEpsilon, rounds } = this.state;
    if (next > maxEpsilon)
      throw invalid(
        `the privacy budget is spent: after ${rounds} rounds, another would make ε ${next.toFixed(2)} of ${maxEpsilon}`,
      );
  }

  /**
   * The parameters with the clipped update and noise, which counts from now on, sent or not.
   * @param {Float32Array} start @param {Float32Array} flat
   */
  async protect(start, flat) {
    this.#rounds++;
    await this.#options.onSpend(this.#rounds);
    const { clippingNorm, noiseMultiplier } = this.#options;
    return withNoise(clipped(start, flat, clippingNorm), noiseMultiplier * clippingNorm);
  }
}

/**
 * Parameters whose update, what they are away from the start, has at most that Euclidean norm.
 * @param {Float32Array} start @param {Float32Array} flat @param {number} norm
 */
export function clipped(start, flat, norm) {
  const squares = flat.reduce((sum, x, i) => sum + (x - start[i]) ** 2, 0);
  const scale = Math.min(1, norm / Math.sqrt(squares));
  return scale === 1 ? flat : flat.map((x, i) => start[i] + scale * (x - start[i]));
}

/**
 * Numbers with noise of the normal distribution, by Box and Muller, from 64 random bits a number.
 * @param {Float32Array} flat @param {number} deviation @param {Random} [random] crypto's by default
 */
export function withNoise(flat, deviation, random = cryptographic) {
  const noisy = new Float32Array(flat.length);
  const room = new Uint32Array(AT_ONCE);
  for (let start = 0; start < flat.length; start += AT_ONCE / 2) {
    random(room);
    const end = Math.min(flat.length, start + AT_ONCE / 2);
    for (let i = start; i < end; i += 2) {
      const at = 2 * (i - start);
      const radius = deviation * Math.sqrt(-2 * Math.log(unit(room[at], room[at + 1])));
      const angle = 2 * Math.PI * unit(room[at + 2], room[at + 3]);
      noisy[i] = flat[i] + radius * Math.cos(angle);
      if (i + 1 < end) noisy[i + 1] = flat[i + 1] + radius * Math.sin(angle);
    }
  }
  return noisy;
}

/** A number above 0 and up to 1, of 53 bits. @param {number} high @param {number} low */
const unit = (high, low) => (high * 2 ** 21 + (low >>> 11) + 1) / 2 ** 53;
