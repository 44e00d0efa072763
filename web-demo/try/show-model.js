// The model on the page: what it is, what would train and why, its parameters, memory and time of a step.

import { listOf, make, tableOf } from './dom.js';
import { vocabularyOf, weightsOf } from './model.js';
import { counted, countText, namesText, shapeText, sizeText, timeText } from './words.js';

/** @typedef {import('./model.js').Model} Model @typedef {import('./model.js').ModelParameter} ModelParameter */

/** Parameters that the table lists; more are counted. */
const MOST_LISTED = 200;
const MOST_READERS = 3;
const PARTS = { weight: 'weight', bias: 'bias', scale: 'scale', statistic: 'running statistic', operand: 'operand' };

/** @param {HTMLElement} place @param {Model} model */
export function showModel(place, model) {
  const { onnx, parameters } = model;
  place.hidden = false;
  place.replaceChildren(
    factsOf(model),
    make('h3', {}, 'What would train, and why'),
    listOf(model.trouble ? [model.trouble] : reasonsOf(model)),
    ...(parameters.length ? [more(`Parameters: ${countText(parameters.length)}`, parametersOf(parameters))] : []),
    more(`Operators: ${countText(onnx.operators.length)} kinds`, operatorsOf(model)),
  );
}

/** @param {Model} model */
function factsOf(model) {
  const { name, size, onnx, parameters, externalData, weights } = model;
  const beside = [...Object.keys(externalData), ...weights.map((file) => file.name)];
  const total = parameters.reduce((sum, parameter) => sum + parameter.size, 0);
  const value = (/** @type {import('./onnx-file.js').Value} */ v) =>
    /^(sequence|map|optional)$/.test(v.type) ? `${v.name}: a ${v.type}` : `${v.name}: ${v.type} ${shapeText(v.dims)}`;
  const facts = [
    ['File', `${name}, ${sizeText(size)}${beside.length ? `, with ${namesText(beside)}` : ''}`],
    ['Inputs', onnx.inputs.map(value).join(' · ') || 'none'],
    ['Outputs', onnx.outputs.map(value).join(' · ') || 'none'],
    ['Ends in', onnx.lastActivation || 'no activation: scores or numbers'],
    ['Made by', `${onnx.exporter || 'an exporter without a name'}, opset ${onnx.opset || 'unknown'}`],
    ...(total ? [['Weights', `${countText(total)} numbers`]] : []),
    ...(onnx.hasTrainingInfo ? [['Training', 'it brings training_info, an algorithm of its own']] : []),
  ];
  return make(
    'dl',
    { className: 'facts' },
    ...facts.map(([term, words]) => make('div', {}, make('dt', {}, term), make('dd', {}, words))),
  );
}

/**
 * Sentences: how many would train as what, and for each reason which would not.
 * @param {Pick<Model, 'parameters' | 'onnx'>} model
 */
export function reasonsOf({ parameters, onnx }) {
  if (onnx.operators.some(([op]) => /TreeEnsemble|SVM/.test(op)))
    return [
      'Nothing: it is a forest or a machine of vectors, which gradients do not train. It trains where it was made.',
    ];
  if (!parameters.length)
    return ['Nothing: the file has no float weights. Export the network before it is quantized, in float32.'];
  const training = parameters.filter(({ trainable }) => trainable);
  const size = countText(weightsOf({ parameters }));
  const parts = Object.entries(PARTS).flatMap(([as, word]) => {
    const count = training.filter(({ readers }) => readers[0]?.as === as).length;
    return count ? [counted(count, word, word === 'bias' ? 'biases' : `${word}s`)] : [];
  });
  const isNoted = training.some(({ readers }) => readers[0]?.as === 'operand');
  const first = training.length
    ? `${countText(training.length)} of ${counted(parameters.length, 'parameter')} would train, ${size} numbers: ` +
      `${parts.join(', ')}, because layers read them as such${isNoted ? ' or the exporter says so' : ''}.`
    : `None of the ${counted(parameters.length, 'parameter')} would train.`;
  const others = new Map();
  for (const { trainable, reason = 'no layer reads it', name } of parameters)
    if (!trainable) others.set(reason, [...(others.get(reason) ?? []), name]);
  return [
    first,
    ...[...others].map(
      ([reason, names]) =>
        `${counted(names.length, 'stays as it is', 'stay as they are')}, ${namesText(names, 2)}: ${reason}.`,
    ),
  ];
}

/** @param {readonly ModelParameter[]} parameters */
function parametersOf(parameters) {
  const rows = parameters
    .slice(0, MOST_LISTED)
    .map((parameter) => [
      parameter.name,
      shapeText(parameter.dims),
      readersText(parameter),
      parameter.trainable ? 'yes' : 'no',
    ]);
  const rest = parameters.length - rows.length;
  const table = tableOf('Parameters of the model', ['Name', 'Shape', 'Read by', 'Trains'], rows);
  return [
    scrolling('Parameters', table),
    ...(rest > 0 ? [make('p', { className: 'caption' }, `and ${countText(rest)} more`)] : []),
  ];
}

/** @param {ModelParameter} parameter */
function readersText({ readers }) {
  const shown = readers.slice(0, MOST_READERS).map(({ node, op, as }) => `${op} '${node}' as ${PARTS[as]}`);
  const rest = readers.length - shown.length;
  return `${shown.join(', ') || 'nothing'}${rest ? `, and ${rest} more` : ''}`;
}

/** @param {Model} model */
function operatorsOf(model) {
  const words = model.onnx.operators.map(([op, count]) => (count > 1 ? `${op} × ${count}` : op)).join(', ');
  const vocabulary = vocabularyOf(model);
  return [
    make(
      'p',
      {},
      `${words || 'none'}.${vocabulary > 2 ? ` Its tokens are numbers below ${countText(vocabulary)}.` : ''}`,
    ),
  ];
}

/** @param {string} title @param {Node[]} inside */
const more = (title, inside) => make('details', {}, make('summary', {}, title), ...inside);

/** A table that may be wider than the page. @param {string} name @param {HTMLElement} table */
export const scrolling = (name, table) =>
  make('div', { className: 'wide', tabIndex: 0, role: 'region', 'aria-label': name }, table);

/**
 * Memory and time of a step.
 * @param {{ peakBytes: number, stepMs?: number, trains: number }} tried @param {number} batch
 */
export function planText({ peakBytes, stepMs, trains }, batch) {
  const time =
    stepMs === undefined
      ? 'It was not tried here, for it takes too long or too much memory: choose a smaller batch or a new last layer.'
      : `It takes ${timeText(stepMs)} here, measured on random numbers: ${rateText((1000 * batch) / stepMs)}.`;
  const needs = `moves ${countText(trains)} numbers and needs ${sizeText(peakBytes)}`;
  return `A step of ${counted(batch, 'example')} ${needs}. ${time}`;
}

/** @param {number} rate */
const rateText = (rate) => `${counted(Math.max(1, Math.round(rate)), 'example')} a second`;
