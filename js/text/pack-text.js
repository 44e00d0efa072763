/** Texts as the examples that a language model learns from: windows of token ids, each with the next as its label. */

import { checkKeys, checkWhole, invalid, nameOf } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { Tensor } from '../base/tensor.js';
import { decoderOf, emptyFor, tensorFor } from './decoder.js';

/** @import { PackedText, PackOptions, ValueInfo } from '../types.js' */
/** @import { Plain } from './decoder.js' */
/** @typedef {{ tokens: number[], learned: number }} Text its labels count from that token on */
/** @typedef {{ ids: number[], labels: number[], length: number }} Row `length`: without padding */

export const PACK_KEYS = /** @type {const} */ (['length', 'stride', 'padTokenId', 'ignoreIndex', 'shift', 'inputs']);

/** @type {readonly ValueInfo[]} */
const PLAIN = [{ name: 'input_ids', type: 'int64', dims: ['batch', 'sequence'] }];
/** @type {ValueInfo} */
const LABELS = { name: 'labels', type: 'int64', dims: ['batch', 'sequence'] };

/**
 * @param {import('../types.js').TextIds | readonly import('../types.js').TextIds[]} texts
 * @param {PackOptions} options
 * @returns {PackedText}
 */
export function packText(texts, options) {
  checkKeys('packText', options, PACK_KEYS);
  const { length, stride = length, padTokenId, ignoreIndex = -100, shift = true, inputs = PLAIN } = options ?? {};
  checkWhole('packText: length', length, 1);
  checkWhole('packText: stride', stride, 1);
  if (stride > length)
    throw invalid(`packText: the stride ${stride} is more than the length ${length}: what is between is lost`);
  if (padTokenId !== undefined) checkWhole('packText: padTokenId', padTokenId, 0);
  checkWhole('packText: ignoreIndex', ignoreIndex, Number.MIN_SAFE_INTEGER);
  const all = textsOf(texts);
  const rows = all.flatMap((text) =>
    rowsOf(text, { length, stride, padTokenId, ignoreIndex, shift: Number(Boolean(shift)) }),
  );
  if (rows.length) return tensorsOf(rows, length, inputs);
  const longest = all.reduce((most, { tokens }) => Math.max(most, tokens.length), 0);
  throw invalid(
    `packText: the longest text has ${longest} tokens, which give no window of ${length}; padTokenId fills one up`,
  );
}

/** @param {unknown} value @returns {value is ArrayLike<number | bigint>} */
const isIds = (value) =>
  (ArrayBuffer.isView(value) && !isKind(value, 'DataView')) ||
  (Array.isArray(value) && value.every((id) => typeof id === 'number' || typeof id === 'bigint'));

/** @param {unknown} texts @returns {Text[]} */
function textsOf(texts) {
  if (isIds(texts) && texts.length) return [textOf(texts)];
  if (Array.isArray(texts) && texts.length) return texts.map(textOf);
  throw invalid(`packText: wanted token ids, or an array of texts of them, not ${nameOf(texts)}`);
}

/** @param {any} text @returns {Text} */
function textOf(text) {
  if (isIds(text)) return { tokens: numbersOf(text), learned: 0 };
  const { prompt, answer, ...more } = text ?? {};
  if (!isIds(prompt) || !isIds(answer) || Object.keys(more).length)
    throw invalid(`packText: a text is an array of token ids, or { prompt, answer } of such, not ${nameOf(text)}`);
  return { tokens: [...numbersOf(prompt), ...numbersOf(answer)], learned: prompt.length };
}

/** @param {ArrayLike<number | bigint>} ids */
function numbersOf(ids) {
  const numbers = Array.from(ids, Number);
  for (const id of numbers) checkWhole('packText: a token', id, 0);
  return numbers;
}

/**
 * The windows of a text, in each of which a label counts.
 * @param {Text} text
 * @param {{ length: number, stride: number, padTokenId?: number, ignoreIndex: number, shift: number }} how
 */
function rowsOf({ tokens, learned }, { length, stride, padTokenId, ignoreIndex, shift }) {
  /** @type {Row[]} */
  const rows = [];
  const end = tokens.length - shift; // that many tokens have a label
  let done = Math.max(learned - shift, 0);
  for (let from = 0; from < end && done < end; from += stride) {
    const have = Math.min(length, end - from);
    if (have < length && padTokenId === undefined) break;
    const at = Array.from({ length }, (_, i) => from + i);
    const counts = (/** @type {number} */ place) => place >= done && place < end;
    const labels = at.map((place) => (counts(place) ? tokens[place + shift] : ignoreIndex));
    const ids = at.map((place) => (place < end ? tokens[place] : Number(padTokenId)));
    if (at.some(counts)) rows.push({ ids, labels, length: have });
    done = Math.max(done, from + have);
  }
  return rows;
}

/**
 * @param {Row[]} rows
 * @param {number} length
 * @param {readonly ValueInfo[]} inputs
 * @returns {PackedText}
 */
function tensorsOf(rows, length, inputs) {
  const { ids, mask, positions, past } = decoderOf('packText', inputs);
  const label = inputs.find((input) => input.labels) ?? inputs.find(({ name }) => name === 'labels') ?? LABELS;
  const dims = [rows.length, length];
  const all = (/** @type {ValueInfo} */ input, /** @type {(row: Row) => number[]} */ of) =>
    tensorFor(input, rows.flatMap(of), dims);
  const counted = (/** @type {Row} */ row) => row.ids.map((_, i) => Number(i < row.length));
  const places = (/** @type {Row} */ row) => row.ids.map((_, i) => i);
  /** @type {[string, Plain][]} */
  const fed = [
    [ids.name, all(ids, (row) => row.ids)],
    ...(mask ? [/** @type {[string, Plain]} */ ([mask.name, all(mask, counted)])] : []),
    ...(positions ? [/** @type {[string, Plain]} */ ([positions.name, all(positions, places)])] : []),
    ...past.map((cache) => /** @type {[string, Plain]} */ ([cache.input.name, emptyFor(cache, rows.length)])),
  ];
  return {
    inputs: Object.fromEntries(fed.map(([name, plain]) => [name, tensorOf(plain)])),
    labels: { [label.name]: tensorOf(all(label, (row) => row.labels)) },
  };
}

/** @param {Plain} plain @returns {any} */
const tensorOf = ({ type, data, dims }) => new Tensor(/** @type {any} */ (type), data, dims);
