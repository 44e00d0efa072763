/** The length of what is read, which an engine's memory must be able to hold. */

const MOST_BYTES = 2 ** 32 - 1;

/**
 * @param {number} bytes
 * @param {ReadableStreamDefaultReader} [reader] which is cancelled where there are too many
 */
export function checkLength(bytes, reader) {
  if (bytes <= MOST_BYTES) return;
  reader?.cancel().catch(() => {});
  throw new Error(`it has ${bytes} bytes, more than the ${MOST_BYTES} that the engine can hold`);
}
