/** The options of a fit, and their checks. */

import { checkKeys, checkWhole, invalid, nameOf, TrainletError } from '../base/errors.js';
import { checkListeners, needSignal, ownOptions } from '../base/own-options.js';
import { isArrays } from '../data/dataset.js';
import { SHARED } from '../features/compute.js';

/** @import { Dataset, FitOptions } from '../types.js' */

const LISTENERS = /** @type {const} */ ([
  'onBatch',
  'onEpoch',
  'onCheckpoint',
  'onFeatures',
  'onPause',
  'onResume',
  'onWarning',
]);
export const FIT_KEYS = /** @type {const} */ ([
  'epochs',
  'batchSize',
  'dropLast',
  'shuffle',
  'seed',
  'resume',
  'accumulate',
  'maxSteps',
  'validation',
  'metrics',
  'classWeight',
  'cacheFeatures',
  'augment',
  'schedule',
  'ema',
  'earlyStopping',
  'checkpoint',
  'budget',
  'onNaN',
  ...LISTENERS,
  'signal',
]);
/** PyTorch's. */
export const EMA_DECAY = 0.999;
export const EARLY_STOPPING_KEYS = /** @type {const} */ (['patience', 'monitor', 'minDelta', 'restoreBest']);
export const EMA_KEYS = /** @type {const} */ (['decay']);
export const CACHE_KEYS = /** @type {const} */ (['maxBytes', 'store']);
export const CHECKPOINT_KEYS = /** @type {const} */ (['store', 'name', 'everySteps', 'everyMs', 'everyEpochs', 'base']);
/** @param {FitOptions} options */
export function ownFitOptions(options) {
  const rate = ['lr', 'learningRate'].find((key) => key in Object(options));
  if (rate)
    throw invalid(
      `fit: ${rate} is of the optimizer: generateArtifacts(…, { optimizer: { type, lr } }), or schedule here`,
    );
  return ownOptions('fit', options, FIT_KEYS, [SHARED]);
}

/** @param {Dataset} data @param {FitOptions} options */
export function checkFitOptions(data, options) {
  checkListeners('fit', options, LISTENERS);
  needSignal(options.signal);
  const {
    epochs = 1,
    batchSize = 32,
    accumulate = 1,
    maxSteps,
    dropLast,
    seed,
    ema,
    earlyStopping,
    checkpoint,
    cacheFeatures,
    onNaN = 'throw',
  } = options;
  if (options.validation === null) throw invalid('validation must be a data set or a share of the data, not null');
  checkWhole('epochs', epochs, 1);
  checkWhole('batchSize', batchSize, 1);
  checkWhole('accumulate', accumulate, 1);
  if (maxSteps !== undefined) checkWhole('maxSteps', maxSteps, 1);
  if (seed !== undefined) checkWhole('seed', seed, 0);
  if (dropLast !== undefined && typeof dropLast !== 'boolean')
    throw invalid(`dropLast must be true or false, not ${nameOf(dropLast)}`);
  checkKeys('earlyStopping', earlyStopping, EARLY_STOPPING_KEYS);
  if (earlyStopping) checkWhole('earlyStopping: patience', earlyStopping.patience, 1);
  checkKeys('ema', ema, EMA_KEYS);
  const { decay = EMA_DECAY } = ema ?? {};
  if (!(decay > 0 && decay < 1)) throw invalid(`ema: decay must be a number above 0 and below 1, not ${nameOf(decay)}`);
  checkCheckpoint(checkpoint);
  checkCacheFeatures('cacheFeatures', cacheFeatures);
  if (!['throw', 'stop', 'skip'].includes(onNaN))
    throw invalid(`onNaN must be 'throw', 'stop' or 'skip', not ${nameOf(onNaN)}`);
  const stray = isArrays(data)
    ? undefined
    : /** @type {const} */ (['batchSize', 'dropLast', 'shuffle', 'seed']).find(
        (key) => options[key] !== undefined && options[key] !== false,
      );
  if (stray) throw invalid(`fit: ${stray} is for whole arrays; batches are trained as they come`);
}

/**
 * True if the engine refused a batch because BatchNormalization has a single value for each channel
 * (src/ops/norm/batch_norm_internal.c).
 * @param {unknown} error @returns {error is TrainletError}
 */
export const hasNoVariance = (error) =>
  error instanceof TrainletError && /a single value for each channel/.test(error.message);

/** The name itself is the store's to judge. @param {FitOptions['checkpoint']} checkpoint */
export function checkCheckpoint(checkpoint) {
  checkKeys('checkpoint', checkpoint, CHECKPOINT_KEYS);
  if (!checkpoint) return;
  const { store, name } = checkpoint;
  if (typeof store?.save !== 'function')
    throw invalid(`checkpoint: store is what CheckpointStore.open gives, not ${nameOf(store)}`);
  if (typeof name !== 'string') throw invalid(`checkpoint: name must be a string, not ${nameOf(name)}`);
  for (const key of /** @type {const} */ (['everySteps', 'everyMs', 'everyEpochs']))
    if (checkpoint[key] !== undefined && !(typeof checkpoint[key] === 'number' && checkpoint[key] >= 0))
      throw invalid(`checkpoint: ${key} must be a number from 0 up, not ${nameOf(checkpoint[key])}`);
}

/** @param {string} where @param {unknown} wish */
export function checkCacheFeatures(where, wish) {
  if (['boolean', 'undefined'].includes(typeof wish)) return;
  checkKeys(where, /** @type {object} */ (wish), CACHE_KEYS);
  const { maxBytes = 0, store } = /** @type {any} */ (wish);
  checkWhole(`${where}: maxBytes`, maxBytes, 0);
  if (store !== undefined && !store?.gather)
    throw invalid(`${where}: store is what FeatureStore.open gives, not ${nameOf(store)}`);
}
