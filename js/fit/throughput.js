/** The throughput of a fit: examples by the time that training them took. */

export class Throughput {
  #startedAt = performance.now();
  #awayMs = 0;
  #examples = 0;
  #batches = 0;

  /** A batch of so many is done. @param {number} examples */
  add(examples) {
    this.#examples += examples;
    this.#batches++;
  }

  /** Time in which nothing was trained. @param {number} ms */
  leaveOut(ms) {
    this.#awayMs += ms;
  }

  /** The throughput fields of an event. @param {number} savingMs that saves took @param {number} [left] batches */
  tell(savingMs, left) {
    const elapsed = performance.now() - this.#startedAt;
    return {
      samplesPerSecond: (1000 * this.#examples) / Math.max(1, elapsed - this.#awayMs - savingMs),
      etaMs: left === undefined ? undefined : (left * elapsed) / Math.max(1, this.#batches),
    };
  }
}
