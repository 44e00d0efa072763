/**
 * Nested objects and arrays: feeds flatten to the names of a graph's inputs, and outputs come back in the structure
 * that named them.
 */

import { invalid, nameOf, TrainletError } from './errors.js';

/** @import { ErrorCode } from '../types.js' */

/** An array, or an object that is of no class but Object; of any realm. @param {unknown} value */
function isNested(value) {
  if (Array.isArray(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** True if a value is meant as a tensor; its fields are checked later. @param {unknown} value */
export const looksLikeTensor = (value) =>
  typeof value === 'object' && value !== null && 'type' in value && 'data' in value && 'dims' in value;

/**
 * The same structure with `visit` of each leaf in the leaf's place. A leaf's path is the keys and indices that lead to
 * it, joined by '.'.
 * @param {any} node
 * @param {(value: unknown, path: string) => boolean} isLeaf
 * @param {(leaf: any, path: string) => unknown} visit
 * @param {ErrorCode} code of a structure without an end
 * @param {readonly string[]} [keys] that lead to the node
 * @param {readonly unknown[]} [above] the nodes that it is in
 * @returns {any}
 */
function mapLeaves(node, isLeaf, visit, code, keys = [], above = []) {
  const path = keys.join('.');
  if (keys.length && isLeaf(node, path)) return visit(node, path);
  if (above.includes(node)) throw new TrainletError(code, `'${path}' contains itself, so it has no end`);
  const entries = Object.entries(node).map(([key, value]) => [
    key,
    mapLeaves(value, isLeaf, visit, code, [...keys, key], [...above, node]),
  ]);
  return Array.isArray(node) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}

/**
 * The leaves by their paths: `{ past: [{ key }] }` has past.0.key. What stands at the name of an input is a leaf
 * whatever it is.
 * @param {object} feeds
 * @param {(path: string) => boolean} isInput
 */
export function flatten(feeds, isInput) {
  /** @type {Map<string, unknown>} */
  const leaves = new Map();
  mapLeaves(
    feeds,
    (value, path) => isInput(path) || looksLikeTensor(value) || !isNested(value),
    (leaf, path) => {
      if (leaves.has(path))
        throw new TrainletError('invalid-feed', `input '${path}' is fed twice: by a flat name and by a nested one`);
      leaves.set(path, leaf);
    },
    'invalid-feed',
  );
  return leaves;
}

/**
 * The structure with what `visit` makes of each name in the name's place.
 * @template T
 * @param {object} structure of output names
 * @param {(name: string) => T} visit
 */
export function mapNames(structure, visit) {
  return mapLeaves(
    structure,
    (value) => !isNested(value),
    (name, path) => {
      if (typeof name === 'string' && name) return visit(name);
      const what = name === '' ? 'an empty name' : looksLikeTensor(name) ? 'a tensor' : nameOf(name);
      throw invalid(`fetches: at '${path}' stands ${what}; wanted the name of an output`);
    },
    'invalid-argument',
  );
}
