/** Models of scikit-learn, LightGBM and XGBoost: run, and compared with what framework and ONNX Runtime answered. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { InferenceSession, Tensor } from '../../js/index.js';

/** @typedef {{ type: string, dims: number[], data: any[], map?: Record<string, number> }} Stored */
/**
 * @typedef {{ inputs: Record<string, Stored>, answers: Record<string, Stored>,
 *   runtime?: Record<string, Stored> }} Case
 */

/** @param {Stored} stored @returns {any} */
function feedOf({ type, dims, data, map }) {
  if (map) return new Map(Object.entries(map));
  const numbers = type === 'int64' ? data.map(BigInt) : data.map((x) => (x === null ? Number.NaN : x));
  return type === 'string' ? new Tensor('string', data, dims) : new Tensor(/** @type {any} */ (type), numbers, dims);
}

/** @param {any} output a tensor, or a map for each example @returns {any[]} elements; of maps by rising keys */
const elementsOf = (output) =>
  Array.isArray(output)
    ? output.flatMap((map) => [...map.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value))
    : [...output.data];

/** @param {string} what @param {any[]} ours @param {any[]} theirs @param {number} tolerance */
function compare(what, ours, theirs, tolerance) {
  assert.equal(ours.length, theirs.length, `${what}: ${ours.length} elements instead of ${theirs.length}`);
  theirs.forEach((wanted, i) => {
    const came = typeof ours[i] === 'bigint' ? Number(ours[i]) : ours[i];
    const near =
      typeof wanted === 'number' && typeof came === 'number'
        ? Math.abs(came - wanted) <= tolerance * Math.max(1, Math.abs(wanted))
        : String(came) === String(typeof wanted === 'boolean' ? Number(wanted) : wanted);
    assert.ok(near, `${what}[${i}] is ${came}, wanted ${wanted}`);
  });
}

/**
 * Runs a model.
 * @param {Uint8Array} bytes @param {Case} one @param {import('../../js/types.js').SessionOptions} [options]
 * @returns {Promise<Record<string, any>>}
 */
export async function outputsOf(bytes, one, options) {
  const session = await InferenceSession.create(bytes, { worker: false, ...options });
  try {
    return await session.run(Object.fromEntries(Object.entries(one.inputs).map(([name, x]) => [name, feedOf(x)])));
  } finally {
    await session.release();
  }
}

/** @param {string | URL} file @param {Case} one @param {{ framework?: boolean }} [what] */
export async function checkModel(file, one, { framework = true } = {}) {
  const outputs = await outputsOf(readFileSync(file), one);
  for (const [name, theirs] of Object.entries(one.runtime ?? {}))
    compare(`ONNX Runtime's ${name}`, elementsOf(outputs[name]), theirs.data, 2e-5);
  if (!framework) return;
  const all = Object.values(outputs);
  Object.values(one.answers).forEach((theirs, i) => {
    compare(`the framework's ${Object.keys(one.answers)[i]}`, elementsOf(all[i]), theirs.data, 1e-4);
  });
}
