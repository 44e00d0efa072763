/** Waits for a caller's function as long as a signal allows it. */

/**
 * Waits for a listener, or for the signal: a listener may never settle.
 * @template T
 * @param {T | Promise<T>} given
 * @param {AbortSignal} [signal]
 * @returns {Promise<T | undefined>}
 */
export async function unlessAborted(given, signal) {
  if (!signal || typeof (/** @type {any} */ (given)?.then) !== 'function') return await given;
  const listening = new AbortController();
  const aborted = new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { signal: listening.signal });
    if (signal.aborted) resolve(undefined);
  });
  try {
    return await Promise.race([given, aborted]);
  } finally {
    listening.abort();
  }
}
