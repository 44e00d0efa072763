// The batches of a lesson: in each round all of one's own text, and four times as much of what the base knows, other
// each time, so that little of that is forgotten.

import { Tensor } from '../../js/index.js';

/** @import { Dataset, Feeds } from '../../js/types.js' */
/** @typedef {{ inputs: Feeds, labels: Feeds }} Packed as of packText */

/** Examples of what the base knows for each of one's own. */
const REHEARSED = 4;

/**
 * Examples of several data sets: each names a set and a row of it.
 * @param {Packed[]} sets @param {[set: number, row: number][]} rows
 */
function batchOf(sets, rows) {
  /** @type {Feeds} */
  const feeds = {};
  for (const part of /** @type {const} */ (['inputs', 'labels']))
    for (const [name, { dims }] of Object.entries(sets[0][part])) {
      const each = dims.slice(1).reduce((a, b) => a * b, 1);
      const values = new BigInt64Array(rows.length * each);
      rows.forEach(([set, row], i) => {
        const { data } = sets[set][part][name];
        values.set(/** @type {BigInt64Array} */ (data).subarray(row * each, (row + 1) * each), i * each);
      });
      feeds[name] = new Tensor('int64', values, [rows.length, ...dims.slice(1)]);
    }
  return feeds;
}

const rowsIn = (/** @type {Packed} */ { labels }) => Object.values(labels)[0].dims[0];

/** @param {unknown[]} list */
function shuffle(list) {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
}

/**
 * A data set for fit, whose epochs are rounds, and how many steps are in each.
 * @param {Packed} own @param {Packed | undefined} known @param {number} batch
 */
export function roundsOf(own, known, batch) {
  const sets = known ? [own, known] : [own];
  let next = 0;
  /** @returns {Generator<Feeds>} */
  function* round() {
    /** @type {[number, number][]} */
    const rows = [];
    for (let i = 0; i < rowsIn(own); i++) {
      rows.push([0, i]);
      for (let k = 0; known && k < REHEARSED; k++) rows.push([1, next++ % rowsIn(known)]);
    }
    shuffle(rows);
    for (let i = 0; i < rows.length; i += batch) yield batchOf(sets, rows.slice(i, i + batch));
  }
  return { round, steps: Math.ceil((rowsIn(own) * (known ? 1 + REHEARSED : 1)) / batch) };
}
