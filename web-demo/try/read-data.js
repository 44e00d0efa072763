// Reads what was dropped as data for a model, with what was chosen.

import { Tensor } from '../js/index.js';
import { readArrays } from './arrays.js';
import { makeNetwork } from './made.js';
import { modelOf, vocabularyOf } from './model.js';
import { likelyScale, readPictures } from './pictures.js';
import { randomData } from './random.js';
import { readRows } from './table.js';

/**
 * @typedef {import('./model.js').Model} Model
 * @typedef {import('./data.js').Data} Data
 * @typedef {{ kind: 'table' | 'pictures' | 'arrays' | 'random', files: { file: File, path: string }[],
 *   isExample?: boolean }} Raw
 * @typedef {import('./table.js').Choices & { scale?: import('./pictures.js').Scale }} Choices
 */

/**
 * @param {Raw} raw @param {Choices} choices @param {Model} model @param {(words: string) => void} onProgress
 * @returns {Promise<{ data: Data, model: Model }>} the model: one that the page made is made anew for a table
 */
export async function readData({ kind, files }, choices, model, onProgress) {
  if (kind === 'random') return { data: randomData(model, vocabularyOf(model), Tensor), model };
  if (kind === 'pictures') {
    const scale = choices.scale ?? likelyScale(model);
    const onPicture = (/** @type {number} */ done) => onProgress(`Reading pictures, ${done} of ${files.length} …`);
    return { data: await readPictures(files, scale, model, onPicture), model };
  }
  const plain = files.map(({ file }) => file);
  if (kind === 'arrays') return { data: await readArrays(plain, model), model };
  const data = await readRows(plain[0], choices, model);
  return { data, model: model.made ? await madeFor(data) : model };
}

/** The small network for a table. @param {Data} data */
async function madeFor({ classes, read }) {
  const { mean, variance } = read.made;
  const target = read.columns.find((/** @type {any} */ column) => column.role === 'target');
  const made = {
    features: mean.length,
    outputs: classes?.length ?? 1,
    mean,
    variance,
    ...(!classes && { target: { mean: target.mean, variance: target.variance } }),
  };
  return await modelOf('small.onnx', await makeNetwork(made), made);
}
