/** The length of a fit in epochs, batches and steps of the optimizer. */

export class Extent {
  epochs;
  accumulate;
  /** Batches of an epoch; a stream's first epoch does not know them. @type {number | undefined} */
  batches;
  /** Steps that other calls did. */
  firstStep = 0;
  #maxSteps;

  /** @param {{ epochs: number, accumulate: number, maxSteps?: number }} options */
  constructor({ epochs, accumulate, maxSteps = Infinity }) {
    this.epochs = epochs;
    this.accumulate = accumulate;
    this.#maxSteps = maxSteps;
  }

  get stepsPerEpoch() {
    return Math.ceil(/** @type {number} */ (this.batches) / this.accumulate);
  }

  /** Steps of the whole fit, in one call or several. */
  get wholeSteps() {
    return this.batches === undefined ? undefined : this.epochs * this.stepsPerEpoch;
  }

  get lastStep() {
    const last = Math.min(this.wholeSteps ?? Infinity, this.firstStep + this.#maxSteps);
    return last === Infinity ? undefined : last;
  }

  /** @param {number} epoch @param {number} batch @param {number} steps of this call so far */
  batchesLeft(epoch, batch, steps) {
    const cap = (this.#maxSteps - steps) * this.accumulate;
    const left = this.batches === undefined ? Infinity : (this.epochs - epoch) * this.batches - batch;
    const least = Math.min(cap, left);
    return least === Infinity ? undefined : least;
  }
}
