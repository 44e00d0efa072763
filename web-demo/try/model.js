// The model that was dropped: its files put together, its contents and parameters, and a recipe tried on random
// numbers.

import { generateArtifacts, parametersOf, planMemory, Tensor, TrainingSession } from '../js/index.js';
import { readOnnx } from './onnx-file.js';
import { randomFeeds, shapesOf } from './random.js';
import { artifactOptions, propose } from './recipe.js';
import { messageOf, namesText, sentenceOf, sizeText } from './words.js';

/**
 * @typedef {import('../js/types.js').ModelParameter} ModelParameter
 * @typedef {import('./onnx-file.js').OnnxFile} OnnxFile
 * @typedef {import('./recipe.js').Recipe} Recipe
 * @typedef {object} Model
 * @property {string} name of its file
 * @property {number} size in bytes, with the files beside it
 * @property {Blob | Uint8Array} source
 * @property {Record<string, Blob>} externalData
 * @property {File[]} weights safetensors files that take the place of its values
 * @property {OnnxFile} onnx
 * @property {readonly ModelParameter[]} parameters
 * @property {string} [trouble] why it cannot train, a sentence
 * @property {Made} [made] absent: it came as a file
 * @property {boolean} [isPackaged] it is the one of trainlet/models
 * @typedef {{ features: number, outputs: number, mean?: readonly number[], variance?: readonly number[],
 *   target?: { mean: number, variance: number } }} Made a network that the page made, by what it was made for
 */

/** A page has hardly room for more, twice. */
const MOST_BYTES = 1.5e9;
/** Steps that need more memory are not tried on random numbers. */
const MOST_PLANNED = 1.5e9;
const STEP_PATIENCE_MS = 8000;

/** A fault of what was dropped, said in a sentence. */
export class Refusal extends Error {
  /** @param {string} message @param {File} [waits] a model that waits for its other files */
  constructor(message, waits) {
    super(message);
    this.waits = waits;
  }
}

/** @param {File} file @param {readonly File[]} beside other files that were dropped @returns {Promise<Model>} */
export async function openModel(file, beside) {
  if (file.size === 0) throw new Refusal(`'${file.name}' is empty.`);
  if (file.size > MOST_BYTES)
    throw new Refusal(
      `'${file.name}' has ${sizeText(file.size)}, more than a tab can hold twice. Export it with external_data=True, ` +
        'or quantized, and drop all of its files together.',
    );
  const onnx = await contentsOf(file);
  const { externalData, missing } = besideOf(onnx, beside);
  const weights = beside.filter(({ name }) => /\.safetensors$/i.test(name) && !(name in externalData));
  if (missing.length)
    throw new Refusal(
      `'${file.name}' keeps its weights in ${namesText(missing)}, which did not come with it. ` +
        'Drop the files together, or the missing ones now.',
      file,
    );
  const size = [file, ...Object.values(externalData), ...weights].reduce((sum, one) => sum + one.size, 0);
  return withParameters({ name: file.name, size, source: file, externalData, weights, onnx, parameters: [] });
}

/**
 * A model of bytes, as a network of trainlet/layers.
 * @param {string} name @param {Uint8Array} bytes @param {Made} [made]
 */
export function modelOf(name, bytes, made) {
  const onnx = readOnnx(bytes);
  const base = { name, size: bytes.length, source: bytes, externalData: {}, weights: [], parameters: [] };
  return withParameters({ ...base, onnx, made });
}

/** @param {File} file */
async function contentsOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    return readOnnx(bytes);
  } catch {
    const words = await parametersOf(bytes).then(() => 'it has no graph.', messageOf);
    throw new Refusal(`'${file.name}' cannot be read: ${words} Copy, download or export it again.`);
  }
}

/** @param {OnnxFile} onnx @param {readonly File[]} beside */
function besideOf({ locations }, beside) {
  const found = locations.map((location) => {
    const last = location.split('/').at(-1);
    return /** @type {const} */ ([location, beside.find(({ name }) => name === last)]);
  });
  const there = found.flatMap(([location, file]) => (file ? [/** @type {const} */ ([location, file])] : []));
  return { externalData: Object.fromEntries(there), missing: found.flatMap(([name, file]) => (file ? [] : [name])) };
}

/** @param {Model} model @returns {Promise<Model>} */
async function withParameters(model) {
  try {
    return { ...model, parameters: await parametersOf(model.source, { externalData: model.externalData }) };
  } catch (error) {
    if (error.code === 'invalid-model')
      throw new Refusal(`'${model.name}' cannot be read: ${messageOf(error)} Copy, download or export it again.`);
    return { ...model, trouble: adviceFor(error) };
  }
}

/** The numbers that train. @param {Pick<Model, 'parameters'>} model */
export const weightsOf = ({ parameters }) =>
  parameters.filter(({ trainable }) => trainable).reduce((sum, { size }) => sum + size, 0);

/** An error of the package with the way on that its code knows. @param {any} error */
export function adviceFor(error) {
  const words = sentenceOf(error);
  if (error?.code === 'unsupported-op')
    return / lack/.test(words)
      ? `${words} Export the network with another opset, or without it: it can neither run nor train here.`
      : /training feeds/.test(words)
        ? `${words} Export the network so that it takes tensors of numbers.`
        : `${words} A new last layer above it may still train.`;
  if (error?.code === 'out-of-memory') return `${words} A smaller batch, or a new last layer alone, needs less.`;
  if (error?.code === 'worker-died') return `${words} Model and data are kept: train again.`;
  if (error?.code === 'non-finite-loss') return `${words} Try a smaller learning rate.`;
  return words;
}

/**
 * Options of the package for this model.
 * @param {Model} model @param {Recipe} recipe @param {readonly string[]} classes
 */
export const optionsFor = ({ externalData, weights }, recipe, classes) => ({
  ...artifactOptions(recipe, classes),
  ...(Object.keys(externalData).length && { externalData }),
  ...(weights.length && { weights }),
});

/**
 * Tries a recipe on random numbers.
 * @param {Model} model @param {Recipe} recipe @param {readonly string[]} classes
 * @returns {Promise<{ warnings: readonly string[], peakBytes: number, stepMs?: number, trains: number }>} stepMs is
 * absent where a step would take too much memory or time to try it
 */
export async function tryRecipe(model, recipe, classes) {
  const options = optionsFor(model, recipe, classes);
  const artifacts = await generateArtifacts(model.source, options);
  const session = await TrainingSession.create(artifacts);
  try {
    const { batchSize } = recipe;
    const dims = shapesOf(session.trainingInputs, batchSize);
    const { peakBytes } = await planMemory(model.source, { ...options, dims });
    const trains = await session.getParametersSize();
    const known = { warnings: artifacts.warnings, peakBytes, trains };
    if (peakBytes > MOST_PLANNED) return known;
    const stepMs = await timeOf(session, randomFeeds(session.trainingInputs, batchSize, vocabularyOf(model), Tensor));
    return { ...known, stepMs };
  } finally {
    await session.release();
  }
}

/** Inputs of a training by the recipe that is proposed without data, the labels last. @param {Model} model */
export async function trainingInputsOf(model) {
  const { recipe } = propose(model.onnx, weightsOf(model));
  const made = (/** @type {Recipe} */ one) => generateArtifacts(model.source, optionsFor(model, one, ['0', '1']));
  const artifacts = await made(recipe).catch((error) => {
    if (error.code !== 'unsupported-op') throw error;
    return made({ ...recipe, trains: 'head' });
  });
  const session = await TrainingSession.create(artifacts);
  const { trainingInputs } = session;
  await session.release();
  return trainingInputs;
}

/** The quicker of a few steps. @param {TrainingSession} session @param {Record<string, any>} feeds */
async function timeOf(session, feeds) {
  const signal = AbortSignal.timeout(STEP_PATIENCE_MS);
  let least;
  for (let i = 0, all = 0; i < 5 && all < 50; i++) {
    const begun = performance.now();
    try {
      await session.step(feeds, { signal });
    } catch (error) {
      if (error.code === 'aborted') return least;
      throw error;
    }
    const ms = performance.now() - begun;
    if (i) all += ms; // the first plans the memory too
    if (i || ms > 1000) least = Math.min(least ?? ms, ms);
    if (ms > 1000) break;
  }
  return least;
}

/** Rows of the smallest table of embeddings; 2 where there is none. @param {Model} model */
export function vocabularyOf({ parameters }) {
  const tables = parameters.filter(({ readers }) => readers.some(({ op }) => op === 'Gather'));
  return tables.length ? Math.min(...tables.map(({ dims }) => dims[0])) : 2;
}
