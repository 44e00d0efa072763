// The data on the page: what a model wants, what was understood, five examples.

import { listOf, make, tableOf } from './dom.js';
import { scrolling } from './show-model.js';
import { shapeText } from './words.js';

const SHOWN = 5;

/** The data that a model takes, a sentence. @param {import('./model.js').Model} model */
export function wantedText({ onnx, made }) {
  if (made)
    return 'It takes a table: a .csv with a line of names, and a column to predict. The network is made to fit it.';
  const [input, ...others] = onnx.inputs;
  const shapes = onnx.inputs.map(({ name, type, dims }) => `'${name}' ${type} ${shapeText(dims)}`).join(' and ');
  if (!input || others.length) return `It takes arrays: a .npz with ${shapes}, and labels 'y'.`;
  if (input.dims.length === 4 && onnx.outputs[0]?.dims.length === 2)
    return 'It takes pictures: choose a folder with a subfolder for each class. Or arrays: a .npz with x and y.';
  if (input.dims.length === 2 && input.type === 'float32')
    return `It takes rows of ${input.dims[1]} numbers: a .csv with a column to predict, or a .npz with x and y.`;
  return `It takes arrays: a .npz with x of ${shapes}, and labels y.`;
}

/** @param {HTMLElement} place @param {import('./data.js').Data} data */
export function showData(place, data) {
  const rows = Array.from({ length: Math.min(SHOWN, data.count) }, (_, i) =>
    data.example(Math.floor((i * data.count) / Math.min(SHOWN, data.count))),
  );
  place.hidden = false;
  place.replaceChildren(
    make('p', {}, data.words),
    scrolling('Five examples', tableOf('Five examples', data.head, rows)),
    ...(data.warnings.length ? [listOf(data.warnings)] : []),
  );
}
