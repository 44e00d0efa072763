/** How fast a fit is: examples in the time that went into training them. */

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

  /** What events tell. @param {number} savingMs that saves took @param {number} [left] batches */
  tell(savingMs, left) {
    const elapsed = performance.now() - this.#startedAt;
    return {
      samplesPerSecond: (1000 * this.#examples) / Math.max(1, elapsed - this.#awayMs - savingMs),
      etaMs: left === undefined ? undefined : (left * elapsed) / Math.max(1, this.#batches),
    };
  }
}
