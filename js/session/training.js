/** The session that trains. */

import { askedAt } from '../base/call-site.js';
import { checkKeys, checkWhole, invalid, nameOf, suggestion } from '../base/errors.js';
import { bind } from '../base/feeds.js';
import { lazy } from '../base/lazy.js';
import { check, pack, Tensor } from '../base/tensor.js';
import { endProfiling, INTERNALS, MADE, names, namesIn } from './open.js';
import { PropertyBag } from './properties.js';
import { PREDICT_OPTIONS, runGraph, STEP_OPTIONS, withSignal } from './run.js';

/**
 * @import { Adapters, AdapterSources, CalibrateOptions, CheckpointOptions, Dataset, EvaluateOptions,
 * ExportAdapterOptions, ExportOptions, ExtendOptions, Feeds, Fetches, FetchStructure, FitOptions } from '../types.js'
 */
/**
 * @import { NumberType, ParameterGroup, ParameterInfo, PredictOptions, RunOptions, StepOptions } from '../types.js'
 * @import { History, Preprocessing, SaveSessionOptions, TensorLike, WholeArrays } from '../types.js'
 */
/** @import { Ask, CheckpointFormat, GraphInfo, Protocol, Which } from '../engine/protocol.js' */
/** @import { Client } from '../engine/client.js' */
/** @typedef {'exportAdapter' | 'loadAdapter' | 'addAdapter' | 'useAdapter' | 'deleteAdapter'} AdapterMethod */
/** @import { FitPosition } from '../fit/position.js' */
/** @import { PartSource } from './open.js' */

export const GROUP_KEYS = /** @type {const} */ (['params', 'lrScale', 'weightDecay', 'anchor']);

/**
 * @param {Client} client @param {Protocol['load']['out']} loaded
 * @param {import('./made.js').Made} made
 */
export async function createTraining(client, loaded, { sources, externalData, sums }) {
  const outside = loaded.info.outside ? await lazy(() => import('./external-loss.js')) : undefined;
  const module = loaded.fit ? await lazy(() => import('../fit/position.js')) : undefined;
  const adapter = loaded.info.adapters ? await lazy(() => import('../adapters/adapter.js')) : undefined;
  const position = module && new module.FitPosition(loaded.fit);
  const session = new TrainingSession(client, loaded, outside, position, adapter?.lending);
  session[MADE] = { sources: sources.filter(isHeld), externalData, sums };
  return session;
}

/**
 * True for what a session may hold on to: no checkpoint, nor the bytes of a compact file, in which the weights are.
 * @param {PartSource} part
 */
const isHeld = ([name, , source]) =>
  !name.endsWith('State') && !(name === 'compact' && 'byteLength' in /** @type {object} */ (Object(source)));

export class TrainingSession {
  /** @type {import('./made.js').Made} */
  [MADE] = { sources: [] };
  /** @type {Preprocessing} */
  preprocessing = {};
  #client;
  #ask;
  #info;
  #fitting = false;
  /** There once a fit has begun. @type {FitPosition | undefined} */
  #position;
  #forward;
  #lending;

  /** Vue's reactive() puts no proxy around objects that have one: private fields are not there behind it. */
  get [Symbol.toStringTag]() {
    return 'TrainingSession';
  }

  /**
   * @param {Client} client
   * @param {Protocol['load']['out']} loaded
   * @param {typeof import('./external-loss.js')} [outside] where the loss is outside
   * @param {FitPosition} [position] where the checkpoint has one
   * @param {typeof import('../adapters/adapter.js').lending} [lending] where there are adapters
   */
  constructor(client, loaded, outside, position, lending = () => () => this.#ask('tell', ['lend_adapter'])) {
    const { info, properties, limits } = loaded;
    this.#client = client;
    this.#ask = client.ask;
    this.#info = info;
    this.#position = position;
    this.#forward = outside?.forward;
    this.#lending = lending;
    this.parameters = frozen(info.parameters);
    this.adapters = /** @type {Adapters} */ (info.adapters ?? { names: [], active: null });
    this.properties = new PropertyBag(client.ask, properties, limits);
    const train = this.#train();
    this.trainingInputs = train.inputs;
    this.trainingInputNames = names(train.inputs);
    this.trainingOutputNames = names(train.outputs);
    this.evalInputNames = names(info.eval?.inputs);
    this.evalOutputNames = names(info.eval?.outputs);
    this.classNames = namesIn(train.classes);
    this.warnings = info.warnings;
    this.optimizer = /** @type {import('../types.js').TrainingSession['optimizer']} */ (info.optimizer?.type ?? null);
  }

  static get name() {
    return 'TrainingSession';
  }

  get [INTERNALS]() {
    return { ask: this.#ask, info: this.#info, lent: this.#lent };
  }

  /** @param {Feeds} feeds @param {Fetches | FetchStructure | StepOptions} [fetches] @param {StepOptions} [options] */
  async runTrainStep(feeds, fetches, options) {
    return await runGraph(this.#ask, 'train', this.#train(), feeds, fetches, options, { keys: STEP_OPTIONS });
  }

  /** @param {Feeds} feeds @param {Fetches | FetchStructure | StepOptions} [fetches] @param {StepOptions} [options] */
  async runEvalStep(feeds, fetches, options) {
    return await runGraph(this.#ask, 'eval', this.#eval(), feeds, fetches, options, { keys: STEP_OPTIONS });
  }

  get outside() {
    return this.#info.outside;
  }

  /** @param {Feeds} feeds @param {RunOptions} [options] */
  async forward(feeds, options) {
    if (!this.#forward)
      throw invalid("forward: the loss is inside the training model; make artifacts with the loss 'outside'");
    return await this.#forward(this.#ask, this.#info, feeds, options);
  }

  /** @param {RunOptions} [options] */
  async runOptimizerStep(options) {
    this.#needOptimizer();
    await withSignal(options, (signal) => this.#ask('optimize', undefined, [], signal));
  }

  async lazyResetGrad() {
    await this.#ask('resetGrad', undefined);
  }

  /** @param {boolean | 'with-statistics'} [which] */
  async getParametersSize(which = true) {
    return await this.#ask('elementCount', whichOf('getParametersSize', which));
  }

  /** @param {boolean | 'with-statistics'} [which] */
  async getContiguousParameters(which = true) {
    return new Tensor('float32', await this.#ask('copyOut', whichOf('getContiguousParameters', which)));
  }

  /** @param {Uint8Array} bytes @param {boolean | 'with-statistics'} [which] */
  async loadParametersBuffer(bytes, which = true) {
    const chosen = whichOf('loadParametersBuffer', which);
    const elements = await this.#ask('elementCount', chosen);
    const copy = (await lazy(() => import('./parameters-buffer.js'))).copyOf(bytes, elements);
    const taken = this.#ask('copyIn', { which: chosen, bytes: copy }, [copy.buffer]);
    this.#position?.thaw(chosen !== 'trainable');
    await taken;
  }

  /** @param {readonly string[]} patterns */
  async setTrainable(patterns) {
    if (!Array.isArray(patterns) || !patterns.length || !patterns.every((name) => typeof name === 'string' && name))
      throw invalid("setTrainable: wanted an array of names or patterns, as ['head.*']");
    if (this.#fitting) throw invalid('a fit of this session is running already');
    this.#info = await this.#ask('setTrainable', [...patterns]);
    this.#position?.forgetBest();
    this.parameters = frozen(this.#info.parameters);
  }

  /** @param {readonly ParameterGroup[]} groups */
  async setParameterGroups(groups) {
    this.#needOptimizer();
    await this.#ask('tell', ['set_groups', [groups].flat().map(linesOf).join('')]);
  }

  /** @param {Feeds} feeds @param {RunOptions} [options] */
  async step(feeds, options) {
    this.#needOptimizer();
    this.#needLoss('step');
    return await withSignal(options, async (signal) => {
      const packed = pack(bind(feeds, this.#train().inputs));
      const learning = this.#ask('learn', packed, [packed.buffer], signal);
      return { loss: await learning.catch((error) => this.#explain(error, feeds)) };
    });
  }

  /** @param {any} error @param {Feeds} feeds @returns {Promise<never>} */
  async #explain(error, feeds) {
    if (error.code !== 'non-finite-loss') throw error;
    throw await (await lazy(() => import('../data/non-finite.js'))).explain(error, this[INTERNALS], feeds);
  }

  /** @param {Dataset} data @param {FitOptions<any, any>} [options] @returns {Promise<History<any>>} */
  async fit(data, options = {}) {
    this.#needOptimizer();
    this.#needLoss('fit');
    if (this.#fitting) throw invalid('a fit of this session is running already');
    this.#fitting = true;
    const here = new Error();
    try {
      const { fit, FitPosition } = await withData();
      this.#position ??= new FitPosition();
      return await fit({ ...this[INTERNALS], position: this.#position }, data, options);
    } catch (error) {
      throw askedAt(here, error);
    } finally {
      this.#fitting = false;
    }
  }

  /** @param {Dataset} data @param {EvaluateOptions<any>} [options] @returns {Promise<any>} */
  async evaluate(data, options = {}) {
    this.#eval();
    this.#needLoss('evaluate');
    const here = new Error();
    try {
      const { evaluate } = await withData();
      return await evaluate({ ...this[INTERNALS], ask: this.#lent(options?.adapter) }, data, options);
    } catch (error) {
      throw askedAt(here, error);
    }
  }

  /**
   * @param {Feeds} feeds
   * @param {Fetches | FetchStructure | PredictOptions} [fetches]
   * @param {PredictOptions} [options]
   */
  async predict(feeds, fetches, options) {
    const asked = options ?? /** @type {PredictOptions} */ (fetches);
    const how = { own: this.#info.predict, keys: PREDICT_OPTIONS, halves: true };
    const outputs = await runGraph(this.#lent(asked?.adapter), 'eval', this.#eval(), feeds, fetches, options, how);
    if (![asked?.labels, asked?.probabilities].includes(true)) return outputs;
    const { withLabels } = await lazy(() => import('../data/predicted-labels.js'));
    return await withLabels(this.#ask, outputs, this.#info, this, asked);
  }

  /** @param {WholeArrays} data */
  async initializeHead(data) {
    return await (await lazy(() => import('./head.js'))).initializeHead(this, namesIn(this.#eval().head), data);
  }

  /** @param {WholeArrays} data @param {CalibrateOptions} [options] */
  async calibrate(data, options) {
    return await (await lazy(() => import('./calibration.js'))).calibrate(this, this.#info, data, options);
  }

  /** @param {[name: string, newClasses: readonly string[], options?: ExtendOptions]} args */
  async extendOutput(...args) {
    return await (await lazy(() => import('./extend.js'))).extendOutput(this, this.#ask, this.#info, ...args);
  }

  /** @param {[options?: ExportAdapterOptions]} args @returns {Promise<any>} */
  exportAdapter(...args) {
    return this.#adapt('exportAdapter', args);
  }

  /** @param {[files: AdapterSources]} args */
  loadAdapter(...args) {
    return this.#adapt('loadAdapter', args);
  }

  /** @param {[name: string, files?: AdapterSources]} args */
  addAdapter(...args) {
    return this.#adapt('addAdapter', args);
  }

  /** @param {[adapter: string | null | Readonly<Record<string, number>>]} args */
  useAdapter(...args) {
    return this.#adapt('useAdapter', args);
  }

  /** @param {[name: string]} args */
  deleteAdapter(...args) {
    return this.#adapt('deleteAdapter', args);
  }

  /**
   * Who is asked with another adapter in the place of the one in use.
   * @param {PredictOptions['adapter']} [adapter] undefined: the one in use
   * @returns {Ask}
   */
  #lent = (adapter) => (adapter === undefined ? this.#ask : this.#lending(this, this[INTERNALS], adapter));

  /** @param {AdapterMethod} method @param {any[]} args */
  async #adapt(method, args) {
    const { lora } = this.#eval();
    const act = (await lazy(() => import('../adapters/adapter.js')))[method];
    const inside = {
      ...this[INTERNALS],
      lora,
      position: () => (this.#fitting ? undefined : (this.#position ?? {})),
    };
    return await /** @type {any} */ (act)(this, inside, ...args);
  }

  async getMemoryPlan() {
    return await this.#ask('memoryPlan', undefined);
  }

  /** @param {'train' | 'eval'} [graph] */
  async getGraphText(graph = 'train') {
    return await this.#ask('graphText', checkGraph(graph));
  }

  async startProfiling() {
    await this.#ask('timeNodes', true);
  }

  /** @param {'train' | 'eval'} [graph] */
  async endProfiling(graph = 'train') {
    return await endProfiling(this.#ask, checkGraph(graph));
  }

  /** @param {string} name */
  async getParameter(name) {
    const { type, data, dims } = await this.#ask('getParameter', this.#indexOf(name));
    return new Tensor(/** @type {NumberType} */ (type), data, dims);
  }

  /** @param {string} name */
  async getGradient(name) {
    const { data, dims } = await this.#ask('getGradient', this.#indexOf(name));
    return new Tensor('float32', data, dims);
  }

  /** @param {string} name @param {TensorLike} value */
  async setParameter(name, value) {
    const index = this.#indexOf(name);
    const { type, dims, trainable } = this.parameters[index];
    const tensor = check(`parameter '${name}'`, value);
    if (tensor.type !== type || String(tensor.dims) !== String(dims)) {
      throw invalid(`parameter '${name}' is ${type} [${dims}], not ${tensor.type} [${tensor.dims}]`);
    }
    const packed = pack([[name, tensor]]);
    const taken = this.#ask('setParameter', { index, value: packed }, [packed.buffer]);
    this.#position?.thaw(!trainable);
    await taken;
  }

  /** @param {number} lr */
  async setLearningRate(lr) {
    this.#needOptimizer();
    if (!(Number.isFinite(lr) && lr >= 0 && Math.fround(lr) < Infinity))
      throw invalid(`the learning rate cannot be ${nameOf(lr)}`);
    await this.#ask('setLearningRate', lr);
  }

  async getLearningRate() {
    this.#needOptimizer();
    return await this.#ask('getLearningRate', undefined);
  }

  /** @param {number | bigint} seed */
  async setSeed(seed) {
    if (typeof seed !== 'bigint') checkWhole('the seed', seed, Number.MIN_SAFE_INTEGER);
    await this.#ask('setSeed', BigInt.asIntN(64, BigInt(seed)));
  }

  /** @param {CheckpointOptions} [options] */
  async saveCheckpoint(options = {}) {
    checkKeys('saveCheckpoint', options, ['optimizerState', 'format', 'version', 'base', 'signal']);
    const { optimizerState = true, signal } = options;
    const format = formatOf(options);
    const save = () => this.#ask('save', { optimizerState, format, fit: this.#position?.text ?? '' }, [], signal);
    return await (this.#position?.between(save, signal) ?? save());
  }

  /** @param {string} name @param {SaveSessionOptions} [options] */
  async save(name, options = {}) {
    const checkpoint = this.saveCheckpoint({ signal: options?.signal });
    checkpoint.catch(() => {}); // told when it is awaited
    return await (await lazy(() => import('./saved.js'))).save(this, checkpoint, name, options);
  }

  /** @param {ExportOptions} [options] */
  async exportModel(options = {}) {
    checkKeys('exportModel', options, ['outputs', 'trainingInfo', 'format', 'ema', 'adapters', 'signal']);
    const { outputs, trainingInfo = false, format, ema, adapters: way = 'separate', signal } = options;
    const adapters = ['separate', 'merged', 'inputs'].indexOf(way);
    const asked = { outputs, trainingInfo, types: format === 'ort', ema, adapters };
    const model = await this.#ask('export', asked, [], signal);
    return format ? (await lazy(() => import('../formats/ort-model.js'))).inFormat(model, options) : model;
  }

  /** @param {{ signal?: AbortSignal }} [options] */
  async release(options) {
    await this.#client.release(options);
  }

  [Symbol.asyncDispose]() {
    return this.release();
  }

  #train() {
    return /** @type {GraphInfo} */ (this.#info.train);
  }

  #eval() {
    if (this.#info.eval) return this.#info.eval;
    throw without('evalModel');
  }

  #needOptimizer() {
    if (!this.optimizer) throw without('optimizerModel');
  }

  /** @param {string} what */
  #needLoss(what) {
    if (this.#info.outside) throw invalid(`${what} needs a loss inside the training model: use forward and backward`);
  }

  /** @param {string} name */
  #indexOf(name) {
    const index = this.parameters.findIndex((parameter) => parameter.name === name);
    if (index >= 0) return index;
    const known = names(this.parameters);
    const hint = typeof name === 'string' ? suggestion(name, known) : '';
    throw invalid(`there is no parameter ${nameOf(name)}${hint || `; there are ${known.join(', ')}`}`);
  }
}

/** The methods that read data sets. */
const withData = () => lazy(() => import('../fit/fit.js'));

/** @param {string} part */
const without = (part) => invalid(`the session was made without an ${part}, which this needs`);

/** A group in the engine's lines; the engine checks the values. @param {ParameterGroup} group */
function linesOf(group) {
  checkKeys('setParameterGroups', group, GROUP_KEYS);
  const { params, lrScale = '', weightDecay = '', anchor = '' } = group ?? {};
  return [params]
    .flat()
    .flatMap((name) => [name, lrScale, weightDecay, anchor])
    .map((one) => `${typeof one === 'string' ? one : nameOf(one)}\n`)
    .join('');
}

/** Nobody's to change. @param {ParameterInfo[]} parameters @returns {readonly ParameterInfo[]} */
function frozen(parameters) {
  return Object.freeze(parameters.map((each) => Object.freeze({ ...each, dims: Object.freeze([...each.dims]) })));
}

/** The engine's word for it. @param {string} where @param {boolean | 'with-statistics'} which @returns {Which} */
function whichOf(where, which) {
  if (typeof which === 'boolean') return which ? 'trainable' : 'all';
  if (which === 'with-statistics') return which;
  throw invalid(`${where}: wanted true (what trains), false (all) or 'with-statistics', not ${nameOf(which)}`);
}

/** @param {'train' | 'eval'} graph */
function checkGraph(graph) {
  if (graph === 'train' || graph === 'eval') return graph;
  throw invalid(`the graph is 'train' or 'eval', not ${nameOf(graph)}`);
}

/** The engine's name of a checkpoint's format. @param {CheckpointOptions} options @returns {CheckpointFormat} */
function formatOf({ format = 'trainlet', version, base = true }) {
  if (format === 'trainlet' && version === undefined) return base ? 'trainlet' : 'adapters';
  if (format === 'ort' && base && (version === undefined || version === 1 || version === 2))
    return `ort${version ?? 2}`;
  const came = `${nameOf(format)} with version ${nameOf(version)}`;
  throw invalid(`saveCheckpoint: wanted 'trainlet', or 'ort' with version 1 or 2 and the base, not ${came}`);
}
