/** Names of layers, as Keras gives them, and what code of the page and code of the file both name. */

import { invalid } from '../base/errors.js';
import { snakeOf } from './layer.js';

/** @import { LayerState } from './layer.js' */

/** The types of inputs, with their numbers in ONNX. */
export const TYPES = { float32: 1, uint8: 2, int32: 6, int64: 7 };
export const INPUT = 'InputLayer';
/** The metadata of a file that tells its layers. */
export const LAYERS_KEY = 'trainlet.layers';

/** Names for layers: their own, or Keras' automatic ones. @param {readonly LayerState[]} layers */
export function namesOf(layers) {
  const all = [...new Set(layers)].sort((a, b) => a.order - b.order);
  const given = all.flatMap((layer) => layer.given ?? []);
  const twice = given.find((name, i) => given.indexOf(name) !== i);
  if (twice !== undefined) throw invalid(`two layers have the name '${twice}'`);
  const next = automaticNames(given);
  return new Map(all.map((layer) => [layer, layer.given ?? next(snakeOf(layer.type))]));
}

/** Numbers names that were there before: dense, dense_1. @param {readonly string[]} [taken] */
export function automaticNames(taken = []) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  /** @param {string} base @returns {string} */
  return function next(base) {
    const count = counts.get(base) ?? 0;
    counts.set(base, count + 1);
    const name = count ? `${base}_${count}` : base;
    return taken.includes(name) ? next(base) : name;
  };
}
