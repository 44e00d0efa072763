// Reads what was dropped as data for a model, with what was chosen.

import { Tensor } from '../js/index.js';
import { readArrays } from './arrays.js';
import { makeNetwork } from './made.js';
import { modelOf, trainingInputsOf, vocabularyOf } from './model.js';
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
  if (kind === 'random') {
    const plain = model.made ? await madeOf({ features: model.made.features, outputs: model.made.outputs }) : model;
    return { data: randomData(await trainingInputsOf(plain), vocabularyOf(plain), Tensor), model: plain };
  }
  if (kind === 'pictures') {
    const scale = choices.scale ?? likelyScale(model);
    const onPicture = (/** @type {number} */ done) => onProgress(`Reading pictures, ${done} of ${files.length} …`);
    return { data: await readPictures(files, scale, model, onPicture), model };
  }
  const plain = files.map(({ file }) => file);
  if (kind === 'arrays') {
    const data = await readArrays(plain, model.made ? anyWidth(model) : model);
    return { data, model: model.made ? await madeOf(sizesOf(data)) : model };
  }
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
  return await madeOf(made);
}

/** @param {import('./model.js').Made} made */
const madeOf = async (made) => await modelOf('small.onnx', await makeNetwork(made), made);

/** The small network as one that takes rows of any length. @param {Model} model @returns {Model} */
function anyWidth(model) {
  const [input] = model.onnx.inputs;
  return { ...model, onnx: { ...model.onnx, inputs: [{ ...input, dims: ['batch', 'features'] }] } };
}

/** Features and outputs of a network for arrays. @param {Data} data */
function sizesOf({ learned, classes }) {
  const [{ dims }] = Object.values(learned.inputs);
  return { features: dims[1], outputs: classes?.length ?? learned.labels.dims[1] };
}
