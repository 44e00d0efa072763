// Numbers, sizes and shapes as people read them, and the sentence of an error.

const UNITS = ['bytes', 'KB', 'MB', 'GB'];

/** @param {number} bytes */
export function sizeText(bytes) {
  const unit = Math.min(3, Math.max(0, Math.floor(Math.log10(bytes || 1) / 3)));
  const value = bytes / 1000 ** unit;
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en')} ${UNITS[unit]}`;
}

/** @param {number} count */
export const countText = (count) => count.toLocaleString('en');

/** @param {number} count @param {string} noun @param {string} [plural] */
export const counted = (count, noun, plural = `${noun}s`) => `${countText(count)} ${count === 1 ? noun : plural}`;

/** @param {number} ms */
export const timeText = (ms) =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

/** @param {number} share */
export const percentText = (share) => `${(100 * share).toFixed(share < 0.9995 && share > 0 ? 1 : 0)} %`;

/** @param {readonly (number | string)[]} dims */
export const shapeText = (dims) => (dims.length ? `(${dims.join(', ')})` : 'a single number');

/** @param {number} value */
export const numberText = (value) =>
  Number.isInteger(value) ? String(value) : Number(value.toPrecision(4)).toString();

/** The names in a sentence, the first few of many. @param {readonly string[]} names */
export function namesText(names, most = 4) {
  const shown = names.slice(0, most).map((name) => `'${name}'`);
  if (names.length > most) return `${shown.join(', ')} and ${countText(names.length - most)} more`;
  return shown.length > 1 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : (shown[0] ?? 'none');
}

/** The message of an error with a full stop. @param {unknown} error */
export function messageOf(error) {
  const words = String(/** @type {any} */ (error)?.message ?? error).trim();
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

/** The same as a sentence of its own; a name at its start stays as it is. @param {unknown} error */
export function sentenceOf(error) {
  const words = messageOf(error);
  return /^[a-z]+ /.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
}

/** Types and shapes of a model's inputs. @param {Pick<import('./onnx-file.js').OnnxFile, 'inputs'>} onnx */
export const inputsText = ({ inputs }) =>
  inputs.map(({ name, type, dims }) => `'${name}' ${type} ${shapeText(dims)}`).join(' and ') || 'nothing';
