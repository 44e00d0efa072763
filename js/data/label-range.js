/** Labels of a whole data set that are no class. */

/** @import { ValueInfo } from '../types.js' */
/** @typedef {import('./dataset.js').Taken} Taken */

const PYTORCH_IGNORES = -100;

/**
 * Checks the labels of a whole data set, so that an error can name the user's row.
 * @param {string} name
 * @param {Taken} tensor
 * @param {ValueInfo['labels']} [labels]
 */
export function checkLabels(name, { data, dims }, labels) {
  const { classes = null, ignoreIndex } = labels ?? {};
  if (classes === null) return undefined;
  const isStray = (/** @type {number | bigint} */ label) =>
    (label < 0 || label >= classes) && Number(label) !== ignoreIndex;
  const at = /** @type {any} */ (data).findIndex(isStray);
  if (at < 0) return undefined;
  const row = Math.floor(at / (data.length / dims[0]));
  const hint =
    Number(data[at]) === PYTORCH_IGNORES
      ? ` (${PYTORCH_IGNORES} is PyTorch's ignore index: make the artifacts with ` +
        `loss: { type: 'cross-entropy', ignoreIndex: ${PYTORCH_IGNORES} })`
      : '';
  const has = `the scores have ${classes} classes, 0 to ${classes - 1}`;
  return `the labels '${name}' have ${data[at]} in row ${row}, but ${has}${hint}`;
}
