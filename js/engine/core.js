/** The methods of the protocol, over the exports of wasm/abi.c. */

import { invalid, TrainletError } from '../base/errors.js';
import { sizeOf } from '../base/tensor.js';
import { checkBytes, Engine, instanceFor, letGo } from './engine.js';

/** @import { Argument } from './engine.js' */
/** @import { ParameterInfo } from '../types.js' */
/**
 * @import { GraphInfo, GraphName, Methods, NewArtifacts, NumberOutputs, PackedFeeds, Pool, Position, Protocol,
 * SessionFiles, Which } from './protocol.js'
 */

/** @implements {Methods} */
export class Core {
  #engine;
  #session = 0;
  /** The artifacts that are being made, and the address of their model. @type {number[]} */
  #artifacts = [];
  /** True while gradients of earlier batches wait for their optimizer step. */
  #accumulating = false;
  /** @type {ParameterInfo[]} */
  #parameters = [];
  /** Their names. @type {Record<'train' | 'eval', string[]>} */
  #losses = { train: [], eval: [] };
  /** Properties that the engine could not take, and why. @type {Map<string, unknown>} */
  #lost = new Map();

  /**
   * @param {WebAssembly.Instance} instance
   * @param {Pool} [pool] the memory, if it is shared, and how many threads are to share it
   */
  constructor(instance, pool) {
    this.#engine = new Engine(instance, pool);
  }

  /** @param {Protocol['open']['in']} args */
  static async create(args) {
    const { instance, pool } = await instanceFor(args);
    return new Core(instance, pool);
  }

  open() {
    return this.#engine.pool;
  }

  /** For an engine that computes elsewhere (js/gpu). */
  get parts() {
    return { engine: this.#engine, session: this.#session, losses: this.#losses.train };
  }

  /** Hands everything over but pieces of external data. @param {NewArtifacts} args */
  #begin({ model, external, constants, settings }) {
    const at = this.#engine.pointer('abi_artifacts_new');
    this.#artifacts = [at];
    for (const [key, value] of settings) this.#engine.run('abi_artifacts_set', at, key, value);
    this.#engine.takeExternal('abi_artifacts_external', at, external);
    if (constants) this.#engine.hand('abi_artifacts_constant', [at], constants);
    this.#artifacts.push(...this.#engine.place('abi_artifacts_file', model, at));
  }

  /**
   * @template T
   * @param {Protocol['artifacts']['in']} args
   * @param {(artifacts: number) => T} work
   */
  #make(args, work) {
    if (args) this.#begin(args);
    try {
      this.#engine.run('abi_artifacts_load', ...this.#artifacts);
      return work(this.#artifacts[0]);
    } finally {
      if (!this.#engine.broken) this.#engine.call('abi_artifacts_free', this.#artifacts[0]);
    }
  }

  /** @param {NewArtifacts} args */
  pieces(args) {
    this.#begin(args);
    return this.#engine.json('abi_artifacts_pieces', ...this.#artifacts);
  }

  /** @param {Protocol['piece']['in']} args */
  piece({ index, from, bytes }) {
    this.#engine.write(this.#engine.pointer('abi_artifacts_piece', this.#artifacts[0], index) + from, bytes);
    letGo(bytes);
  }

  weights() {
    this.#engine.run('abi_artifacts_load', ...this.#artifacts);
    return this.#engine.json('abi_artifacts_parameters', this.#artifacts[0]);
  }

  /** @param {Protocol['weight']['in']} args */
  weight({ name, bytes }) {
    this.#engine.write(this.#engine.pointer('abi_artifacts_weight', this.#artifacts[0], name, bytes.length), bytes);
    letGo(bytes);
  }

  /** @param {Protocol['parametersOf']['in']} args @returns {Protocol['parametersOf']['out']} */
  parametersOf(args) {
    return this.#make(args, (builder) => this.#engine.json('abi_artifacts_parameters', builder));
  }

  /** @param {Protocol['modulesOf']['in']} args @returns {Protocol['modulesOf']['out']} */
  modulesOf(args) {
    return this.#make(args, (builder) => this.#engine.json('abi_artifacts_modules', builder));
  }

  /** @param {Protocol['artifacts']['in']} args */
  artifacts(args) {
    return this.#make(args, (builder) => {
      this.#engine.run('abi_artifacts_build', builder);
      const ids = this.#engine.constants.artifacts;
      const part = (/** @type {number} */ which) =>
        this.#engine.copy(
          this.#engine.pointer('abi_artifacts_bytes', builder, which),
          this.#engine.call('abi_artifacts_length', builder, which),
        );
      return {
        trainModel: part(ids.train),
        evalModel: part(ids.eval),
        optimizerModel: part(ids.optimizer),
        checkpointState: part(ids.checkpoint),
        warnings: this.#engine.text(this.#engine.call('abi_artifacts_warnings', builder)).match(/.+/g) ?? [],
      };
    });
  }

  /** @param {Protocol['load']['in']} args */
  load(args) {
    const { maxWork = 0, passes, bounds } = args;
    this.#takeFiles(args);
    this.#call('limit_work', maxWork);
    if (passes) this.#call('set_passes', this.#maskOf(passes));
    this.#run('ready');
    if (bounds) this.#bound(bounds);
    const info = this.#engine.json('abi_session_json', this.#session);
    this.#parameters = info.parameters;
    this.#losses = { train: lossNames(info.train), eval: lossNames(info.eval) };
    return {
      info,
      properties: this.#engine.json('abi_session_properties', this.#session),
      limits: this.#engine.constants.limits,
      fit: this.#engine.text(this.#call('fit')),
    };
  }

  /** A session that is not ready yet. @param {SessionFiles} files */
  #takeFiles({ parts, external, maxMemoryBytes, constants }) {
    this.#session = this.#engine.pointer('abi_session_new');
    this.#call('limit', maxMemoryBytes);
    this.#engine.takeExternal('abi_session_external', this.#session, external);
    if (constants) this.#engine.hand('abi_session_constant', [this.#session], constants);
    for (const { which, bytes } of parts) {
      const placed = this.#engine.place('abi_session_file', bytes, this.#session);
      this.#run('load', this.#engine.constants.artifacts[which], ...placed);
    }
  }

  /** @param {Protocol['compact']['in']} args */
  compact(args) {
    this.#takeFiles(args);
    this.#run('compact', this.#engine.constants.weights[args.weights]);
    return this.#result();
  }

  /** @param {Readonly<Record<string, readonly [number, number]>>} bounds */
  #bound(bounds) {
    this.#call('unbound');
    for (const [pattern, [least, most]] of Object.entries(bounds)) this.#run('bound', pattern, least, most);
  }

  /** @param {readonly string[]} passes */
  #maskOf(passes) {
    const known = this.#engine.constants.passes;
    const unknown = passes.find((name) => !known.includes(name));
    if (unknown !== undefined) throw invalid(`there is no pass '${unknown}'; there are ${known.join(', ')}`);
    return passes.reduce((mask, name) => mask | (1 << known.indexOf(name)), 0);
  }

  /** @param {Protocol['run']['in']} args */
  run({ graph, feeds, fetches, inputGradients = [], call = 'run', more = [] }) {
    for (const input of inputGradients) this.#run('input_gradient', this.#engine.constants.artifacts[graph], input);
    this.feed(graph, feeds);
    this.#run(call, this.#engine.constants.artifacts[graph], fetches ? linesOf(fetches) : 0, ...more);
    return this.#engine.outputs(this.#session);
  }

  /** @param {PackedFeeds} feeds */
  runFeatures(feeds) {
    this.feed('train', feeds);
    this.#run('run_features');
    return /** @type {NumberOutputs} */ (this.#engine.outputs(this.#session));
  }

  /** @param {PackedFeeds} feeds */
  learn(feeds) {
    this.#train(feeds, true);
    return this.#loss();
  }

  /** @param {Protocol['step']['in']} args */
  step({ feeds, fetches = [], optimize, lr, position }) {
    if (lr !== undefined) this.setLearningRate(lr);
    this.#train(feeds, optimize);
    if (position) this.setPosition(position);
    return {
      loss: this.#loss(),
      counted: this.#engine.counted(this.#session, this.#losses.train),
      outputs: /** @type {NumberOutputs} */ (this.#engine.outputs(this.#session, fetches)),
      ...(optimize && { gradientNorm: this.#call('gradient_norm') }),
    };
  }

  /** @param {PackedFeeds} feeds @param {boolean} optimize */
  #train(feeds, optimize) {
    this.feed('train', feeds);
    if (optimize && !this.#accumulating) this.#run('step');
    else this.#accumulate(optimize);
  }

  /** @param {GraphName} graph @param {PackedFeeds} feeds */
  feed(graph, feeds) {
    this.#engine.hand('abi_session_feed', [this.#session, this.#engine.constants.artifacts[graph]], feeds);
  }

  /** @param {Protocol['measure']['in']} args */
  measure({ feeds, fetches, ema }) {
    const wanted = [...new Set([...fetches, ...this.#losses.eval])];
    const run = () => this.run({ graph: 'eval', feeds, fetches: wanted });
    const outputs = /** @type {NumberOutputs} */ (this.#averaged(ema, run));
    return {
      loss: Number(outputs[fetches[0]].data[0]),
      counted: this.#engine.counted(this.#session, this.#losses.eval),
      outputs,
    };
  }

  /**
   * Does it with the averages in the parameters' place.
   * @template T
   * @param {boolean | undefined} ema
   * @param {() => T} work
   */
  #averaged(ema, work) {
    const swap = () => ema && this.#run('swap_ema');
    swap();
    try {
      return work();
    } finally {
      swap();
    }
  }

  /** @param {Protocol['forward']['in']} args */
  forward({ feeds }) {
    this.feed('train', feeds);
    const run = this.#engine.pointer('abi_session_forward', this.#session);
    return { run, outputs: /** @type {NumberOutputs} */ (this.#engine.outputs(this.#session)) };
  }

  /** @param {Protocol['backward']['in']} args */
  backward({ run, gradients, inputs }) {
    this.#engine.hand('abi_session_feed_gradient', [this.#session, run], gradients);
    this.#run('backward', run, inputs.length ? linesOf(inputs) : 0);
    return /** @type {NumberOutputs} */ (this.#engine.outputs(this.#session));
  }

  /** @param {number} run */
  dropForward(run) {
    this.#call('drop_forward', run);
  }

  /** A batch whose gradients are added to those before it, and used if it is the last. @param {boolean} last */
  #accumulate(last) {
    try {
      this.#run('run', this.#engine.constants.artifacts.train, 0);
    } catch (error) {
      if (error instanceof TrainletError && error.code === 'aborted') this.#accumulating = false;
      throw error;
    }
    const loss = this.#loss();
    if (!Number.isFinite(loss))
      throw new TrainletError('non-finite-loss', `the loss is ${loss}; no parameter was changed`);
    this.#accumulating = true;
    if (!last) return;
    this.optimize();
    this.resetGrad();
  }

  #loss() {
    return this.#call('loss');
  }

  optimize() {
    this.#run('optimize');
  }

  dropGrad() {
    this.#accumulating = false;
    this.#call('drop_grad');
  }

  resetGrad() {
    this.#accumulating = false;
    this.#call('reset_grad');
  }

  getLearningRate() {
    return shortest(this.#call('lr'));
  }
  setLearningRate(/** @type {number} */ lr) {
    this.#call('set_lr', lr);
  }
  steps() {
    return this.#call('steps');
  }
  setSeed(/** @type {bigint} */ seed) {
    this.#call('set_seed', seed);
  }
  /** @param {GraphName} graph */
  graphText(graph) {
    return this.#engine.text(
      this.#engine.pointer('abi_session_graph', this.#session, this.#engine.constants.artifacts[graph]),
    );
  }

  /** @param {boolean} on */
  timeNodes(on) {
    this.#call('time_nodes', Number(on));
  }

  /** @param {GraphName} graph */
  nodeTimes(graph) {
    return this.#engine.json('abi_session_node_times', this.#session, this.#engine.constants.artifacts[graph]);
  }

  memoryPlan() {
    return this.#engine.json('abi_session_json', this.#session).memory;
  }

  /** @param {number} index */
  getParameter(index) {
    const { type, dims } = this.#parameters[index];
    return this.#engine.tensor(type, [...dims], this.#engine.pointer('abi_session_parameter', this.#session, index));
  }

  /** @param {Protocol['setParameter']['in']} args */
  setParameter({
    index,
    value: {
      tensors: [tensor],
      buffer,
    },
  }) {
    const { type, dims } = this.#parameters[index];
    checkBytes(tensor.name, tensor.bytes, sizeOf(dims) * this.#engine.constants.types[type].bytes);
    const at = this.#engine.pointer('abi_session_parameter', this.#session, index);
    this.#engine.write(at, new Uint8Array(buffer, tensor.offset, tensor.bytes));
    this.#call('changed');
  }

  /** @param {readonly string[]} patterns */
  setTrainable(patterns) {
    this.#run('set_trainable', linesOf(patterns));
    this.#accumulating = false;
    return this.#engine.json('abi_session_json', this.#session);
  }

  /** @param {string} name of what needs no status @param {Argument[]} args */
  #call(name, ...args) {
    return this.#engine.call(`abi_session_${name}`, this.#session, ...args);
  }

  /** @param {string} name @param {Argument[]} args */
  #run(name, ...args) {
    this.#engine.run(`abi_session_${name}`, this.#session, ...args);
  }

  /** @param {Protocol['tell']['in']} call */
  tell([name, ...args]) {
    this.#run(name, ...args);
  }

  /** @param {Protocol['describe']['in']} call */
  describe([name, ...args]) {
    return this.#engine.json(`abi_session_${name}`, this.#session, ...args);
  }

  /** @param {number} index */
  getGradient(index) {
    const { type, dims } = this.#parameters[index];
    return this.#engine.tensor(type, [...dims], this.#engine.pointer('abi_session_gradient', this.#session, index));
  }

  /** @param {Which} which */
  elementCount(which) {
    return this.#call('element_count', this.#engine.constants.which[which]);
  }

  /** @param {Which} which */
  copyOut(which) {
    const bytes = Float32Array.BYTES_PER_ELEMENT * this.elementCount(which);
    const at = this.#engine.pointer('abi_alloc', bytes);
    this.#call('copy_out', this.#engine.constants.which[which], at);
    const values = new Float32Array(this.#engine.copy(at, bytes).buffer);
    this.#engine.call('abi_free', at);
    return values;
  }

  /** @param {Protocol['copyIn']['in']} args */
  copyIn({ which, bytes }) {
    checkBytes('the parameters', bytes.length, Float32Array.BYTES_PER_ELEMENT * this.elementCount(which));
    this.#call('copy_in', this.#engine.constants.which[which], bytes);
  }

  /** @returns {Position} */
  getPosition() {
    const slots = Array.from({ length: this.#engine.constants.positions }, (_, i) => this.#call('position', i));
    return /** @type {any} */ (slots);
  }

  getSeed() {
    return this.#call('position', this.#engine.constants.positions);
  }

  /** @param {Position} position */
  setPosition(position) {
    position.forEach((value, i) => {
      this.#call('set_position', i, BigInt(value));
    });
  }

  /** @param {Protocol['best']['in']} what */
  best(what) {
    this.#run('best', this.#engine.constants.best[what]);
  }

  /** @param {Protocol['setProperty']['in']} entry */
  setProperty({ name, type, value }) {
    const lowered = type === 'int' ? BigInt(value) : /** @type {number | string} */ (value);
    try {
      this.#run(`property_set_${type}`, name, lowered);
      this.#lost.delete(name);
    } catch (error) {
      this.#lost.set(name, error);
      throw error;
    }
  }

  /** @param {string} name */
  deleteProperty(name) {
    this.#lost.delete(name);
    this.#call('property_delete', name);
  }

  /** @param {Protocol['save']['in']} args */
  save({ optimizerState, format, fit }) {
    for (const error of this.#lost.values()) throw error;
    this.#run('set_fit', fit);
    this.#run('save', Number(optimizerState), this.#engine.constants.formats[format]);
    return this.#result();
  }

  /** @param {Protocol['export']['in']} args */
  export({ outputs, trainingInfo, types, ema, adapters = 0 }) {
    const names = outputs ? linesOf(outputs) : 0;
    this.#averaged(ema, () => this.#run('export', names, +trainingInfo, +types, adapters));
    return this.#result();
  }

  /** @param {Protocol['extend']['in']} args */
  extend([which, ...args]) {
    this.#run('extend', this.#engine.constants.artifacts[which], ...args);
    return this.#result();
  }

  #result() {
    const bytes = this.#engine.copy(
      this.#engine.pointer('abi_session_result', this.#session),
      this.#call('result_length'),
    );
    this.#call('result_free');
    return bytes;
  }
}

/** The names of the losses. @param {GraphInfo | null} graph */
const lossNames = (graph) =>
  (graph?.losses.length ? graph.losses : (graph?.outputs.slice(0, 1) ?? [])).map(({ name }) => name);

/** The decimal a float32 was written as: 0.001, not 0.0010000000474974513. @param {number} float */
const shortest = (float) =>
  [6, 7, 8].map((digits) => Number(float.toPrecision(digits))).find((v) => Math.fround(v) === float) ?? float;

/** Names, one a line. @param {readonly string[]} names */
function linesOf(names) {
  const odd = names.find((name) => name.includes('\n'));
  if (odd !== undefined)
    throw new TrainletError('invalid-feed', `the model has no value ${JSON.stringify(odd)}: no name has a line break`);
  return names.join('\n');
}
