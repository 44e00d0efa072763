/** Whether bytes are those that were saved. */

/** SHA-256, where the context is secure. @param {Uint8Array} bytes */
export async function checksum(bytes) {
  const digest = await globalThis.crypto?.subtle?.digest('SHA-256', /** @type {Uint8Array<ArrayBuffer>} */ (bytes));
  return digest && new Uint8Array(digest);
}

/** @param {Uint8Array | undefined} a @param {Uint8Array | undefined} b */
export const isSame = (a, b) => String(a) === String(b);
