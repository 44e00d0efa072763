/** The buffer that loadParametersBuffer takes, checked. */

import { invalid, nameOf } from '../base/errors.js';
import { isKind } from '../base/kind.js';

/** A copy of its own. @param {Uint8Array} bytes @param {number} elements of float32 */
export function copyOf(bytes, elements) {
  const wanted = 4 * elements;
  const copy = isKind(bytes, 'Uint8Array') ? new Uint8Array(bytes) : undefined;
  if (copy?.length === wanted) return copy;
  throw invalid(
    `loadParametersBuffer: wanted a Uint8Array of ${wanted} bytes, not ${copy ? copy.length : nameOf(bytes)}`,
  );
}
