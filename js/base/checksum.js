/** A checksum of saved bytes. */

/** SHA-256, where the context is secure. @param {Uint8Array} bytes */
export async function checksum(bytes) {
  const digest = await globalThis.crypto?.subtle?.digest('SHA-256', /** @type {Uint8Array<ArrayBuffer>} */ (bytes));
  return digest && new Uint8Array(digest);
}

/** A Buffer of Node is the same as a Uint8Array. @param {Uint8Array | undefined} a @param {Uint8Array | undefined} b */
export const isSame = (a, b) => a?.length === b?.length && Array.from(a ?? []).every((byte, i) => byte === b?.[i]);
