/** The training loop: epochs, batches, schedule, validation, early stopping, checkpoints, and a place in the data to resume at. */

import { close, isArrays, openData, permutation, splitData } from './data.js';
import { checkKeys, checkSignal, checkWhole, TrainletError } from './errors.js';
import { evaluate } from './evaluate.js';
import { accuracyPair, Tally } from './metrics.js';
import { openSchedule } from './schedule.js';

/** @import { Dataset, EpochEvent, FitOptions, History } from './types.js' */
/** @import { Ask, GraphInfo, NumberOutputs, Position, SessionInfo } from './protocol.js' */
/** @import { Batch, Batches, Reader } from './data.js' */

/** @typedef {{ ask: Ask, info: SessionInfo, seed: number }} Session */

const KEYS = [
  'epochs', 'batchSize', 'shuffle', 'seed', 'resume', 'accumulate', 'maxSteps', 'validation', 'metrics', 'schedule',
  'earlyStopping', 'checkpoint', 'onNaN', 'onBatch', 'onEpoch', 'signal',
];
/** @type {Position} */
const NOWHERE = [0, 0, 0, 0, 0];
const UNSHUFFLED = -1;

/**
 * @param {Session} session
 * @param {Dataset} data
 * @param {FitOptions} options
 */
export async function fit(session, data, options) {
  checkOptions(data, options);
  const fitting = new Fit(session, data, options);
  await fitting.start();
  return await fitting.run();
}

/** @param {Dataset} data @param {FitOptions} options */
function checkOptions(data, options) {
  checkKeys('fit', options, KEYS);
  const { epochs = 1, batchSize = 32, accumulate = 1, maxSteps, seed, earlyStopping, checkpoint, onNaN = 'throw' } = options;
  checkWhole('epochs', epochs, 1);
  checkWhole('batchSize', batchSize, 1);
  checkWhole('accumulate', accumulate, 1);
  if (maxSteps !== undefined) checkWhole('maxSteps', maxSteps, 1);
  if (seed !== undefined) checkWhole('seed', seed, 0);
  checkKeys('earlyStopping', earlyStopping, ['patience', 'monitor', 'minDelta', 'restoreBest']);
  if (earlyStopping) checkWhole('earlyStopping: patience', earlyStopping.patience, 1);
  checkKeys('checkpoint', checkpoint, ['store', 'name', 'everySteps', 'everyMs']);
  if (!['throw', 'stop', 'skip'].includes(onNaN)) throw invalid(`onNaN must be 'throw', 'stop' or 'skip', not '${onNaN}'`);
  const stray = isArrays(data) ? undefined : /** @type {const} */ (['batchSize', 'shuffle', 'seed']).find((key) => options[key] !== undefined && options[key] !== false);
  if (stray) throw invalid(`fit: ${stray} is for whole arrays; batches are trained as they come`);
}

/** @param {string} message */
const invalid = (message) => new TrainletError('invalid-argument', message);

class Fit {
  #ask;
  #info;
  #options;
  /** @type {Reader} */
  #train;
  /** @type {Dataset | undefined} */
  #validation;
  #pair;
  /** @type {string[]} */
  #fetches;
  #sessionSeed;
  #seed = UNSHUFFLED;
  #epochs;
  #batchSize;
  #accumulate;

  /** @type {((step: number) => number) | undefined} */
  #schedule;
  #lr = 0;
  #epoch = 0;
  #batch = 0;
  #batches;
  /** Optimizer steps since the fit's start, and how many of them other calls did. */
  #step = 0;
  #firstStep = 0;
  #gradientsOpen = false;
  #tally = new Tally();
  #startedAt = performance.now();
  #awayMs = 0;
  #examplesDone = 0;
  #batchesDone = 0;
  #savedAt = performance.now();
  #savedStep = 0;
  /** @type {{ value: number, epoch: number, parameters?: Float32Array<ArrayBuffer> } | undefined} */
  #best;
  /** @type {{ epochs: EpochEvent[], steps: number, skipped: number, stopped: History['stopped'] }} */
  #history = { epochs: [], steps: 0, skipped: 0, stopped: 'failed' };

  /** @param {Session} session @param {Dataset} data @param {FitOptions} options */
  constructor({ ask, info, seed }, data, options) {
    const { epochs = 1, batchSize = 32, accumulate = 1, validation, metrics } = options;
    const graph = /** @type {GraphInfo} */ (info.train);
    this.#ask = ask;
    this.#info = info;
    this.#options = options;
    this.#sessionSeed = seed;
    this.#epochs = epochs;
    this.#batchSize = batchSize;
    this.#accumulate = accumulate;
    const [training, heldOut] = typeof validation === 'number' ? splitData(data, validation, graph.inputs) : [data, validation];
    this.#validation = heldOut;
    if (heldOut && !info.eval) throw invalid('fit: validation needs a session with an evalModel');
    const pair = accuracyPair(info, metrics);
    this.#pair = pair && graph.outputs.some(({ name }) => name === pair.output) ? pair : undefined;
    if (metrics && pair && !this.#pair && !heldOut) {
      throw invalid(`fit: accuracy needs validation, or artifacts with additionalOutputs: ['${pair.output}']`);
    }
    this.#fetches = this.#pair ? [this.#pair.output] : [];
    this.#train = openData(training, graph.inputs, batchSize, this.#pair?.label);
    this.#batches = this.#train.batches;
  }

  /** Finds the place to begin at: that of a fit cut short, or the start. */
  async start() {
    const ask = this.#ask;
    const [position, steps, lr] = await Promise.all([ask('getPosition', undefined), ask('steps', undefined), ask('getLearningRate', undefined)]);
    const { shuffle = true, seed = (this.#sessionSeed + steps) >>> 0 } = this.#options;
    this.#lr = lr;
    if (this.#train.examples && shuffle) this.#seed = seed;
    if (this.#canContinue(position)) [this.#epoch, this.#batch, this.#seed] = position;
    else await ask('setPosition', NOWHERE);
    this.#step = this.#batches ? this.#epoch * this.#stepsPerEpoch(this.#batches) + Math.floor(this.#batch / this.#accumulate) : 0;
    this.#firstStep = this.#step;
    this.#savedStep = this.#step;
    this.#schedule = openSchedule(this.#options.schedule, this.#lastStep());
  }

  /** @param {Position} position */
  #canContinue([epoch, batch, seed, examples, batchSize]) {
    const { resume = true, shuffle = true, seed: wanted = seed } = this.#options;
    return resume && epoch + batch > 0 && epoch < this.#epochs && examples === this.#train.examples && batchSize === this.#batchSize
      && shuffle === (seed !== UNSHUFFLED) && wanted === seed;
  }

  /** @returns {Promise<History>} */
  async run() {
    try {
      await this.#runEpochs();
      return this.#history;
    } catch (error) {
      await this.#explain(error);
      throw error;
    } finally {
      if (this.#gradientsOpen) await this.#ask('resetGrad', undefined).catch(() => {}); // a session that is gone has said so
    }
  }

  /** Gives an error the history, and leaves a checkpoint when it is only the signal. @param {unknown} error */
  async #explain(error) {
    if (!(error instanceof TrainletError)) return;
    error.history = this.#history;
    if (error.code !== 'aborted') return;
    this.#history.stopped = 'aborted';
    await this.#save();
  }

  async #runEpochs() {
    let stop = await this.#runEpoch();
    while (!stop && this.#epoch + 1 < this.#epochs) {
      this.#epoch++;
      this.#batch = 0;
      stop = await this.#runEpoch();
    }
    if (stop !== 'max-steps') await this.#ask('setPosition', NOWHERE);
    if (this.#best?.parameters) await this.#restore(this.#best.parameters);
    this.#history.stopped = stop ?? 'completed';
    await this.#save();
  }

  /** @returns {Promise<History['stopped'] | undefined>} why the fit ends, if it does */
  async #runEpoch() {
    this.#tally = new Tally();
    const { examples } = this.#train;
    const order = examples && this.#seed !== UNSHUFFLED ? permutation(examples, this.#seed, this.#epoch) : undefined;
    const batches = this.#train.read(order, this.#batch);
    try {
      const stop = await this.#runBatches(batches);
      if (stop) return stop;
    } finally {
      close(batches);
    }
    await this.#closeGroup();
    if (!this.#batch) throw invalid(`data set: it gave no batch in epoch ${this.#epoch}; give whole arrays, or a function that returns a new iterable`);
    this.#batches ??= this.#batch;
    return await this.#endEpoch();
  }

  /** @param {Batches} batches @returns {Promise<History['stopped'] | undefined>} */
  async #runBatches(batches) {
    for (let next = await batches.next(); !next.done;) {
      checkSignal(this.#options.signal);
      if (this.#options.maxSteps === this.#history.steps) return 'max-steps';
      const { value: batch } = next;
      const running = this.#send(batch);
      [next] = await Promise.all([batches.next(), running]);
      const result = await running;
      this.#batch++;
      if (result.stop) return 'non-finite-loss';
      if (!result.skip) this.#tell(batch, result);
      await this.#saveIfDue();
    }
    return undefined;
  }

  /**
   * One batch to the worker; the last of a group of `accumulate` makes the optimizer step.
   * @param {Batch} batch
   * @returns {Promise<{ loss: number, outputs: NumberOutputs, stop?: boolean, skip?: boolean }>}
   */
  async #send({ feeds }) {
    const done = this.#batch + 1;
    const optimize = done % this.#accumulate === 0 || done === this.#batches;
    const lr = this.#schedule?.(this.#step);
    this.#lr = lr ?? this.#lr;
    const position = optimize ? this.#positionAfter(done) : undefined;
    this.#gradientsOpen = true;
    try {
      const result = await this.#ask('step', { feeds, fetches: this.#fetches, optimize, lr, position }, [feeds.buffer]);
      if (optimize) this.#countStep();
      return result;
    } catch (error) {
      return await this.#onNaN(error);
    }
  }

  #countStep() {
    this.#gradientsOpen = false;
    this.#step++;
    this.#history.steps++;
  }

  /** @param {unknown} error */
  async #onNaN(error) {
    const { onNaN = 'throw' } = this.#options;
    if (!(error instanceof TrainletError) || error.code !== 'non-finite-loss' || onNaN === 'throw') throw error;
    this.#history.skipped++;
    await this.#ask('resetGrad', undefined);
    this.#gradientsOpen = false;
    return { loss: NaN, outputs: {}, stop: onNaN === 'stop', skip: onNaN === 'skip' };
  }

  /** The optimizer step of a last group that a stream left unfinished. */
  async #closeGroup() {
    if (!this.#gradientsOpen) return;
    await this.#ask('optimize', undefined);
    await this.#ask('resetGrad', undefined);
    this.#countStep();
  }

  /** The place to go on at when so many batches of the epoch are done. @param {number} done @returns {Position} */
  #positionAfter(done) {
    const over = done === this.#batches;
    if (!this.#train.examples || (over && this.#epoch + 1 === this.#epochs)) return NOWHERE;
    return [this.#epoch + Number(over), over ? 0 : done, this.#seed, this.#train.examples, this.#batchSize];
  }

  /** @param {Batch} batch @param {{ loss: number, outputs: NumberOutputs }} result */
  #tell(batch, { loss, outputs }) {
    /** @type {Record<string, number>} */
    const metrics = { loss, ...this.#tally.add(batch, loss, this.#pair && outputs[this.#pair.output]) };
    this.#examplesDone += batch.examples;
    this.#batchesDone++;
    this.#options.onBatch?.({ ...this.#progress(), steps: this.#lastStep(), batch: this.#batch, batches: this.#batches, loss, metrics });
  }

  async #endEpoch() {
    const since = performance.now();
    const metrics = this.#tally.examples ? this.#tally.means : { loss: NaN };
    if (this.#validation) Object.assign(metrics, await this.#validate(this.#validation));
    this.#awayMs += performance.now() - since;
    const event = { ...this.#progress(), loss: metrics.loss, metrics };
    this.#history.epochs.push(event);
    const stop = await this.#earlyStop(metrics);
    if (!stop && this.#epoch + 1 < this.#epochs) await this.#save();
    this.#options.onEpoch?.(event);
    return stop;
  }

  /** @param {Dataset} data */
  async #validate(data) {
    const { metrics, signal, batchSize } = this.#options;
    const found = await evaluate({ ask: this.#ask, info: this.#info }, data, { metrics, signal, batchSize });
    return Object.fromEntries(Object.entries(found).map(([name, value]) => [`val_${name}`, value]));
  }

  /** @param {Record<string, number>} metrics @returns {Promise<'early-stopping' | undefined>} */
  async #earlyStop(metrics) {
    const { earlyStopping } = this.#options;
    if (!earlyStopping) return undefined;
    const { patience, monitor = this.#validation ? 'val_loss' : 'loss', minDelta = 0, restoreBest } = earlyStopping;
    if (!Object.hasOwn(metrics, monitor)) throw invalid(`earlyStopping: there is no '${monitor}' to monitor; there are ${Object.keys(metrics).join(', ')}`);
    const value = monitor.endsWith('accuracy') ? -metrics[monitor] : metrics[monitor];
    if (!this.#best || value < this.#best.value - minDelta) {
      this.#best = { value, epoch: this.#epoch, parameters: restoreBest ? await this.#ask('copyOut', false) : undefined };
    }
    return this.#epoch - this.#best.epoch >= patience ? 'early-stopping' : undefined;
  }

  /** @param {Float32Array<ArrayBuffer>} parameters */
  async #restore({ buffer }) {
    await this.#ask('copyIn', { trainableOnly: false, bytes: new Uint8Array(buffer) }, [buffer]);
  }

  async #saveIfDue() {
    const { everySteps = Infinity, everyMs = Infinity } = this.#options.checkpoint ?? {};
    if (this.#gradientsOpen || this.#step === this.#savedStep) return;
    if (this.#step - this.#savedStep >= everySteps || performance.now() - this.#savedAt >= everyMs) await this.#save();
  }

  async #save() {
    const { checkpoint } = this.#options;
    if (!checkpoint) return;
    const since = performance.now();
    const bytes = await this.#ask('save', { optimizerState: true, format: 'trainlet' });
    await checkpoint.store.save(checkpoint.name, bytes, { epoch: this.#epoch, step: this.#step });
    this.#savedStep = this.#step;
    this.#savedAt = performance.now();
    this.#awayMs += this.#savedAt - since;
  }

  /** What every event tells of the time. */
  #progress() {
    const elapsed = performance.now() - this.#startedAt;
    const left = this.#batchesLeft();
    return {
      step: this.#step, epoch: this.#epoch, epochs: this.#epochs, lr: this.#lr,
      samplesPerSecond: (1000 * this.#examplesDone) / Math.max(1, elapsed - this.#awayMs),
      etaMs: left === undefined ? undefined : (left * elapsed) / Math.max(1, this.#batchesDone),
    };
  }

  #batchesLeft() {
    const { maxSteps = Infinity } = this.#options;
    const cap = (maxSteps - this.#history.steps) * this.#accumulate;
    const left = this.#batches === undefined ? Infinity : (this.#epochs - this.#epoch) * this.#batches - this.#batch;
    return Math.min(cap, left) === Infinity ? undefined : Math.min(cap, left);
  }

  #lastStep() {
    const { maxSteps = Infinity } = this.#options;
    const whole = this.#batches === undefined ? Infinity : this.#epochs * this.#stepsPerEpoch(this.#batches);
    const last = Math.min(whole, this.#firstStep + maxSteps);
    return last === Infinity ? undefined : last;
  }

  /** @param {number} batches */
  #stepsPerEpoch(batches) { return Math.ceil(batches / this.#accumulate); }
}
