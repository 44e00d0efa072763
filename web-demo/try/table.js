// A table for a model: its target and columns are guessed where the page does not say, and what does not fit the model
// is refused in a sentence.

import { tableOf, textOf } from '../js/data/csv.js';
import { readTable, Tensor } from '../js/index.js';
import { FEW } from './data.js';
import { Refusal } from './model.js';
import { counted, inputsText, namesText, numberText, sentenceOf } from './words.js';

/**
 * @typedef {import('./data.js').Data} Data
 * @typedef {import('./model.js').Model} Model
 * @typedef {{ target?: string, task?: 'classification' | 'regression', ignore?: string[] }} Choices
 */

const TARGETS = /^(target|label|labels|class|classes|category|kind|species|y|output|survived|price)$/i;
const HELD_OUT = 0.2;
const SEED = 0;

/** The names of the columns; numbered where the first line has numbers. @param {File} file */
export async function columnsOf(file) {
  const { names, rows } = tableOf(file.name, textOf(file.name, new Uint8Array(await file.arrayBuffer())));
  const hasNames = names.some((name) => name !== '' && Number.isNaN(Number(name)));
  return { names: hasNames ? names : names.map((_, i) => `column ${i + 1}`), hasNames, count: rows.length };
}

/** @param {File} file @param {Choices} choices @param {Model} model @returns {Promise<Data>} */
export async function readRows(file, choices, model) {
  const [input, ...others] = model.onnx.inputs;
  if (!input || others.length || input.type !== 'float32')
    throw new Refusal(
      `A table fills one input of float32, and this model takes ${inputsText(model.onnx)}. ` +
        'Drop arrays for it, a .npz with an array for each input.',
    );
  const { names, hasNames, count } = await columnsOf(file);
  const target = choices.target ?? names.find((name) => TARGETS.test(name)) ?? names[names.length - 1];
  const width = model.onnx.outputs[0]?.dims.at(-1);
  const isScores = !model.made && typeof width === 'number' && width > 1;
  const task = choices.task ?? (isScores ? 'classification' : undefined);
  const options = {
    target,
    input: input.name,
    ...(count >= FEW && { validation: HELD_OUT, seed: SEED }),
    ...(task && { task }),
    ...(!hasNames && { header: names }),
  };
  const { table, ignore, left } = await readWithout(file, options, choices.ignore ?? []);
  const dims = checkedDims(table, input, model);
  return dataOf(file, table, { ...options, ...(ignore.length && { ignore }) }, left, dims);
}

/**
 * Leaves out columns that readTable refuses: dates, and texts that are all different.
 * @param {File} file @param {any} options @param {string[]} ignore
 */
async function readWithout(file, options, ignore) {
  const left = /** @type {string[]} */ ([]);
  for (;;) {
    const given = [...ignore, ...left];
    try {
      const table = /** @type {import('../js/types.js').Table & { labels: any }} */ (
        await readTable(file, { ...options, ...(given.length && { ignore: given }) })
      );
      return { table, ignore: given, left };
    } catch (error) {
      const [, column] = /column '(.*?)'/.exec(error.message) ?? [];
      if (column === undefined || column === options.target || given.includes(column)) throw error;
      left.push(column);
    }
  }
}

/**
 * The dims of an example in the model.
 * @param {any} table @param {{ name: string, dims: (string | number)[] }} input @param {Model} model
 */
function checkedDims({ features }, { name, dims }, { made }) {
  const inner = dims.slice(1);
  if (made || (inner.length === 1 && typeof inner[0] === 'string')) return [features.length];
  const wanted = inner.reduce((/** @type {number} */ a, b) => a * Number(b), 1);
  if (wanted === features.length) return inner.map(Number);
  const names = features.slice(0, 5).join(', ') + (features.length > 5 ? ' …' : '');
  const are = `${counted(features.length, 'number')} (${names})`;
  const way = features.length > wanted ? 'leave out columns' : 'add the columns that it was trained with';
  if (Number.isNaN(wanted))
    throw new Refusal(
      `A row becomes ${are}, and '${name}' takes (${dims.join(', ')}), of which the sizes are not told.`,
    );
  throw new Refusal(
    `A row becomes ${are}, and the model's input '${name}' takes ${wanted}: ` + `${way}, or take the small network.`,
  );
}

/**
 * @param {File} file @param {any} table @param {any} options @param {string[]} left @param {number[]} dims
 * @returns {Data}
 */
function dataOf(file, table, options, left, dims) {
  const { validation, columns, features, classes } = table;
  const shaped = (/** @type {any} */ examples) => ({
    inputs: Object.fromEntries(
      Object.entries(examples.inputs).map(([name, t]) => {
        const tensor = /** @type {any} */ (t);
        return [name, dims.length > 1 ? new Tensor('float32', tensor.data, [tensor.dims[0], ...dims]) : tensor];
      }),
    ),
    labels: /** @type {any} */ (Object.values(examples.labels)[0]),
  });
  const all = shaped(table);
  const heldOut = validation && shaped(validation);
  const learned = all.labels.dims[0];
  const count = learned + (heldOut?.labels.dims[0] ?? 0);
  const target = String(options.target);
  const kept = columns.filter((/** @type {any} */ column) => column.role === 'input');
  return {
    kind: 'table',
    words:
      `${counted(count, 'row')} of ${counted(kept.length, 'column')}, ${counted(features.length, 'number')} for the ` +
      `model; '${target}' is ${classes ? `the class, ${namesText(classes)}` : 'the number to predict'}.`,
    warnings: [
      ...left.map((name) => `Column '${name}' is left out: it has dates, or texts that are all different.`),
      ...table.warnings.map(sentenceOf),
    ],
    count,
    task: classes ? 'classes' : 'numbers',
    classes,
    learned: all,
    heldOut,
    judged: Array.from({ length: heldOut ? count - learned : count }, (_, i) => (heldOut ? learned + i : i)),
    head: [...kept.map((/** @type {any} */ column) => column.name), target],
    example: (i) => {
      const [from, row] = i < learned ? [all, i] : [/** @type {any} */ (heldOut), i - learned];
      const tensor = /** @type {any} */ (Object.values(from.inputs)[0]);
      const numbers = tensor.data.subarray(row * features.length, (row + 1) * features.length);
      return [...cellsOf(kept, numbers), labelText(from.labels, row, classes)];
    },
    read: { file: file.name, options, dims, columns, made: { mean: table.mean, variance: table.variance } },
  };
}

/** The cells that the numbers of a row stand for. @param {any[]} columns @param {Float32Array} numbers */
function cellsOf(columns, numbers) {
  let at = 0;
  return columns.map(({ type, categories }) => {
    const width = type === 'category' ? categories.length : 1;
    const part = numbers.subarray(at, at + width);
    at += width;
    if (type === 'category') return categories[part.indexOf(1)] ?? '–';
    return type === 'boolean' ? (part[0] ? 'true' : 'false') : numberText(part[0]);
  });
}

/** @param {any} labels @param {number} row @param {readonly string[]} [classes] */
export function labelText(labels, row, classes) {
  if (classes) return classes[Number(labels.data[row])] ?? String(labels.data[row]);
  const width = labels.dims[1] ?? 1;
  return Array.from(labels.data.subarray(row * width, (row + 1) * width), Number)
    .map(numberText)
    .join(', ');
}
