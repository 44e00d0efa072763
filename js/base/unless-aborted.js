/** Waits for a caller's function as long as a signal allows it. */

/**
 * Waits for a listener, or for the signal: a listener may never settle.
 * @template T
 * @param {T | Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T | undefined>}
 */
export async function unlessAborted(promise, signal) {
  if (!signal || typeof (/** @type {any} */ (promise)?.then) !== 'function') return await promise;
  const listening = new AbortController();
  const aborted = new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { signal: listening.signal });
    if (signal.aborted) resolve(undefined);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    listening.abort();
  }
}
