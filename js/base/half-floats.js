/** Numbers of tensors of float16 and bfloat16, whose data are bits. */

/** @import { TypedArray } from '../types.js' */

/**
 * The data as numbers; a copy where they are bits.
 * @param {{ type: string, data: TypedArray }} tensor
 * @returns {TypedArray}
 */
export function numbersOf({ type, data }) {
  const numberOf = { float16: fromHalf, bfloat16: fromBrain }[type];
  return numberOf ? Float32Array.from(/** @type {Uint16Array} */ (data), numberOf) : data;
}

/** @param {number} bits 1 of the sign, 5 of the exponent, 10 of the fraction */
function fromHalf(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction;
  const value = exponent < 31 ? size : fraction ? NaN : Infinity;
  return bits & 0x8000 ? -value : value;
}

/** @param {number} bits the upper half of a float32 */
const fromBrain = (bits) => new Float32Array(Uint32Array.of(bits << 16).buffer)[0];
