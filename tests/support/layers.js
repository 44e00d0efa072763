// The networks of tests/golden/data/layers.json, as tests/golden/scripts/make_layers.py describes them.

import { readFileSync } from 'node:fs';
import * as layers from '../../js/layers/index.js';
import { batchUnit } from './recipe.js';

/** Layers by name. */
const LAYERS = { ...layers };

export const golden = JSON.parse(readFileSync(new URL('../golden/data/layers.json', import.meta.url), 'utf8'));

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

/** Numbers by their formula. */
export const numbersOf = ({ shape, seed, low, high }) =>
  Float32Array.from({ length: sizeOf(shape) }, (_, i) => low + (high - low) * batchUnit(seed, i));

export const floatsOf = (base64) => new Float32Array(Uint8Array.from(Buffer.from(base64, 'base64')).buffer);

/** A layer with its weights, each as `weightOf` gives it. */
function layerOf([name, args, options, weights], weightOf) {
  const isLayer = (value) => Array.isArray(value) && typeof value[0] === 'string';
  const made = (value) => (isLayer(value) ? layerOf(value, weightOf) : value);
  const given = Object.entries({ ...options, ...weights }).map(([key, value]) => [
    key,
    value?.seed ? weightOf(value) : made(value),
  ]);
  return LAYERS[name](...args.map(made), Object.fromEntries(given));
}

/**
 * @param {any} spec a case @param {(weight: any) => Float32Array} [weightOf]
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function networkOf(spec, weightOf = numbersOf) {
  const isIndex = spec.layers[0][0][0] === 'embedding';
  const inputs = spec.inputs.map(({ shape }) => layers.input(shape.slice(1), { dtype: isIndex ? 'int32' : 'float32' }));
  const tensors = [...inputs];
  for (const [layer, from] of spec.layers) tensors.push(layerOf(layer, weightOf)(from.map((i) => tensors[i])));
  return await layers.model({ inputs, outputs: tensors.at(-1) });
}

/** A case's feeds, in the order of its inputs. */
export const feedsOf = (spec) =>
  spec.inputs.map((input) => {
    const data = numbersOf(input);
    const isIndex = spec.layers[0][0][0] === 'embedding';
    return { type: isIndex ? 'int32' : 'float32', data: isIndex ? Int32Array.from(data) : data, dims: input.shape };
  });
