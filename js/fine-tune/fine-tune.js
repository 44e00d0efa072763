/**
 * Fine-tuning in one call: a person's few examples on a pretrained model, with defaults that work, and a gate that lets
 * nothing through that is worse than before.
 */

import { checkKeys, checkSignal, checkWhole, invalid, nameOf } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { checkListeners, needSignal, ownOptions } from '../base/own-options.js';
import { unlessAborted } from '../base/unless-aborted.js';
import { classesOf, examplesOf, fed, ownClasses, replayOf, split } from '../data/labelled-examples.js';
import { ENGINE_KEYS } from '../engine/options.js';
import { SHARED } from '../features/compute.js';
import { checkBudget } from '../fit/budget.js';
import { checkCacheFeatures } from '../fit/options.js';
import { TrainingSession } from '../session/index.js';
import { INTERNALS, namesIn } from '../session/open.js';
import { readSource } from '../sources/source.js';
import { checkWish, DECIDING, keyOf, TuningCheckpoint } from './checkpoint.js';
import { scoresOf, take, weightsOf } from './gate.js';
import { beforeSigmoid } from './own-scores.js';
import { Progress } from './progress.js';
import { SharedFeatures } from './shared-features.js';

/**
 * @import { Artifacts, EpochEvent, FineTuned, FineTuneData, FineTuneOptions, FineTunePhase, FitOptions, Source }
 * from '../types.js'
 */
/** @import { Examples } from '../data/labelled-examples.js' */
/** @import { GraphInfo } from '../engine/protocol.js' */
/** @import { Options } from './progress.js' */
/**
 * @typedef {FineTuned & { key?: string, removed?: number }} Tuned the key of its checkpoints, how many of others went
 */
/** @typedef {{ name: FineTunePhase['name'], trains: string[], base: string[], lr: number, epochs: number }} Plan */

const KEYS = /** @type {const} */ ([
  'classes',
  ...DECIDING,
  'replay',
  'accept',
  'unknown',
  'cacheFeatures',
  'checkpoint',
  'budget',
  'engine',
  'onProgress',
  'onCheckpoint',
  'onPause',
  'onResume',
  'onWarning',
  'signal',
]);
/** @param {string} key */
const isOwn = (key) => KEYS.some((known) => known === key);
/** The learning rate that is usual for AdamW. */
const LR = 1e-3;
/** The share of the examples that is held out. */
const HELD_OUT = 0.2;
/** Layers below the head learn at this share of its rate. */
const LOWER_RATE = 0.1;
/** Epochs of the layers below the head, as a share of the head's. */
const LOWER_EPOCHS = 0.25;
/** The strength of the anchor that pulls parameters to the base. */
const ANCHOR = 0.1;
/** Pictures of a model that keeps its outputs are moved and turned so far. */
const AUGMENT = /** @type {const} */ ([
  { type: 'shift', x: 0.07, y: 0.07 },
  { type: 'rotate', degrees: 10 },
]);

/**
 * @param {Source} model @param {FineTuneData} data @param {FineTuneOptions} [options]
 * @returns {Promise<FineTuned>}
 */
export async function fineTune(model, data, options = {}) {
  const { key: _key, removed: _removed, ...tuned } = await tune(model, data, options);
  return tuned;
}

/**
 * @param {Source} model @param {FineTuneData} data @param {FineTuneOptions} given
 * @param {boolean} [alone] what other calls have saved under the name of its checkpoints is removed
 * @returns {Promise<Tuned>}
 */
export async function tune(model, data, given, alone = false) {
  const ofEngine = ENGINE_KEYS.find((key) => !isOwn(key) && key in Object(given));
  if (ofEngine) throw invalid(`fineTune: ${ofEngine} is an option of the engine: engine: { ${ofEngine} }`);
  const own = ownOptions('fineTune', given, KEYS);
  checkListeners('fineTune', own, ['onProgress', 'onCheckpoint', 'onPause', 'onResume', 'onWarning']);
  needSignal(own.signal);
  check(own);
  const begun = performance.now();
  const progress = own.onProgress && new Progress(own.onProgress, own);
  /** @type {Options} */
  const options = { ...own, onProgress: progress?.tell };
  const engine = own.engine ?? {};
  const bytes = await readSource('model', model, progress?.heard(engine) ?? engine);
  await progress?.loaded;
  const named = options.head === false ? options.classes : classesOf(data, options.classes);
  const tuning = await Tuning.open(bytes, named, options, begun);
  try {
    const tuned = await tuning.run(data, alone);
    await progress?.tell({ phase: 'done', done: 1, of: 1 });
    return tuned;
  } catch (error) {
    await tuning.session.release().catch(() => {});
    throw error;
  }
}

/** One call: the session, which another takes the place of where a call that was cut short goes on. */
class Tuning {
  session;
  #model;
  #artifacts;
  #named;
  #options;
  #begun;
  /** @type {SharedFeatures | undefined} */
  #shared;
  /** @type {FineTunePhase[]} */
  #phases = [];
  /** @type {string[]} */
  #warnings = [];

  /**
   * @param {Uint8Array} model @param {readonly string[] | undefined} named
   * @param {Options} options @param {number} begun
   */
  static async open(model, named, options, begun) {
    const make = async (/** @type {FineTuneOptions} */ own) => {
      const artifacts = await artifactsOf(model, named, own);
      return { artifacts, session: await TrainingSession.create(artifacts, { ...own.engine, signal: own.signal }) };
    };
    const { artifacts, session } = await beforeSigmoid(await make(options), make, options);
    return new Tuning({ model, named, options, begun }, artifacts, session);
  }

  /**
   * @param {{ model: Uint8Array, named?: readonly string[], options: Options, begun: number }}
   * call
   * @param {Artifacts} artifacts @param {TrainingSession} session
   */
  constructor({ model, named, options, begun }, artifacts, session) {
    this.session = session;
    this.#model = model;
    this.#artifacts = artifacts;
    this.#named = named;
    this.#options = options;
    this.#begun = begun;
  }

  /** @param {FineTuneData} data @param {boolean} alone @returns {Promise<Tuned>} */
  async run(data, alone) {
    const { seed = 0, validation = HELD_OUT, head, accept, signal } = this.#options;
    for (const warning of new Set([...this.#artifacts.warnings, ...this.session.warnings])) await this.#warn(warning);
    const classes = head === false ? ownClasses(this.session, this.#named) : /** @type {string[]} */ (this.#named);
    const all = examplesOf('fineTune: data', data, classes, this.session);
    checkBatch(this.session, all);
    const [train, heldOut] = split(all, validation, seed);
    const replay = this.#options.replay && replayOf(this.#options, classes, train, seed, this.session);
    const judged = { heldOut, replay: replay?.judged };
    const whole = replay?.learned ?? train;
    const checkpoint = await this.#checkpointOf([whole, heldOut], classes);
    const finished = alone ? undefined : await checkpoint?.findFinished();
    if (finished) return await this.#again(finished, [train, whole, judged]);
    if (head !== false) await this.#beginHead(train, whole, judged);
    const judging = performance.now();
    const [before, kept] = [await this.#scoresOf(judged), await weightsOf(this.session)];
    const judgingMs = performance.now() - judging;
    const removed = alone ? await checkpoint?.removeOthers() : 0;
    await this.#runPhases(whole, heldOut, judgingMs, checkpoint);
    const limits = { classes: classes.length, accept };
    const { after, share, reason } = await take(this.session, kept, before, judged, limits, this.#shared, signal);
    const calibration = heldOut && (await this.#calibrate(heldOut));
    checkSignal(signal);
    await this.#shared?.settle();
    const report = {
      accepted: share > 0,
      share,
      reason,
      classes,
      examples: { trained: train.labels.length, heldOut: heldOut?.labels.length ?? 0 },
      before,
      after,
      ...(calibration && { calibration }),
      phases: this.#phases,
      warnings: this.#warnings,
      ...(this.#shared && { features: this.#shared.report }),
      ms: performance.now() - this.#begun,
    };
    const saved = await checkpoint?.saveLast(this.session, report, signal);
    return {
      key: checkpoint?.key,
      removed,
      session: this.session,
      artifacts: this.#artifacts,
      report: { ...report, ...(saved && { checkpoint: saved }) },
      rollback: () => this.session.loadParametersBuffer(kept, false),
    };
  }

  /**
   * Gives what the same call has finished before.
   * @param {NonNullable<Awaited<ReturnType<TuningCheckpoint['findFinished']>>>} found
   * @param {[train: Examples, whole: Examples, judged: { heldOut?: Examples, replay?: Examples }]} examples
   * @returns {Promise<Tuned>}
   */
  async #again({ bytes, report, version }, examples) {
    await this.#goOnFrom(bytes);
    const { session } = this;
    const rollback = async () => await session.loadParametersBuffer(await this.#firstWeights(examples), false);
    return { session, artifacts: this.#artifacts, report: { ...report, checkpoint: { version } }, rollback };
  }

  /**
   * The weights of before the first step, made anew.
   * @param {[train: Examples, whole: Examples, judged: { heldOut?: Examples, replay?: Examples }]} examples
   */
  async #firstWeights(examples) {
    const { onProgress: _, signal: __, ...options } = this.#options;
    const session = await TrainingSession.create(this.#artifacts, { ...options.engine });
    const call = { model: this.#model, named: this.#named, options, begun: this.#begun };
    try {
      if (options.head !== false) await new Tuning(call, this.#artifacts, session).#beginHead(...examples);
      return await weightsOf(session);
    } finally {
      await session.release();
    }
  }

  /**
   * Starts the head with class means. Computes the features of each example, once for all phases; the user's examples
   * come first.
   * @param {Examples} train @param {Examples} whole @param {{ heldOut?: Examples, replay?: Examples }} judged
   */
  async #beginHead(train, whole, judged) {
    const { signal, augment, cacheFeatures } = this.#options;
    const sets = [whole, ...Object.values(judged).flatMap((examples) => examples ?? [])];
    const options = { signal, cacheFeatures, onFeatures: this.#tell };
    const isOff = augment || cacheFeatures === false;
    this.#shared = isOff ? undefined : await SharedFeatures.of(this.session, sets, options);
    const { initializeHead } = await lazy(() => import('../session/head.js'));
    const { head } = /** @type {GraphInfo} */ (this.session[INTERNALS].info.eval);
    const known = (/** @type {string} */ name) => this.#shared?.rowsOf(whole, name)?.slice(0, train.labels.length);
    await initializeHead(this.session, namesIn(head), fed(train), known, signal);
  }

  /** @param {import('../types.js').FeatureEvent} event */
  #tell = ({ done, examples, store }) =>
    this.#options.onProgress?.({ phase: 'features', done, of: examples, ...(store && { store }) });

  /** Tells what generateArtifacts would, and what fit finds. @param {string} warning */
  #warn = async (warning) => {
    if (this.#warnings.includes(warning)) return; // each phase finds it
    this.#warnings.push(warning);
    const { onWarning, signal } = this.#options;
    await unlessAborted((onWarning ?? console.warn)(warning), signal);
  };

  /** @param {{ heldOut?: Examples, replay?: Examples }} examples */
  #scoresOf(examples) {
    return scoresOf(this.session, examples, this.#shared, this.#options.signal);
  }

  /** 0 where none is held out. @param {Examples | undefined} examples */
  async #lossOf(examples) {
    const { heldOut } = await this.#scoresOf({ heldOut: examples });
    return heldOut?.loss ?? 0;
  }

  /** @param {Examples} heldOut */
  async #calibrate(heldOut) {
    const { calibrate } = await lazy(() => import('../session/calibration.js'));
    const { unknown, signal } = this.#options;
    const scores = await this.#shared?.scoresOf(this.session, heldOut, signal);
    const { info } = this.session[INTERNALS];
    return await calibrate(this.session, info, fed(heldOut), { unknown }, 'fineTune', scores, signal);
  }

  /** @param {(Examples | undefined)[]} examples @param {readonly string[]} classes */
  async #checkpointOf(examples, classes) {
    const { checkpoint } = this.#options;
    if (!checkpoint) return undefined;
    return new TuningCheckpoint(checkpoint, await keyOf(this.#model, examples, classes, this.#options), this.#options);
  }

  /**
   * Runs the phases. After an interruption, those before the last phase are repeated, with the same bits.
   * @param {Examples} train @param {Examples | undefined} heldOut @param {number} judgingMs @param {TuningCheckpoint}
   * [checkpoint]
   */
  async #runPhases(train, heldOut, judgingMs, checkpoint) {
    const found = await checkpoint?.find();
    const plans = await plansOf(this.session, this.#model, this.#options);
    const { anchor = ANCHOR } = this.#options;
    const base = plans.flatMap((plan) => plan.base);
    if (anchor && base.length) await this.session.setParameterGroups([{ params: base, anchor }]);
    for (const [i, plan] of plans.entries()) {
      const leftMs = this.#leftMs(judgingMs);
      if (leftMs < 1) return;
      const early = found && i < found.phase;
      const from = found?.phase === i ? found.bytes : undefined;
      const options = { checkpoint: early ? undefined : checkpoint?.of(i), leftMs, from };
      this.#phases.push(await this.#runPhase(plan, train, heldOut, options));
    }
  }

  /** The rest of the budget, without the time of the gate. @param {number} judgingMs */
  #leftMs(judgingMs) {
    const paused = this.#phases.reduce((sum, { history }) => sum + (history.pausedMs ?? 0), 0);
    const { maxMs = Infinity } = this.#options.budget ?? {};
    return Math.floor(maxMs - (performance.now() - this.#begun - paused) - judgingMs);
  }

  /**
   * @param {Plan} plan @param {Examples} train @param {Examples | undefined} heldOut
   * @param {{ checkpoint: FitOptions['checkpoint'], leftMs: number, from?: Uint8Array }} how
   * @returns {Promise<FineTunePhase>}
   */
  async #runPhase(plan, train, heldOut, { checkpoint, leftMs, from }) {
    checkSignal(this.#options.signal);
    const begun = performance.now();
    await this.session.setTrainable(plan.trains);
    const [kept, first] = [await weightsOf(this.session), await this.#lossOf(heldOut)];
    if (from) await this.#goOnFrom(from);
    const augment = augmentOf(this.session, this.#options);
    const shared = this.#shared && { [SHARED]: { features: this.#shared, training: train, heldOut } };
    const { cacheFeatures } = this.#options;
    const features = { augment, cacheFeatures, checkpoint, resume: Boolean(from), onFeatures: this.#tell, ...shared };
    const fit = { ...fitOf(plan, train, heldOut, this.#options, leftMs), ...features, onWarning: this.#warn };
    const history = await this.session.fit(fed(train), fit);
    const improved = (await this.#lossOf(heldOut)) <= first;
    if (!improved) await this.session.loadParametersBuffer(kept, false);
    return { name: plan.name, improved, history, ms: performance.now() - begun };
  }

  /** @param {Uint8Array} checkpointState */
  async #goOnFrom(checkpointState) {
    const { engine, signal } = this.#options;
    const session = await TrainingSession.create({ ...this.#artifacts, checkpointState }, { ...engine, signal });
    await this.session.release();
    this.session = session;
  }
}

/**
 * Exporters fix the batch unless the user says otherwise. @param {TrainingSession} session @param {Examples} examples
 */
function checkBatch({ trainingInputs }, { inputs }) {
  const fixed = trainingInputs.find(({ name, dims }) => inputs[name] && typeof dims[0] === 'number');
  if (fixed)
    throw invalid(
      `fineTune: input '${fixed.name}' takes ${fixed.dims[0]} at a time, for so it was exported: ` +
        'export the model with a dynamic first dim (dynamic_shapes or dynamic_axes of torch.onnx.export)',
    );
}

/**
 * Undefined: not at all, as with a new head, whose features would have to be computed anew each time.
 * @param {TrainingSession} session @param {FineTuneOptions} options
 */
function augmentOf({ trainingInputs }, { augment, head }) {
  const [input, ...more] = trainingInputs.filter(({ labels, sampleWeight }) => !labels && !sampleWeight);
  const isPicture = !more.length && input.dims.length === 4 && ['float32', 'uint8'].includes(input.type);
  return (augment ?? (head === false && isPicture && AUGMENT)) || undefined;
}

/** @param {FineTuneOptions} options */
export function check(options) {
  checkKeys('fineTune', options, KEYS);
  checkKeys('fineTune: replay', options.replay, ['inputs', 'labels', 'ratio']);
  checkBudget('fineTune', options.budget);
  checkWish(options.checkpoint);
  checkCacheFeatures('fineTune: cacheFeatures', options.cacheFeatures);
  checkKeys('fineTune: accept', options.accept, ['lossRise', 'replayDrop']);
  const { validation = HELD_OUT, lr = LR, anchor = ANCHOR } = options;
  for (const key of /** @type {const} */ (['epochs', 'batchSize', 'lastLayers', 'patience'])) {
    const least = key === 'lastLayers' && options.head !== false ? 0 : 1;
    if (options[key] !== undefined) checkWhole(`fineTune: ${key}`, options[key], least);
  }
  if (options.lossInputs && options.head !== false)
    throw invalid('fineTune: lossInputs go with head: false: a new head has scores of its own');
  if (options.seed !== undefined) checkWhole('fineTune: seed', options.seed, Number.MIN_SAFE_INTEGER);
  const need = (/** @type {string} */ name, /** @type {number} */ value, /** @type {boolean} */ fits, wanted = '') => {
    if (typeof value !== 'number' || !fits) throw invalid(`fineTune: ${name} is ${wanted}, not ${nameOf(value)}`);
  };
  need('validation', validation, validation >= 0 && validation < 1, 'a share below 1');
  need('anchor', anchor, anchor >= 0 && anchor < Infinity, 'a number from 0 up');
  need('lr', lr, lr > 0 && lr < Infinity, 'a number above 0');
}

/**
 * @param {Source} model @param {readonly string[] | undefined} classes @param {FineTuneOptions} options
 */
async function artifactsOf(model, classes, options) {
  const { head = {}, lr = LR, labelSmoothing = 0.1, lossInputs, engine = {}, signal } = options;
  const { generateArtifacts } = await lazy(() => import('../session/model.js'));
  const made = generateArtifacts(model, {
    ...engine,
    signal,
    loss: { type: 'cross-entropy', labelSmoothing, sampleWeights: true },
    optimizer: { type: 'adamw', lr, weightDecay: 1e-4 },
    lossInputs,
    ...(head !== false && { head: { classes: /** @type {readonly string[]} */ (classes), ...head } }),
  });
  return await made.catch((error) => {
    if (/ in externalData, /.test(error.message)) error.message += ', within the option engine of fineTune';
    throw error;
  });
}

/**
 * Names of the parameters of each layer, the last layer first.
 * @param {Source} model @param {FineTuneOptions['engine']} engine
 */
async function layersOf(model, engine) {
  const { parametersOf } = await lazy(() => import('../session/model.js'));
  const layers = new Map();
  for (const { name, trainable, readers } of await parametersOf(model, engine)) {
    if (!trainable) continue;
    const layer = readers[0].node;
    layers.set(layer, [...(layers.get(layer) ?? []), name]);
  }
  return /** @type {string[][]} */ ([...layers.values()]).reverse();
}

/**
 * A new head first, for it would send the layers below astray; a model that keeps its outputs learns as a whole.
 * @param {TrainingSession} session @param {Source} model @param {FineTuneOptions} options
 * @returns {Promise<Plan[]>}
 */
async function plansOf(session, model, { head, epochs, lr = LR, lastLayers, replay, engine }) {
  const there = new Set(session.parameters.map(({ name }) => name));
  const count = lastLayers ?? (head === false ? Infinity : 0);
  const all = count ? await layersOf(model, engine) : [];
  const last = all
    .map((names) => names.filter((name) => there.has(name)))
    .filter((names) => names.length)
    .slice(0, count);
  const base = last.flat();
  if (head === false) return [{ name: 'layers', trains: base, base, lr, epochs: epochs ?? (replay ? 10 : 20) }];
  const top = session.parameters.filter(({ trainable }) => trainable).map(({ name }) => name);
  /** @type {Plan} */
  const first = { name: 'head', trains: top, base: [], lr, epochs: epochs ?? 40 };
  const lower = { lr: lr * LOWER_RATE, epochs: Math.ceil(first.epochs * LOWER_EPOCHS) };
  return last.length ? [first, { name: 'layers', trains: [...top, ...base], base, ...lower }] : [first];
}

/**
 * @param {Plan} plan @param {Examples} train @param {Examples | undefined} heldOut @param {Options} options
 * @param {number} leftMs
 * @returns {FitOptions}
 */
function fitOf({ name, lr, epochs }, train, heldOut, options, leftMs) {
  const {
    batchSize = options.head === false && options.replay ? 32 : 16,
    dropLast,
    patience = 8,
    seed = 0,
    signal,
    budget,
    onProgress,
    onCheckpoint,
    onPause,
    onResume,
  } = options;
  const batches = train.labels.length / batchSize;
  const steps = epochs * (dropLast ? Math.floor(batches) : Math.ceil(batches));
  return {
    epochs,
    batchSize,
    dropLast,
    seed,
    signal,
    budget: budget && { ...budget, ...(leftMs < Infinity && { maxMs: leftMs }) },
    classWeight: 'balanced',
    schedule: { type: 'cosine', lr, warmup: Math.ceil(steps / 20) },
    ...(heldOut && {
      validation: fed(heldOut),
      earlyStopping: { patience, monitor: 'val_loss', restoreBest: true },
    }),
    onEpoch: (/** @type {EpochEvent} */ { epoch, metrics }) =>
      onProgress?.({ phase: name, done: epoch + 1, of: epochs, metrics }),
    onCheckpoint,
    onPause,
    onResume,
  };
}
