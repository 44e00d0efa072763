/** Waiting that ends: what does not answer has failed. */

/** A tab in the background is called once a minute, one that was suspended after hours: so many seconds count of it. */
const MOST_AT_ONCE = 5;

/**
 * Seconds are counted while the page is awake: one that was suspended has not waited.
 * @template T
 * @param {Promise<T>} work
 * @param {number | (() => number)} seconds that it may take, which may change
 * @param {() => unknown} giveUp gives the error
 */
export async function withTimeout(work, seconds, giveUp) {
  const most = typeof seconds === 'number' ? () => seconds : seconds;
  let waited = 0,
    last = performance.now(),
    timer;
  const late = new Promise((_, reject) => {
    timer = setInterval(() => {
      const now = performance.now();
      waited += Math.max(1, Math.min((now - last) / 1000, MOST_AT_ONCE));
      last = now;
      if (waited >= most()) reject(giveUp());
    }, 1000);
  });
  try {
    return await /** @type {Promise<T>} */ (Promise.race([work, late]));
  } finally {
    clearInterval(timer);
  }
}
