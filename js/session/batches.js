/** Runs of many examples in batches: rows of the feeds go in part by part, and the outputs are put together. */

import { checkSignal, checkWhole, invalid, TrainletError } from '../base/errors.js';
import { checkListeners } from '../base/own-options.js';
import { concatRows, sliceRows } from '../base/rows.js';

/** @import { BatchOptions, ValueInfo } from '../types.js' */
/** @import { GraphInfo, Outputs } from '../engine/protocol.js' */
/** @import { Taken } from '../base/tensor.js' */
/**
 * @typedef {[string, Taken | Taken[]][]} Bound feeds by name
 * @typedef {(bound: Bound) => Promise<Outputs>} Run
 * @typedef {BatchOptions & { signal?: AbortSignal }} Options
 * @typedef {{ names: readonly string[], rows: number, fixed?: number }} Examples the inputs that have them, and the
 * model's batch where that is fixed
 */

/**
 * Runs batches of the size that is asked for, else all examples as one.
 * @param {Run} run @param {Bound} bound @param {GraphInfo} info @param {Options} options
 */
export async function runInBatches(run, bound, info, options) {
  const { batchSize } = options;
  checkListeners('the options of a run', options, ['onProgress']);
  if (batchSize !== undefined) checkWhole('batchSize', batchSize, 1);
  const examples = examplesIn(bound, info.inputs, batchSize);
  return together(
    await runAll(run, bound, examples, batchSize ?? examples.rows, options),
    info.outputs,
    examples.fixed,
  );
}

/**
 * Runs batches that fit into memory.
 * @param {Run} run @param {Bound} bound @param {GraphInfo} info @param {Options} options
 * @param {TrainletError} refused why all at once did not
 */
export async function runInHalves(run, bound, info, options, refused) {
  try {
    const examples = examplesIn(bound, info.inputs);
    if (examples.rows === 1 || examples.fixed) throw refused;
    return together(await runAll(run, bound, examples, Math.ceil(examples.rows / 2), options), info.outputs);
  } catch (error) {
    throw error instanceof TrainletError && error.code === 'invalid-argument' ? refused : error;
  }
}

/**
 * Runs the batches one after another. One that does not fit into memory is halved, and so are those after it.
 * @param {Run} run @param {Bound} bound @param {Examples} examples @param {number} batchSize @param {Options} options
 */
async function runAll(run, bound, { names, rows, fixed }, batchSize, { onProgress, signal }) {
  const parts = /** @type {{ outputs: Outputs, count: number }[]} */ ([]);
  let size = fixed ?? batchSize;
  for (let from = 0; from < rows; ) {
    checkSignal(signal);
    const count = Math.min(size, rows - from);
    const outputs = await run(rowsFrom(bound, names, from, count, fixed)).catch((error) => {
      if (!isTooLarge(error) || count === 1 || fixed) throw error;
    });
    if (outputs) {
      parts.push({ outputs, count });
      from += count;
      onProgress?.({ done: from, of: rows });
    } else size = Math.ceil(count / 2);
  }
  return parts;
}

/** @param {unknown} error */
const isTooLarge = (error) => error instanceof TrainletError && error.code === 'out-of-memory';

/**
 * The inputs that have an example a row: the first one, and those with as many rows whose first dim is free, or has the
 * same number.
 * @param {Bound} bound @param {readonly ValueInfo[]} inputs @param {number} [batchSize]
 * @returns {Examples}
 */
function examplesIn(bound, inputs, batchSize) {
  const dimOf = (/** @type {string} */ name) => inputs.find((input) => input.name === name)?.dims[0];
  const tensors = bound.flatMap(([name, value]) => {
    const dim = dimOf(name);
    return Array.isArray(value) || dim === undefined || !value.dims.length ? [] : [{ name, dim, rows: value.dims[0] }];
  });
  const [first] = tensors;
  if (!first?.rows) throw invalid('batches need an input with an example a row, and none is fed');
  const { dim, rows } = first;
  const fixed = typeof dim === 'number' ? dim : undefined;
  if (fixed && batchSize !== undefined && batchSize !== fixed)
    throw invalid(`batchSize is ${batchSize}, and the input '${first.name}' takes batches of ${fixed} alone`);
  const isAlike = (/** @type {typeof first} */ other) =>
    other.rows === rows && (fixed ? other.dim === dim : typeof other.dim === 'string');
  return { names: tensors.filter(isAlike).map(({ name }) => name), rows, fixed };
}

/**
 * Some examples of the feeds; where the batch is fixed, the last is repeated up to that size.
 * @param {Bound} bound @param {readonly string[]} names @param {number} from @param {number} count
 * @param {number} [fixed]
 * @returns {Bound}
 */
function rowsFrom(bound, names, from, count, fixed = count) {
  return bound.map(([name, value]) => {
    if (Array.isArray(value) || !names.includes(name)) return [name, value];
    const part = sliceRows(value, from, from + count);
    const last = fixed > count ? Array(fixed - count).fill(sliceRows(part, count - 1, count)) : [];
    return [name, last.length ? concatRows([part, ...last]) : part];
  });
}

/**
 * @param {readonly { outputs: Outputs, count: number }[]} parts @param {readonly ValueInfo[]} infos
 * @param {number} [fixed]
 * @returns {Outputs}
 */
function together(parts, infos, fixed) {
  if (parts.length === 1 && !fixed) return parts[0].outputs;
  const outputOf = (/** @type {string} */ name) =>
    concatRows(parts.map(({ outputs, count }) => sliceRows(examplesOf(name, outputs[name], fixed ?? count), 0, count)));
  const examplesOf = (
    /** @type {string} */ name,
    /** @type {Outputs[string]} */ output,
    /** @type {number} */ rows,
  ) => {
    const dim = infos.find((info) => info.name === name)?.dims[0];
    const isAlike = output && !Array.isArray(output) && (typeof dim === 'string' || dim === fixed);
    if (isAlike && output.dims[0] === rows && restOf(output) === restOf(parts[0].outputs[name])) return output;
    throw invalid(
      `output '${name}' has no example a row, so batches of it cannot be put together: leave out batchSize`,
    );
  };
  return /** @type {any} */ (Object.fromEntries(Object.keys(parts[0].outputs).map((name) => [name, outputOf(name)])));
}

/** The dims of an example as text. @param {any} output */
const restOf = ({ dims }) => String(dims.slice(1));
