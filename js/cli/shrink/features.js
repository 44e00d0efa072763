/**
 * Features of a build beside operators, passes, optimizers and losses (features.json, which the build from source
 * reads, too). A call or part that belongs to no feature is always kept.
 */

import { readFileSync } from 'node:fs';

/**
 * @typedef {object} Feature
 * @property {string} about
 * @property {boolean} [asked] only on request: nothing that a model needs to train as it does
 * @property {string[]} [calls] exports of wasm/abi.c, without abi_
 * @property {string[]} [parts] of src/part.h, without part_
 * @property {boolean} [variant] one of several implementations of a computation: kept where shapes choose it
 * @property {boolean} [differentiates] it makes gradients; training models have theirs already
 * @property {string} [operators] it makes those with this in their name faster, and is kept with them
 * @property {string} [missing] how the engine calls it where it is left out
 */

/** @type {Record<string, Feature>} */
export const FEATURES = JSON.parse(readFileSync(new URL('features.json', import.meta.url), 'utf8'));
