/** The engine as a JavaScript object: the only file that knows wasm memory and the exports of wasm/abi.c. */

import { sentenceOf, TrainletError } from './errors.js';
import { ARRAYS, bytesOf, sizeOf } from './tensor.js';

/** @import { DataType, ErrorCode, ParameterInfo } from './types.js' */
/**
 * @import { CheckpointFormat, Counted, ExternalFile, GraphInfo, GraphName, Methods, NumberOutputs, Outputs, PackedFeeds, PartName,
 * PlainTensor, Pool, Position, PropertyLimits, Protocol, Which } from './protocol.js'
 */

/**
 * @typedef {{ codes: ('ok' | ErrorCode)[], types: Record<string, { id: number, bytes: number }>,
 *   artifacts: Record<PartName, number>, formats: Record<CheckpointFormat, number>, passes: string[], losses: string[],
 * optimizers: string[], limits: PropertyLimits,
 *   best: Record<Protocol['best']['in'], number>, which: Record<Which, number>, ranks: { sequence: number, nothing: number }, positions: number,
 *   tensor: Record<'name' | 'type' | 'rank' | 'dims' | 'data' | 'count' | 'counted' | 'isSum', number> }} Constants
 * @typedef {number | bigint | string | Uint8Array | BigInt64Array} Argument
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const KEPT_SCRATCH_BYTES = 1 << 16;
const MEMORY_BYTES = 2 ** 32 - 1; // a length is 32 bits wide

/** @implements {Methods} */
export class Core {
  /** @type {WebAssembly.Memory} */
  #memory;
  /** @type {Record<string, Function>} */
  #exports;
  #scratch = { at: 0, bytes: 0 };
  /** Why no export may be called any more. */
  #broken = '';
  /** @type {Constants} */
  #constants;
  #session = 0;
  /** Whether gradients of earlier batches wait for their optimizer step. */
  #accumulating = false;
  /** @type {ParameterInfo[]} */
  #parameters = [];
  /** Their names. @type {Record<'train' | 'eval', string[]>} */
  #losses = { train: [], eval: [] };
  /** Properties that the engine could not take, and why. @type {Map<string, unknown>} */
  #lost = new Map();

  #pool;

  /**
   * @param {WebAssembly.Instance} instance
   * @param {Pool} [wanted] the memory, if it is shared, and how many threads are to share it
   */
  constructor(instance, wanted) {
    this.#exports = exportsOf(instance);
    this.#memory = wanted?.memory ?? /** @type {WebAssembly.Memory} */ (instance.exports.memory);
    this.#exports._initialize?.();
    if (isSpiderMonkey) this.#exports.abi_spidermonkey();
    this.#constants = JSON.parse(this.#text(this.#pointer('abi_json')));
    if (wanted) this.#pool = { ...wanted, threads: this.#call('abi_threads', wanted.threads, Number(maySleep())) };
  }

  /** @param {Protocol['open']['in']} args */
  static async create({ module, threads, stop }) {
    const wanted = sharesMemory(module) ? { memory: sharedMemory(), threads } : undefined;
    return new Core(await instantiate(module, wanted?.memory, stop && (() => Atomics.load(stop, 0))), wanted);
  }

  get constants() {
    return this.#constants;
  }

  open() {
    return this.#pool;
  }

  /**
   * @template T
   * @param {Protocol['artifacts']['in']} args
   * @param {(builder: number) => T} work
   */
  #withBuilder({ model, external, constants, settings }, work) {
    const builder = this.#pointer('abi_artifacts_new');
    try {
      for (const [key, value] of settings) this.#run('abi_artifacts_set', builder, key, value);
      this.#takeExternal('abi_artifacts_external', builder, external);
      this.#takeConstants('abi_artifacts_constant', builder, constants);
      this.#run('abi_artifacts_load', builder, this.#placed('abi_artifacts_file', builder, model), model.length);
      return work(builder);
    } finally {
      if (!this.#broken) this.#call('abi_artifacts_free', builder);
    }
  }

  /** @param {Protocol['parametersOf']['in']} args @returns {Protocol['parametersOf']['out']} */
  parametersOf(args) {
    return this.#withBuilder(args, (builder) =>
      JSON.parse(this.#text(this.#pointer('abi_artifacts_parameters', builder))),
    );
  }

  /** @param {Protocol['artifacts']['in']} args */
  artifacts(args) {
    return this.#withBuilder(args, (builder) => {
      this.#run('abi_artifacts_build', builder);
      const ids = this.#constants.artifacts;
      const part = (/** @type {number} */ which) =>
        this.#copy(
          this.#pointer('abi_artifacts_bytes', builder, which),
          this.#call('abi_artifacts_length', builder, which),
        );
      return {
        trainModel: part(ids.train),
        evalModel: part(ids.eval),
        optimizerModel: part(ids.optimizer),
        checkpointState: part(ids.checkpoint),
        warnings: this.#text(this.#call('abi_artifacts_warnings', builder)).split('\n').filter(Boolean),
      };
    });
  }

  /** @param {Protocol['load']['in']} args */
  load({ parts, external, maxMemoryBytes, maxWork = 0, passes, constants, bounds }) {
    this.#session = this.#pointer('abi_session_new');
    this.#call('abi_session_limit', this.#session, maxMemoryBytes);
    this.#call('abi_session_limit_work', this.#session, maxWork);
    if (passes) this.#call('abi_session_set_passes', this.#session, this.#maskOf(passes));
    this.#takeExternal('abi_session_external', this.#session, external);
    this.#takeConstants('abi_session_constant', this.#session, constants);
    for (const { which, bytes } of parts) {
      const at = this.#placed('abi_session_file', this.#session, bytes);
      this.#run('abi_session_load', this.#session, this.#constants.artifacts[which], at, bytes.length);
    }
    this.#run('abi_session_ready', this.#session);
    if (bounds) this.#bound(bounds);
    const info = this.#json('abi_session_json');
    this.#parameters = info.parameters;
    this.#losses = { train: lossNames(info.train), eval: lossNames(info.eval) };
    return {
      info,
      properties: this.#json('abi_session_properties'),
      limits: this.#constants.limits,
      fit: this.#text(this.#call('abi_session_fit', this.#session)),
    };
  }

  /**
   * What the file of a checkpoint says, without a model; undefined where it is none.
   * @param {Uint8Array} bytes @param {ExternalFile[]} external
   * @returns {import('./protocol.js').CheckpointContents | undefined}
   */
  checkpoint(bytes, external) {
    this.#session = this.#pointer('abi_session_new');
    const at = this.#placed('abi_session_file', this.#session, bytes);
    const writer = this.#call('abi_checkpoint_writer', at, bytes.length);
    if (!writer) return undefined;
    this.#takeExternal('abi_session_external', this.#session, external);
    this.#run('abi_session_load', this.#session, this.#constants.artifacts.checkpoint, at, bytes.length);
    return { writer: this.#text(writer), ...this.#json('abi_session_checkpoint') };
  }

  /**
   * Hands files over, the largest part of a model: each is let go of here as soon as the engine has it.
   * @param {string} name @param {number} owner @param {ExternalFile[]} files
   */
  #takeExternal(name, owner, files) {
    for (let file = files.shift(); file; file = files.shift()) {
      const { location, bytes } = file;
      checkFits(`externalData['${location}']`, bytes.length);
      const at = this.#pointer(name, owner, location, bytes.length);
      this.#bytes(at, bytes.length).set(bytes);
    }
  }

  /** @param {string} name @param {number} owner @param {PackedFeeds} [constants] */
  #takeConstants(name, owner, constants) {
    if (!constants) return;
    const { tensors, buffer } = constants;
    const { types } = this.#constants;
    for (const { name: input, type, dims, offset, bytes } of tensors) {
      checkBytes(input, bytes, sizeOf(dims) * types[type].bytes);
      const at = this.#pointer(name, owner, input, types[type].id, dims.length, BigInt64Array.from(dims, BigInt));
      this.#bytes(at, bytes).set(new Uint8Array(buffer, offset, bytes));
    }
  }

  /** @param {Readonly<Record<string, readonly [number, number]>>} bounds */
  #bound(bounds) {
    this.#call('abi_session_unbound', this.#session);
    for (const [pattern, [least, most]] of Object.entries(bounds))
      this.#run('abi_session_bound', this.#session, pattern, least, most);
  }

  /**
   * Puts a file where the engine reads it in place.
   * @param {string} name
   * @param {number} owner
   * @param {Uint8Array} bytes
   */
  #placed(name, owner, bytes) {
    checkFits('a file', bytes.length);
    const at = this.#pointer(name, owner, bytes.length);
    this.#bytes(at, bytes.length).set(bytes);
    return at;
  }

  /** @param {readonly string[]} passes */
  #maskOf(passes) {
    const known = this.#constants.passes;
    const unknown = passes.find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw new TrainletError('invalid-argument', `there is no pass '${unknown}'; there are ${known.join(', ')}`);
    return passes.reduce((mask, name) => mask | (1 << known.indexOf(name)), 0);
  }

  /** @param {Protocol['run']['in']} args */
  run({ graph, feeds, fetches, inputGradients = [] }) {
    for (const input of inputGradients)
      this.#run('abi_session_input_gradient', this.#session, this.#constants.artifacts[graph], input);
    this.#feed(graph, feeds);
    this.#run('abi_session_run', this.#session, this.#constants.artifacts[graph], fetches ? linesOf(fetches) : 0);
    return this.#outputs();
  }

  /** @param {Protocol['step']['in']} args */
  step({ feeds, fetches = [], optimize, lr, position }) {
    if (lr !== undefined) this.setLearningRate(lr);
    this.#feed('train', feeds);
    if (optimize && !this.#accumulating) this.#run('abi_session_step', this.#session);
    else this.#accumulate(optimize);
    if (position) this.setPosition(position);
    return {
      loss: this.#loss(),
      counted: this.#counted('train'),
      outputs: /** @type {NumberOutputs} */ (this.#outputs(fetches)),
      ...(optimize && { gradientNorm: this.#call('abi_session_gradient_norm', this.#session) }),
    };
  }

  /** @param {Protocol['measure']['in']} args */
  measure({ feeds, fetches }) {
    const wanted = [...new Set([...fetches, ...this.#losses.eval])];
    const outputs = /** @type {NumberOutputs} */ (this.run({ graph: 'eval', feeds, fetches: wanted }));
    return { loss: Number(outputs[fetches[0]].data[0]), counted: this.#counted('eval'), outputs };
  }

  /** Of the last run. @param {'train' | 'eval'} graph @returns {Counted} */
  #counted(graph) {
    const names = this.#losses[graph];
    const all = new Array(3 * names.length);
    for (let i = 0, left = names.length; left; i++) {
      const { name, counted, isSum, data } = this.#output(i);
      const at = names.indexOf(name);
      if (at < 0) continue;
      const loss = new DataView(this.#memory.buffer, data).getFloat32(0, true);
      all.splice(3 * at, 3, loss, counted, Number(isSum));
      left--;
    }
    return all;
  }

  /** @param {Protocol['forward']['in']} args */
  forward({ feeds }) {
    this.#feed('train', feeds);
    const run = this.#pointer('abi_session_forward', this.#session);
    return { run, outputs: /** @type {NumberOutputs} */ (this.#outputs()) };
  }

  /** @param {Protocol['backward']['in']} args */
  backward({ run, gradients: { tensors, buffer }, inputs }) {
    for (const { name, type, dims, offset, bytes } of tensors) {
      const [shape, { id }] = [BigInt64Array.from(dims, BigInt), this.#constants.types[type]];
      const at = this.#pointer('abi_session_feed_gradient', this.#session, run, name, id, dims.length, shape);
      this.#bytes(at, bytes).set(new Uint8Array(buffer, offset, bytes));
    }
    this.#run('abi_session_backward', this.#session, run, inputs.length ? linesOf(inputs) : 0);
    return /** @type {NumberOutputs} */ (this.#outputs());
  }

  /** @param {number} run */
  dropForward(run) {
    this.#call('abi_session_drop_forward', this.#session, run);
  }

  /** A batch whose gradients are added to those before it, and used if it is the last. @param {boolean} last */
  #accumulate(last) {
    try {
      this.#run('abi_session_run', this.#session, this.#constants.artifacts.train, 0);
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
    return this.#call('abi_session_loss', this.#session);
  }

  optimize() {
    this.#run('abi_session_optimize', this.#session);
  }

  dropGrad() {
    this.#accumulating = false;
    this.#call('abi_session_drop_grad', this.#session);
  }

  resetGrad() {
    this.#accumulating = false;
    this.#call('abi_session_reset_grad', this.#session);
  }

  getLearningRate() {
    return shortest(this.#call('abi_session_lr', this.#session));
  }
  setLearningRate(/** @type {number} */ lr) {
    this.#call('abi_session_set_lr', this.#session, lr);
  }
  steps() {
    return this.#call('abi_session_steps', this.#session);
  }
  setSeed(/** @type {bigint} */ seed) {
    this.#call('abi_session_set_seed', this.#session, seed);
  }
  /** @param {GraphName} graph */
  graphText(graph) {
    return this.#text(this.#pointer('abi_session_graph', this.#session, this.#constants.artifacts[graph]));
  }

  /** @param {boolean} on */
  timeNodes(on) {
    this.#call('abi_session_time_nodes', this.#session, Number(on));
  }

  /** @param {GraphName} graph */
  nodeTimes(graph) {
    return this.#json('abi_session_node_times', this.#constants.artifacts[graph]);
  }

  memoryPlan() {
    return this.#json('abi_session_json').memory;
  }

  /** @param {number} index */
  getParameter(index) {
    const { type, dims } = this.#parameters[index];
    return this.#tensor(type, [...dims], this.#pointer('abi_session_parameter', this.#session, index));
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
    checkBytes(tensor.name, tensor.bytes, sizeOf(dims) * this.#constants.types[type].bytes);
    const at = this.#pointer('abi_session_parameter', this.#session, index);
    this.#bytes(at, tensor.bytes).set(new Uint8Array(buffer, tensor.offset, tensor.bytes));
    this.#call('abi_session_changed', this.#session);
  }

  /** @param {readonly string[]} patterns */
  setTrainable(patterns) {
    this.#run('abi_session_set_trainable', this.#session, linesOf(patterns));
    this.#accumulating = false;
    return this.#json('abi_session_json');
  }

  /** @param {number} index */
  getGradient(index) {
    const { type, dims } = this.#parameters[index];
    return this.#tensor(type, [...dims], this.#pointer('abi_session_gradient', this.#session, index));
  }

  /** @param {Which} which */
  elementCount(which) {
    return this.#call('abi_session_element_count', this.#session, this.#constants.which[which]);
  }

  /** @param {Which} which */
  copyOut(which) {
    const values = new Float32Array(this.elementCount(which));
    const at = this.#pointer('abi_alloc', values.byteLength);
    this.#call('abi_session_copy_out', this.#session, this.#constants.which[which], at);
    bytesOf(values).set(this.#bytes(at, values.byteLength));
    this.#call('abi_free', at);
    return values;
  }

  /** @param {Protocol['copyIn']['in']} args */
  copyIn({ which, bytes }) {
    checkBytes('the parameters', bytes.length, Float32Array.BYTES_PER_ELEMENT * this.elementCount(which));
    this.#call('abi_session_copy_in', this.#session, this.#constants.which[which], bytes);
  }

  /** @returns {Position} */
  getPosition() {
    const slots = Array.from({ length: this.#constants.positions }, (_, i) =>
      this.#call('abi_session_position', this.#session, i),
    );
    return /** @type {any} */ (slots);
  }

  /** @param {Position} position */
  setPosition(position) {
    position.forEach((value, i) => {
      this.#call('abi_session_set_position', this.#session, i, BigInt(value));
    });
  }

  /** @param {Protocol['best']['in']} what */
  best(what) {
    this.#run('abi_session_best', this.#session, this.#constants.best[what]);
  }

  /** @param {Protocol['setProperty']['in']} entry */
  setProperty({ name, type, value }) {
    const lowered = type === 'int' ? BigInt(value) : /** @type {number | string} */ (value);
    try {
      this.#run(`abi_session_property_set_${type}`, this.#session, name, lowered);
      this.#lost.delete(name);
    } catch (error) {
      this.#lost.set(name, error);
      throw error;
    }
  }

  /** @param {string} name */
  deleteProperty(name) {
    this.#lost.delete(name);
    this.#call('abi_session_property_delete', this.#session, name);
  }

  /** @param {Protocol['save']['in']} args */
  save({ optimizerState, format, fit }) {
    for (const error of this.#lost.values()) throw error;
    this.#run('abi_session_set_fit', this.#session, fit);
    this.#run('abi_session_save', this.#session, Number(optimizerState), this.#constants.formats[format]);
    return this.#result();
  }

  /** @param {Protocol['export']['in']} args */
  export({ outputs, trainingInfo }) {
    this.#run('abi_session_export', this.#session, outputs ? linesOf(outputs) : 0, Number(trainingInfo));
    return this.#result();
  }

  #result() {
    const bytes = this.#copy(
      this.#pointer('abi_session_result', this.#session),
      this.#call('abi_session_result_length', this.#session),
    );
    this.#call('abi_session_result_free', this.#session);
    return bytes;
  }

  /**
   * Hands each tensor to the engine and writes its bytes where the engine says.
   * @param {GraphName} graph
   * @param {PackedFeeds} feeds
   */
  #feed(graph, { tensors, sequences, buffer }) {
    const which = this.#constants.artifacts[graph];
    const { types } = this.#constants;
    for (const { name, type, dims, bytes } of tensors)
      if (type !== 'string') checkBytes(name, bytes, sizeOf(dims) * types[type].bytes);
    for (const { name, count } of sequences) this.#run('abi_session_feed_sequence', this.#session, which, name, count);
    for (const { name, type, dims, offset, bytes } of tensors) {
      checkFits(`input '${name}'`, bytes);
      const shape = BigInt64Array.from(dims, BigInt);
      const at =
        type === 'string'
          ? this.#pointer('abi_session_feed_text', this.#session, which, name, dims.length, shape, bytes)
          : this.#pointer(
              'abi_session_feed',
              this.#session,
              which,
              name,
              this.#constants.types[type].id,
              dims.length,
              shape,
            );
      this.#bytes(at, bytes).set(new Uint8Array(buffer, offset, bytes));
    }
  }

  /**
   * The outputs of the last run, copied out of the engine: all, or those named.
   * @param {readonly string[]} [names]
   */
  #outputs(names) {
    /** @type {[string, Outputs[string]][]} */
    const outputs = [];
    const { sequence, nothing } = this.#constants.ranks; // in place of a rank
    const count = names?.length === 0 ? 0 : this.#call('abi_session_output_count', this.#session);
    for (let i = 0; i < count; i++) {
      const { name, rank, items } = this.#output(i);
      const at = i + 1;
      if (rank === sequence) i += items;
      if (names && !names.includes(name)) continue;
      if (rank === nothing) outputs.push([name, null]);
      else if (rank === sequence)
        outputs.push([name, Array.from({ length: items }, (_, k) => this.#output(at + k).tensor())]);
      else outputs.push([name, this.#output(i).tensor()]);
    }
    return Object.fromEntries(outputs); // whatever the names are: __proto__ is one
  }

  /** @param {number} i */
  #output(i) {
    const at = this.#pointer('abi_session_output', this.#session, i);
    const { tensor: offset } = this.#constants;
    const view = new DataView(this.#memory.buffer, at);
    const word = (/** @type {keyof typeof offset} */ field) => view.getUint32(offset[field], true);
    const [name, id, rank, dims, data] = [
      word('name'),
      word('type'),
      view.getInt32(offset.rank, true),
      word('dims'),
      word('data'),
    ];
    const tensor = () =>
      this.#tensor(this.#typeOf(id), Array.from(new BigInt64Array(this.#memory.buffer, dims, rank), Number), data);
    return {
      name: this.#text(name),
      rank,
      items: word('count'),
      counted: view.getFloat64(offset.counted, true),
      isSum: view.getUint8(offset.isSum) === 1,
      data,
      tensor,
    };
  }

  /** @param {number} id */
  #typeOf(id) {
    const found = Object.entries(this.#constants.types).find(([, type]) => type.id === id);
    return /** @type {DataType} */ (found?.[0]);
  }

  /**
   * @param {DataType} type
   * @param {number[]} dims
   * @param {number} at
   * @returns {PlainTensor}
   */
  #tensor(type, dims, at) {
    const length = dims.reduce((product, d) => product * d, 1);
    if (type === 'string')
      return {
        type,
        data: Array.from(new Uint32Array(this.#memory.buffer, at, length), (text) => (text ? this.#text(text) : '')),
        dims,
      };
    const { buffer } = this.#copy(at, length * this.#constants.types[type].bytes);
    return { type, data: new ARRAYS[type](/** @type {ArrayBuffer} */ (buffer)), dims };
  }

  /** @param {string} name @param {Argument[]} args */
  #run(name, ...args) {
    const status = this.#call(name, ...args);
    if (this.#constants.codes[status] !== 'ok') throw this.#error(status);
  }

  /** @param {string} name @param {Argument[]} args */
  #pointer(name, ...args) {
    const at = this.#call(name, ...args);
    if (at === 0) throw this.#error(this.#call('abi_error_code'));
    return at;
  }

  /** @param {number} status */
  #error(status) {
    const message = this.#text(this.#call('abi_error_message')) || 'the engine failed and did not say why';
    const node = this.#text(this.#call('abi_error_node')) || undefined;
    const code = this.#constants?.codes[status] ?? 'internal';
    return new TrainletError(code === 'ok' ? 'internal' : code, message, { node });
  }

  /** @param {string} name @param {Argument[]} args @returns {any} */
  #json(name, ...args) {
    return JSON.parse(this.#text(this.#pointer(name, this.#session, ...args)));
  }

  /**
   * Calls an export. Strings (as text) and arrays are put in memory for the time of the call, and a trap ends the
   * engine.
   * @param {string} name
   * @param {Argument[]} args
   * @returns {any} pointers and small integers as numbers of 32 unsigned bits, i64 as a number
   */
  #call(name, ...args) {
    if (this.#broken) throw new TrainletError('internal', this.#broken);
    try {
      const result = this.#exports[name](...this.#lower(args));
      if (typeof result === 'bigint') return Number(result);
      return Number.isInteger(result) && result < 0 && !FLOATS.has(name) ? result >>> 0 : result;
    } catch (error) {
      if (error instanceof TrainletError) throw error;
      this.#broken = `this session is not usable any more, because the engine failed (${sentenceOf(error)}); make a new one`;
      throw new TrainletError('internal', `the engine failed in ${name}: ${sentenceOf(error)}`, { cause: error });
    }
  }

  /** @param {Argument[]} args @returns {Argument[]} numbers */
  #lower(args) {
    if (args.every((arg) => typeof arg === 'number')) return args;
    const blocks = args.map((arg) => {
      if (typeof arg === 'string') return encoder.encode(`${whole(arg)}\0`);
      return typeof arg === 'object' ? bytesOf(arg) : undefined;
    });
    const total = blocks.reduce((sum, block) => sum + (block ? align(block.length) : 0), 0);
    let at = total ? this.#reserve(total) : 0;
    return args.map((arg, i) => {
      const block = blocks[i];
      if (!block) return /** @type {number | bigint} */ (arg);
      this.#bytes(at, block.length).set(block);
      at += align(block.length);
      return at - align(block.length);
    });
  }

  /** Scratch of at least `bytes`; a large one is given back by the next call. @param {number} bytes */
  #reserve(bytes) {
    const { at, bytes: have } = this.#scratch;
    if (bytes <= have && have <= KEPT_SCRATCH_BYTES) return at;
    if (at) this.#exports.abi_free(at);
    this.#scratch = { at: 0, bytes: 0 };
    const size = Math.max(bytes, 1024);
    checkFits('what was given', size);
    const block = this.#exports.abi_alloc(size) >>> 0;
    if (!block) throw new TrainletError('out-of-memory', `there is no room for ${size} bytes of input`);
    this.#scratch = { at: block, bytes: size };
    return block;
  }

  /** A view that is good until the next call. @param {number} at @param {number} length */
  #bytes(at, length) {
    return new Uint8Array(this.#memory.buffer, at, length);
  }

  /** @param {number} at @param {number} length */
  #copy(at, length) {
    return this.#bytes(at, length).slice();
  }

  /** @param {number} at */
  #text(at) {
    const rest = new Uint8Array(this.#memory.buffer, at);
    return decoder.decode(rest.slice(0, rest.indexOf(0)));
  }
}

/**
 * A helper of an engine's pool: an instance of the module on the engine's memory, with a stack of its own.
 * @param {Protocol['help']['in']} args
 * @returns {Promise<() => void>} works for ever
 */
export async function createHelper({ module, memory, thread }) {
  const instance = await instantiate(module, memory);
  const exports = exportsOf(instance);
  const stack = /** @type {WebAssembly.Global} */ (instance.exports.__stack_pointer);
  return () => {
    try {
      stack.value = exports.abi_thread_stack(thread);
      exports.abi_thread_help(thread);
    } catch (error) {
      exports.abi_thread_break();
      throw error;
    }
  };
}

/** @param {WebAssembly.Module} module @param {WebAssembly.Memory} [memory] @param {() => number} [stopped] */
const instantiate = (module, memory, stopped = () => 0) =>
  WebAssembly.instantiate(module, {
    env: { emscripten_notify_memory_growth() {}, stopped, now: () => performance.now(), ...(memory && { memory }) },
  });

/** @param {WebAssembly.Instance} instance */
const exportsOf = (instance) => /** @type {Record<string, Function>} */ (/** @type {unknown} */ (instance.exports));

/** @param {WebAssembly.Module} module */
const sharesMemory = (module) => WebAssembly.Module.imports(module).some(({ kind }) => kind === 'memory');

const PAGES_PER_GB = 1 << 14;
/** What the wasm file declares (CMakeLists.txt; tests/js/core.test.js holds both). */
export const PAGES_MAX = 4 * PAGES_PER_GB - 1;

/** As large as may be: address space for its maximum is taken at once, and not every machine has 4 GB of it. */
function sharedMemory() {
  for (const maximum of [PAGES_MAX, 2 * PAGES_PER_GB, PAGES_PER_GB]) {
    try {
      return new WebAssembly.Memory({ initial: 64, maximum, shared: true }); // pages; the engine asks for fewer
    } catch {
      // less, then
    }
  }
  throw new TrainletError(
    'out-of-memory',
    'there is no room for memory that threads can share; `threads: 1` needs none',
  );
}

/** Whether this thread may wait for others by sleeping: workers may, a page's own thread may not. */
function maySleep() {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1); // is 0 already: returns at once
    return true;
  } catch {
    return false;
  }
}

/** Of several losses, or of the one. @param {GraphInfo | null} graph */
const lossNames = (graph) =>
  (graph?.losses.length ? graph.losses : (graph?.outputs.slice(0, 1) ?? [])).map(({ name }) => name);

/** The exports whose number is a value, not an address or a count. */
const FLOATS = new Set([
  'abi_session_loss',
  'abi_session_gradient_norm',
  'abi_session_lr',
  'abi_session_element_count',
]);

/** The decimal a float32 was written as: 0.001, not 0.0010000000474974513. @param {number} float */
const shortest = (float) =>
  [6, 7, 8].map((digits) => Number(float.toPrecision(digits))).find((v) => Math.fround(v) === float) ?? float;

/** Firefox's engine: no other has this class. */
const isSpiderMonkey = 'InternalError' in globalThis;

/** @param {string} what @param {number} bytes */
function checkFits(what, bytes) {
  if (bytes > MEMORY_BYTES)
    throw new TrainletError('out-of-memory', `${what} has ${bytes} bytes, more than the engine can hold`);
}

/**
 * The engine makes room for what type and dims make: exactly that may be written there.
 * @param {string} what
 * @param {number} came
 * @param {number} wanted
 */
function checkBytes(what, came, wanted) {
  if (came !== wanted)
    throw new TrainletError('invalid-feed', `'${what}' came with ${came} bytes where ${wanted} were wanted`);
}

/** Refuses what would reach the engine as another text. @param {string} text */
function whole(text) {
  if (!/\0|\p{Surrogate}/u.test(text)) return text;
  throw new TrainletError(
    'invalid-argument',
    `${JSON.stringify(text)} has a zero character or half of a surrogate pair in it, which no name has`,
  );
}

/** Names, one a line. @param {readonly string[]} names */
function linesOf(names) {
  const odd = names.find((name) => name.includes('\n'));
  if (odd !== undefined)
    throw new TrainletError('invalid-feed', `the model has no value ${JSON.stringify(odd)}: no name has a line break`);
  return names.join('\n');
}

/** @param {number} bytes */
const align = (bytes) => Math.ceil(bytes / 16) * 16;
