/** Parameters of a session by name and shape: those that a federation exchanges. */

import { invalid, nameOf } from '../base/errors.js';
import { sizeOf } from '../base/tensor.js';

/** @import { TrainingSession } from '../types.js' */
/** @import { Arrays } from './objects.js' */
/** @typedef {'all' | 'trainable' | 'adapter'} Exchange */
/** @typedef {ReadonlyMap<string, { readonly dims: readonly number[] }>} Layout */

/** @type {readonly Exchange[]} */
export const EXCHANGES = ['all', 'trainable', 'adapter'];

/** getContiguousParameters' word for it. @param {Exchange} exchange */
const trainableOnly = (exchange) => exchange !== 'all';

/** @param {Layout} layout */
export const elementsOf = (layout) => [...layout.values()].reduce((sum, { dims }) => sum + sizeOf(dims), 0);

/**
 * Names and shapes, in the order of the session's buffer.
 * @param {TrainingSession} session @param {Exchange} exchange
 * @returns {Promise<Layout>}
 */
export async function layoutOf(session, exchange) {
  if (!EXCHANGES.includes(exchange))
    throw invalid(`SuperNode.connect: exchange must be one of ${EXCHANGES.join(', ')}, not ${nameOf(exchange)}`);
  if (exchange === 'adapter' && !session.adapters.names.length)
    throw invalid("SuperNode.connect: exchange 'adapter' needs artifacts made with lora");
  const chosen = session.parameters.filter(
    ({ type, trainable }) => type === 'float32' && (trainable || !trainableOnly(exchange)),
  );
  const layout = new Map(chosen.map(({ name, dims }) => [name, { dims }]));
  const elements = await session.getParametersSize(trainableOnly(exchange));
  if (elementsOf(layout) !== elements)
    throw invalid(`SuperNode.connect: ${elements} elements have no names, so exchange '${exchange}' is not possible`);
  return layout;
}

/** @param {TrainingSession} session @param {Exchange} exchange @returns {Promise<Float32Array>} */
export async function readFlat(session, exchange) {
  const { data } = await session.getContiguousParameters(trainableOnly(exchange));
  return /** @type {Float32Array} */ (data);
}

/** @param {TrainingSession} session @param {Exchange} exchange @param {Float32Array} flat */
export async function writeFlat(session, exchange, flat) {
  const bytes = new Uint8Array(flat.buffer, flat.byteOffset, flat.byteLength);
  await session.loadParametersBuffer(bytes, trainableOnly(exchange));
}

/** @param {Layout} layout @param {Float32Array} flat @returns {Arrays} views of it */
export function arraysIn(layout, flat) {
  let end = 0;
  return new Map(
    [...layout].map(([name, { dims }]) => {
      const start = end;
      end += sizeOf(dims);
      return [name, { dims, data: flat.subarray(start, end) }];
    }),
  );
}

/** @param {Layout} layout @param {Arrays} arrays all of the layout's */
export function flatOf(layout, arrays) {
  const flat = new Float32Array(elementsOf(layout));
  for (const [name, { data }] of arraysIn(layout, flat)) data.set(arrays.get(name)?.data ?? []);
  return flat;
}
