// The recipe: loss, optimizer, batch size and what trains, proposed from the model's last activation and the labels,
// with the reasons; and the options of the package that it becomes.

import { counted, countText } from './words.js';

/**
 * @typedef {import('./onnx-file.js').OnnxFile} OnnxFile
 * @typedef {'all' | 'head'} Trains
 * @typedef {'cross-entropy' | 'bce-with-logits' | 'mse' | 'l1' | 'huber'} Loss
 * @typedef {{ loss: Loss, optimizer: string, lr: number, batchSize: number, epochs: number, trains: Trains }} Recipe
 * @typedef {{ task: 'classes' | 'numbers', classes?: readonly string[], count: number,
 *   learned?: { labels: { dims: readonly number[] } } }} Labels of the data
 */

/** A network of more weights than these is not trained whole on few examples. */
const LARGE = 100_000;
const FEW = 1000;

/**
 * @param {Pick<OnnxFile, 'outputs' | 'lastActivation'>} onnx @param {number} weights how many numbers would train
 * @param {Labels} [labels] absent: no data yet
 * @returns {{ recipe: Recipe, why: string[] }}
 */
export function propose(onnx, weights, labels) {
  const [loss, ofLoss] = lossFor(onnx, labels);
  const [trains, ofTrains] = trainsFor(onnx, weights, loss, labels);
  const lr = trains === 'all' && weights > LARGE ? 1e-4 : trains === 'head' || weights > 10_000 ? 1e-3 : 5e-3;
  const count = labels?.count ?? FEW;
  const batchSize = count < 64 ? 8 : 32;
  const epochs = Math.max(5, Math.min(40, Math.round(20_000 / count)));
  return {
    recipe: { loss, optimizer: 'adamw', lr, batchSize, epochs, trains },
    why: [ofLoss, ofTrains, `${counted(epochs, 'epoch')} in batches of ${batchSize}, by AdamW with a rate of ${lr}.`],
  };
}

/** @param {Pick<OnnxFile, 'outputs' | 'lastActivation'>} onnx @param {Labels} [labels] @returns {[Loss, string]} */
function lossFor({ outputs: [output], lastActivation }, labels) {
  const width = output?.dims.at(-1);
  const end = lastActivation ? `ends in ${lastActivation}` : 'ends without an activation';
  if (labels?.task === 'numbers') return ['mse', 'The target is a number: mean squared error.'];
  if (labels?.task === 'classes' && width === 1 && labels.classes?.length === 2)
    return ['bce-with-logits', 'Two classes and one output: binary cross-entropy.'];
  if (labels?.task === 'classes')
    return [
      'cross-entropy',
      `The labels are ${counted(labels.classes?.length ?? 0, 'class', 'classes')}: cross-entropy.`,
    ];
  if (lastActivation.endsWith('Softmax'))
    return ['cross-entropy', `The model ${end} over ${width} numbers, so they are classes: cross-entropy.`];
  if (lastActivation.endsWith('Sigmoid')) return ['bce-with-logits', `The model ${end}: binary cross-entropy.`];
  if (width === 1) return ['mse', `The model ${end} in one number: mean squared error, until data say otherwise.`];
  return ['cross-entropy', `The model ${end} in ${width} numbers: as scores of classes, until data say otherwise.`];
}

/**
 * @param {Pick<OnnxFile, 'outputs'>} onnx @param {number} weights @param {Loss} loss @param {Labels} [labels]
 * @returns {[Trains, string]}
 */
function trainsFor({ outputs: [output] }, weights, loss, labels) {
  const width = output?.dims.at(-1);
  const size = counted(weights, 'number');
  const isMany = (labels?.learned?.labels.dims.length ?? 1) > 1; // several labels an example, as of tokens or pixels
  if (!labels || loss !== 'cross-entropy' || isMany) return ['all', `All layers train, ${size}.`];
  const classes = labels.classes?.length ?? 0;
  if (output && output.dims.length !== 2)
    return [
      'head',
      `The model's output has ${output.dims.length} dims, and an example one label: a new last layer trains.`,
    ];
  if (typeof width === 'number' && width !== classes)
    return [
      'head',
      `The model has ${counted(width, 'output')} and the data ${classes} classes: a new last layer trains.`,
    ];
  if (weights > LARGE && labels.count < FEW)
    return [
      'head',
      `${counted(labels.count, 'example')} are few for ${countText(weights)} weights: a new last layer trains.`,
    ];
  return ['all', `All layers train, ${size}.`];
}

/** Options of generateArtifacts. @param {Recipe} recipe @param {readonly string[]} classes */
export function artifactOptions({ loss, optimizer, lr, trains }, classes) {
  return { loss, optimizer: { type: optimizer, lr }, ...(trains === 'head' && { head: { classes: [...classes] } }) };
}
