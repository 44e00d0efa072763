/** Watches a training for what looks like a mistake: a loss that does not move, gradients that are all 0. */

/** @import { Protocol } from '../engine/protocol.js' */

const STEPS = 50;

export class StallDetector {
  #loss = NaN;
  #same = 0;
  #warnedOfLoss = false;
  #warnedOfGradients = false;

  /**
   * After a step of the optimizer.
   * @param {number} step how many are done
   * @param {Protocol['step']['out']} last its last batch
   * @returns {string | undefined} a warning, each but once
   */
  look(step, { loss, counted, gradientNorm }) {
    this.#same = loss === this.#loss ? this.#same + 1 : 1;
    this.#loss = loss;
    if (
      gradientNorm === 0 &&
      loss !== 0 &&
      counted.some((weight, i) => i % 3 === 1 && weight !== 0) &&
      !this.#warnedOfGradients
    ) {
      this.#warnedOfGradients = true;
      return (
        `fit: all gradients of step ${step} are 0, so nothing is learned from it: ` +
        'an activation is dead or saturated, or the loss does not depend on what trains'
      );
    }
    if (this.#same < STEPS || this.#warnedOfLoss) return undefined;
    this.#warnedOfLoss = true;
    return (
      `fit: the loss has been ${loss} for ${STEPS} steps, so nothing is learned: ` +
      'look at the labels, the learning rate and what trains'
    );
  }
}
