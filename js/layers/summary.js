/** The table of a network's layers, as Keras prints it. */

import { invalid } from '../base/errors.js';
import { Message } from '../formats/protobuf.js';
import { LAYERS_KEY } from './names.js';

/** @import { NotedCall } from './file.js' */
/** @typedef {{ name: string, isSequential: boolean, calls: NotedCall[] }} Noted */
/** @typedef {{ call: NotedCall, from?: string[] }} Row a layer, and unless all are a chain, what gives its inputs */

/** Characters of text in the columns of a line of 76. */
const [WIDTHS, WIDTHS_CONNECTED] = [
  [31, 22, 13],
  [19, 17, 10, 17],
];
const HEADS = ['Layer (type)', 'Output Shape', 'Param #', 'Connected to'];
const PARAMETERS = 2;
/** Places in a noted call. */
const [TRAINABLE, FROZEN] = /** @type {const} */ ([3, 4]);

/** @param {Uint8Array} network */
export function summary(network) {
  const noted = notedIn(network);
  const rows = rowsOf(noted);
  const widths = rows.some(({ from }) => from) ? WIDTHS_CONNECTED : WIDTHS;
  const [heads, ...lines] = [HEADS, ...rows.map(cellsOf)].map((cells) => linesOf(cells, widths));
  const rule = (/** @type {string} */ [left, line, cross, right]) =>
    left + widths.map((width) => line.repeat(width + 2)).join(cross) + right;
  const [trainable, frozen] = [TRAINABLE, FROZEN].map((i) => rows.reduce((sum, { call }) => sum + call[i], 0));
  const body = lines.map((all) => all.map((cells) => `│ ${cells.join(' │ ')} │`).join('\n'));
  return [
    `Model: "${noted.name}"`,
    rule('┏━┳┓'),
    ...heads.map((cells) => `┃ ${cells.join(' ┃ ')} ┃`),
    rule('┡━╇┩'),
    body.join(`\n${rule('├─┼┤')}\n`),
    rule('└─┴┘'),
    ` Total params: ${counted(trainable + frozen)}`,
    ` Trainable params: ${counted(trainable)}`,
    ` Non-trainable params: ${counted(frozen)}`,
  ].join('\n');
}

/** @param {Uint8Array} network @returns {Noted} */
function notedIn(network) {
  try {
    const entry = new Message(network).messages(14).find((one) => one.text(1) === LAYERS_KEY);
    if (entry) return JSON.parse(entry.text(2));
  } catch {} // damaged, or no ONNX file
  throw invalid('summary: wanted the bytes that sequential(…) or model(…) gave');
}

/** @param {Noted} noted @returns {Row[]} */
function rowsOf({ isSequential, calls }) {
  const names = calls.map(([name]) => name);
  const isOnce = new Set(names).size === names.length;
  const isChain =
    isOnce && calls.every(([, , , , , inputs], i) => (i ? inputs.length === 1 && inputs[0] === i - 1 : true));
  const callNumber = (/** @type {number} */ i) => names.slice(0, i).filter((name) => name === names[i]).length;
  const listed = isSequential ? names.slice(1) : byDepth(calls);
  return [...new Set(listed)].map((name) => {
    const own = calls.filter((call) => call[0] === name);
    const from = own.flatMap(([, , , , , inputs]) => inputs.map((i) => `${names[i]}[${callNumber(i)}][0]`));
    return { call: own[own.length - 1], ...(isChain ? {} : { from }) };
  });
}

/** Names of layers by how many come after them, the most first, as Keras lists them. @param {NotedCall[]} calls */
function byDepth(calls) {
  /** @type {Map<string, number>} */
  const depths = new Map();
  const depthOf = (/** @type {string} */ name) => depths.get(name) ?? 0;
  for (const [name, , , , , inputs] of [...calls].reverse())
    for (const i of inputs) depths.set(calls[i][0], Math.max(depthOf(name) + 1, depthOf(calls[i][0])));
  return calls.map(([name]) => name).sort((a, b) => depthOf(b) - depthOf(a));
}

/** @param {Row} row */
const cellsOf = ({ call: [name, type, shape, trainable, frozen], from }) => [
  `${name} (${type})`,
  `(${shape.map((d) => d ?? 'None').join(', ')})`,
  commas(trainable + frozen),
  from?.length ? from.join(', ') : '-',
];

/**
 * The lines of a row of the table: each cell in words, of which what is too long ends in an ellipsis.
 * @param {readonly string[]} cells @param {readonly number[]} widths
 */
function linesOf(cells, widths) {
  const columns = widths.map((width, i) => wrapped(cells[i], width));
  const height = Math.max(...columns.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    columns.map((column, i) =>
      i === PARAMETERS ? (column[line] ?? '').padStart(widths[i]) : (column[line] ?? '').padEnd(widths[i]),
    ),
  );
}

/** @param {string} text @param {number} width */
function wrapped(text, width) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (longer.length <= width || !lines.at(-1)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line));
}

const commas = (/** @type {number} */ count) => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** Parameters and their bytes in float32. @param {number} count */
function counted(count) {
  let [size, unit] = [4 * count, 0];
  for (; size >= 1024 && unit < UNITS.length - 1; unit++) size /= 1024;
  return `${commas(count)} (${size.toFixed(2)} ${UNITS[unit]})`;
}
const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
