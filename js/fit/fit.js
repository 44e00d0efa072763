/**
 * The training loop: epochs, batches, schedule, validation, early stopping, checkpoints, and a position in the data to
 * resume at.
 */

import { checkSignal, invalid, TrainletError } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { unlessAborted } from '../base/unless-aborted.js';
import { openAugmenter } from '../data/augment.js';
import { checkData, close, namesBeside, nextOf, openData } from '../data/dataset.js';
import { byIndex } from '../data/example-weights.js';
import { splitData } from '../data/split.js';
import { Autosave } from './autosave.js';
import { openBudget } from './budget.js';
import { EarlyStopping } from './early-stopping.js';
import { evaluate, validate } from './evaluate.js';
import { Extent } from './extent.js';
import { Listeners } from './listeners.js';
import { measuresOf, Tally, trainingMeasures } from './metrics.js';
import { checkFitOptions, EMA_DECAY, ownFitOptions } from './options.js';
import { endOf, FitPosition } from './position.js';
import { NOWHERE, Progress } from './progress.js';
import { openSchedule, Plateau } from './schedule.js';
import { StallDetector } from './stall.js';
import { Steps } from './steps.js';
import { Throughput } from './throughput.js';
import { TrainingData } from './training-data.js';

/** @import { Dataset, EpochEvent, FitOptions, History } from '../types.js' */
/** @import { Ask, GraphInfo, Position, SessionInfo } from '../engine/protocol.js' */
/** @import { Batch, Batches } from '../data/dataset.js' */

export { evaluate, FitPosition };

/** @typedef {Awaited<ReturnType<typeof openBudget>>} Budget */
/** @typedef {{ ask: Ask, info: SessionInfo, position: FitPosition }} Session */

/**
 * @param {Session} session
 * @param {Dataset} data
 * @param {FitOptions} given
 */
export async function fit(session, data, given) {
  checkData('fit', data, given);
  const options = ownFitOptions(given);
  checkFitOptions(data, options);
  const budget = options.budget && (await openBudget(options));
  return await new Fit(session, data, options, budget).run();
}

class Fit {
  #ask;
  #info;
  #data;
  #fitPosition;
  #options;
  #train;
  /** @type {Dataset | undefined} */
  #validation;
  #measures;
  #batchSize;

  /** @type {Plateau | undefined} */
  #plateau;
  #extent;
  #progress;
  #steps;
  #listeners;
  /** @type {Tally} */
  #tally;
  #stall = new StallDetector();
  #budget;
  #throughput = new Throughput();
  #autosave;
  #earlyStopping;
  /** @type {{ -readonly [K in keyof History]: History[K] } & { epochs: EpochEvent[] }} */
  #history = { epochs: [], steps: 0, skipped: 0, stopped: 'failed' };
  #hasBegun = false;

  /** @param {Session} session @param {Dataset} data @param {FitOptions} options @param {Budget} [budget] */
  constructor({ ask, info, position }, data, options, budget) {
    const {
      epochs = 1,
      batchSize = 32,
      dropLast,
      accumulate = 1,
      maxSteps,
      validation,
      metrics,
      classWeight,
    } = options;
    const graph = /** @type {GraphInfo} */ (info.train);
    this.#ask = ask;
    this.#info = info;
    this.#data = data;
    this.#fitPosition = position;
    this.#autosave = new Autosave(ask, position, options);
    this.#options = options;
    this.#budget = budget;
    this.#listeners = new Listeners(options);
    this.#extent = new Extent({ epochs, accumulate, maxSteps });
    this.#batchSize = batchSize;
    const [training, heldOut] = splitData(data, validation, graph.inputs);
    this.#validation = heldOut;
    this.#earlyStopping = new EarlyStopping(ask, options, this.#usualMonitor);
    if (heldOut && !info.eval) throw invalid('fit: validation needs a session with an evalModel');
    const measures = measuresOf(info, metrics);
    this.#measures = trainingMeasures(measures, graph, metrics, heldOut !== undefined);
    const { pair: own } = this.#measures;
    this.#tally = new Tally(this.#measures);
    const weights = byIndex(classWeight, graph.classes);
    const reader = openData(training, graph.inputs, batchSize, own?.label, weights, dropLast);
    const beside = namesBeside(data, graph.inputs);
    const held = heldOut && openData(heldOut, info.eval?.inputs ?? [], batchSize, measures.pair?.label);
    this.#train = new TrainingData(reader, openAugmenter(options.augment, graph.inputs, beside), held, beside);
    this.#extent.batches = this.#train.batches;
    this.#progress = new Progress(this.#train.examples, batchSize);
    this.#steps = new Steps(ask, options, {
      fetches: own ? [own.output] : [],
      progress: this.#progress,
      extent: this.#extent,
      listeners: this.#listeners,
      history: this.#history,
    });
  }

  /** Begins where a fit was cut short, or at the start. */
  async #start() {
    const ask = this.#ask;
    const [position, steps, lr, sessionSeed] = await Promise.all([
      ask('getPosition', undefined),
      ask('steps', undefined),
      ask('getLearningRate', undefined),
      ask('getSeed', undefined),
    ]);
    if (this.#hasEnded(steps)) return;
    this.#fitPosition.isAsFrozen = true;
    const rest = this.#budget && this.#rest;
    Object.assign(this.#history, await this.#train.keepFeatures(ask, this.#options, this.#fitPosition, rest));
    const { shuffle = true, seed = (sessionSeed + steps) >>> 0, schedule, ema } = this.#options;
    this.#steps.lr = lr;
    if (shuffle) this.#progress.shuffle(seed);
    const continues = this.#progress.canContinueAt(position, this.#options) && (await this.#hasSameData(position));
    if (typeof schedule === 'object' && schedule?.type === 'plateau')
      this.#plateau = new Plateau(schedule, continues ? this.#savedAt(position)?.plateau : undefined);
    await (continues ? this.#continue(position) : this.#clearPosition('forget'));
    if (ema) await ask('tell', ['set_ema', ema.decay ?? EMA_DECAY, Number(!continues)]);
    const { step } = this.#progress;
    this.#extent.firstStep = step;
    this.#autosave.begin(step, () => this.#moment);
    this.#steps.schedule = openSchedule(schedule, this.#extent.wholeSteps ?? this.#extent.lastStep, this.#plateau);
    this.#hasBegun = true;
  }

  /** Tells whether the session is this fit's own last save: its caller was killed. @param {number} steps */
  #hasEnded(steps) {
    const end = this.#fitPosition.takeEnd(this.#options.resume ? this.#call(steps) : undefined);
    if (end) this.#history.stopped = end.stopped;
    return end !== undefined;
  }

  /**
   * Identifies this fit among others.
   * @param {number} steps of the optimizer
   * @returns {import('./position.js').Call | undefined}
   */
  #call(steps) {
    const [name, data] = [this.#options.checkpoint?.name, this.#train.fingerprint];
    if (name === undefined || data === undefined) return undefined;
    return { name, data, epochs: this.#extent.epochs, batchSize: this.#batchSize, steps };
  }

  /**
   * Takes over where a fit was cut: its position, and what the checkpoint says beside it unless another has moved the
   * position since.
   * @param {Position} position
   */
  async #continue(position) {
    const [epoch, batch] = position;
    const saved = this.#savedAt(position);
    this.#tally = new Tally(this.#measures, saved?.tally, saved?.measured);
    const counted = epoch * this.#extent.stepsPerEpoch + Math.floor(batch / this.#extent.accumulate);
    this.#progress.continueAt(position, saved?.step ?? counted);
    this.#autosave.least = saved?.least ?? Infinity;
    await this.#earlyStopping.continue(saved?.best);
    this.#mark(position);
  }

  /** @param {Position} position */
  #savedAt(position) {
    const { saved } = this.#fitPosition;
    return String(saved?.position) === String(position) ? saved : undefined;
  }

  /** True if the data are those of the interrupted fit; `resume` does not require them. @param {Position} position */
  async #hasSameData(position) {
    const was = this.#savedAt(position)?.data;
    if (this.#options.resume || was === undefined || was === this.#train.fingerprint) return true;
    await this.#listeners.warn(
      `fit: these are not the data of the fit that was cut short in epoch ${position[0]}, so it begins anew; ` +
        'with resume: true it goes on, on these',
    );
    return false;
  }

  /** Sets the fit's state for checkpoints from now on. @param {Position} position */
  #mark(position) {
    const train = this.#train;
    if (!train.examples) return;
    this.#fitPosition.saved = {
      position,
      step: this.#progress.step,
      tally: this.#tally.sums,
      measured: this.#tally.measured,
      get data() {
        return train.fingerprint; // for who saves it
      },
      best: this.#earlyStopping.best,
      plateau: this.#plateau?.sums,
      least: this.#autosave.least,
    };
  }

  /** The next fit begins anew. @param {'forget' | 'restore'} best */
  async #clearPosition(best) {
    const ask = this.#ask;
    this.#fitPosition.saved = undefined;
    await Promise.all([ask('best', best), ask('best', 'forget'), ask('setPosition', NOWHERE)]);
  }

  /** @returns {Promise<History>} */
  async run() {
    try {
      await this.#start();
      if (this.#hasBegun) await this.#runEpochs();
      return await this.#train.settle(this.#history);
    } catch (error) {
      await this.#steps.drop();
      throw await this.#explain(error);
    } finally {
      this.#train.close();
      this.#autosave.end();
      // a session that is gone has said so
      if (this.#options.ema && this.#hasBegun) await this.#ask('tell', ['set_ema', 0, 0]).catch(() => {});
      this.#fitPosition.close();
    }
  }

  /**
   * Gives an error the history, a loss that is not finite its reason, and leaves a checkpoint when it is only the
   * signal.
   * @param {unknown} error
   * @returns {Promise<unknown>} what to throw
   */
  async #explain(error) {
    if (!(error instanceof TrainletError)) return error;
    error.history = this.#history;
    if (error.code === 'non-finite-loss') {
      const { explain } = await lazy(() => import('../data/non-finite.js'));
      return await explain(error, { ask: this.#ask, info: this.#info }, this.#data, this.#steps.failed);
    }
    if (error.code !== 'aborted') return error;
    this.#history.stopped = 'aborted';
    if (!this.#hasBegun) return error;
    const failure = await this.#autosave.saveLast(this.#moment, false).catch((unsaved) => unsaved);
    // The engine had to be ended: the signal's sentence says what is left.
    if (failure?.code === 'worker-died') return error;
    if (failure instanceof TrainletError) failure.history = this.#history;
    return failure ?? error;
  }

  async #runEpochs() {
    let stop = await this.#runEpoch();
    while (!stop && !this.#isLastEpoch) {
      this.#progress.epoch++;
      this.#progress.batch = 0;
      stop = await this.#runEpoch();
    }
    this.#history.stopped = stop ?? 'completed';
    if (stop !== 'max-steps') await this.#clearPosition(this.#earlyStopping.best?.kept ? 'restore' : 'forget');
    const ended = stop !== 'max-steps';
    if (ended) this.#fitPosition.end = endOf(this.#call(await this.#ask('steps', undefined)), this.#history.stopped);
    await this.#autosave.saveLast(this.#moment, ended);
  }

  /** @returns {Promise<History['stopped'] | undefined>} why the fit ends, if it does */
  async #runEpoch() {
    const stop = await this.#readBatches();
    if (stop) return stop;
    await this.#steps.closeGroup();
    if (!this.#progress.batch)
      throw invalid(
        `data set: it gave no batch in epoch ${this.#progress.epoch}; ` +
          'give whole arrays, or a function that returns a new iterable',
      );
    this.#extent.batches ??= this.#progress.batch;
    return await this.#endEpoch();
  }

  /**
   * Reads the batches of an epoch; continues from its position when the feature cache is given up.
   * @returns {Promise<History['stopped'] | undefined>}
   */
  async #readBatches() {
    const batches = this.#train.read(this.#progress.seed, this.#progress.next, this.#options.signal);
    try {
      const stop = await this.#runBatches(batches);
      if (stop !== 'thawed') return stop;
    } finally {
      close(batches);
    }
    this.#fitPosition.isAsFrozen = true;
    this.#train.dropFeatures();
    return await this.#readBatches();
  }

  /** @param {Batches} batches @returns {Promise<History['stopped'] | 'thawed' | undefined>} */
  async #runBatches(batches) {
    const { signal } = this.#options;
    for (let next = await nextOf(batches, signal); !next.done; ) {
      checkSignal(signal);
      if (this.#options.maxSteps === this.#history.steps) return 'max-steps';
      if (this.#budget && !this.#steps.hasGradients && (await this.#rest())) return 'max-ms';
      if (!this.#fitPosition.isAsFrozen) return 'thawed';
      const { value: batch } = next;
      // batches that come from elsewhere may be long in coming
      this.#fitPosition.busy = this.#train.examples !== undefined;
      const running = this.#steps.send(batch);
      const coming = nextOf(batches, signal);
      coming.catch(() => {}); // reported below, after what is running
      const result = await running;
      next = await coming;
      this.#progress.batch++;
      if (result.stop) return 'non-finite-loss';
      const metrics = result.skip ? undefined : this.#tally.add(batch, result);
      if (!this.#steps.hasGradients) {
        this.#mark(this.#progress.after(this.#progress.batch));
        this.#fitPosition.settle();
      }
      if (metrics) this.#tell(batch, { loss: result.loss, ...metrics });
      await this.#listeners.heard(this.#steps.hasGradients, this.#fitPosition);
      const odd = this.#steps.hasGradients || result.skip ? undefined : this.#stall.look(this.#progress.step, result);
      if (odd) await this.#listeners.warn(odd);
      if (!this.#steps.hasGradients) await this.#autosave.saveIfDue(this.#moment);
    }
    return undefined;
  }

  /** Waits while the budget says so. Gives whether it is spent. */
  #rest = async () => {
    const budget = /** @type {Budget} */ (this.#budget);
    const { pausedMs } = budget;
    await budget.rest(this.#moment, () => this.#autosave.saveNew(this.#moment));
    this.#throughput.leaveOut(budget.pausedMs - pausedMs);
    this.#history.pausedMs = budget.pausedMs;
    return budget.isSpent;
  };

  /** @param {Batch} batch @param {Record<string, number> & { loss: number }} metrics */
  #tell(batch, metrics) {
    this.#throughput.add(batch.examples);
    const more = {
      steps: this.#extent.lastStep,
      batch: this.#progress.batch,
      batches: this.#extent.batches,
      loss: metrics.loss,
      metrics,
    };
    this.#listeners.tell({ ...this.#event, ...more });
  }

  async #endEpoch() {
    const since = performance.now();
    if (this.#tally.empty)
      throw new TrainletError(
        'non-finite-loss',
        `epoch ${this.#progress.epoch} has no mean loss: none of its labels counts, or every batch was left out`,
      );
    const { means: metrics } = this.#tally;
    const session = { ask: this.#ask, info: this.#info };
    if (this.#validation)
      Object.assign(metrics, await validate(session, this.#validation, this.#options, this.#train.heldOut));
    this.#throughput.leaveOut(performance.now() - since);
    const event = { ...this.#event, loss: metrics.loss, metrics };
    this.#history.epochs.push(event);
    const stop = (await this.#earlyStopping.see(metrics, this.#progress.epoch)) ? 'early-stopping' : undefined;
    this.#plateau?.see(metrics, this.#usualMonitor, this.#options.metrics);
    this.#tally = new Tally(this.#measures);
    if (!stop && !this.#isLastEpoch) {
      await this.#enterNextEpoch();
      await this.#autosave.saveEpoch(this.#moment);
    }
    await unlessAborted(this.#options.onEpoch?.(event), this.#options.signal);
    return stop;
  }

  async #enterNextEpoch() {
    if (!this.#train.examples) return;
    const position = this.#progress.nextEpoch;
    this.#mark(position);
    await this.#ask('setPosition', position);
  }

  get #isLastEpoch() {
    return this.#progress.epoch + 1 >= this.#extent.epochs;
  }

  get #usualMonitor() {
    return this.#validation ? 'val_loss' : 'loss';
  }

  get #moment() {
    const loss = this.#tally.empty ? this.#history.epochs.at(-1)?.loss : this.#tally.means.loss;
    return { step: this.#progress.step, epoch: this.#progress.epoch, loss };
  }

  /** The fields that all events have. */
  get #event() {
    const { step, epoch, batch } = this.#progress;
    const { epochs } = this.#extent;
    const left = this.#extent.batchesLeft(epoch, batch, this.#history.steps);
    return { step, epoch, epochs, lr: this.#steps.lr, ...this.#throughput.tell(this.#autosave.ms, left) };
  }
}
