/** A running engine: the instance of its wasm, its memory, and calls of the exports of wasm/abi.c. */

import { invalid, sentenceOf, TrainletError } from '../base/errors.js';
import { ARRAYS, bytesOf, sizeOf } from '../base/tensor.js';

/** @import { DataType, ErrorCode } from '../types.js' */
/**
 * @import { CheckpointFormat, ExternalFile, Outputs, PackedFeeds, PartName, PlainTensor, Pool, PropertyLimits,
 * Protocol, Weights, Which } from './protocol.js'
 */

/**
 * @typedef {{ codes: ('ok' | ErrorCode)[], types: Record<string, { id: number, bytes: number }>,
 *   artifacts: Record<PartName, number>, formats: Record<CheckpointFormat, number>, weights: Record<Weights, number>,
 * passes: string[], losses: string[], optimizers: string[], limits: PropertyLimits,
 *   best: Record<Protocol['best']['in'], number>, which: Record<Which, number>, ranks: { sequence: number, nothing:
 * number }, positions: number,
 *   shrunkFor: string,
 *   tensor: Record<'name' | 'type' | 'rank' | 'dims' | 'data' | 'count' | 'counted' | 'isSum', number> }} Constants
 * @typedef {number | bigint | string | Uint8Array | Float32Array | BigInt64Array} Argument
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const KEPT_BYTES = 1 << 16;
const MEMORY_BYTES = 2 ** 32 - 1; // a length is 32 bits wide

export class Engine {
  /** @type {WebAssembly.Memory} */
  #memory;
  /** @type {Record<string, Function>} */
  #exports;
  #views = { bytes: new Uint8Array(), view: new DataView(new ArrayBuffer(0)) };
  #scratch = { at: 0, bytes: 0 };
  /** @type {Map<string, Uint8Array>} */
  #names = new Map();
  /** Why no export may be called any more. */
  broken = '';
  /** @type {Constants} */
  constants;
  /** @type {Pool | undefined} */
  pool;

  /**
   * @param {WebAssembly.Instance} instance
   * @param {Pool} [pool] the memory, if it is shared, and how many threads are to share it
   */
  constructor(instance, pool) {
    this.#exports = exportsOf(instance);
    this.#memory = pool?.memory ?? /** @type {WebAssembly.Memory} */ (instance.exports.memory);
    this.#exports._initialize?.();
    if (isSpiderMonkey) this.#exports.abi_spidermonkey();
    this.constants = JSON.parse(this.text(this.pointer('abi_json')));
    if (pool) this.pool = { ...pool, threads: this.call('abi_threads', pool.threads, Number(maySleep())) };
  }

  /**
   * Hands files over, the largest part of a model: each is let go of here as soon as the engine has it.
   * @param {string} name @param {number} owner @param {ExternalFile[]} files
   */
  takeExternal(name, owner, files) {
    for (let file = files.shift(); file; file = files.shift()) this.place(name, file.bytes, owner, file.location);
  }

  /**
   * Puts a file where the engine reads it in place, and lets go of it here.
   * @param {string} name of the export that makes room
   * @param {Uint8Array} bytes
   * @param {Argument[]} args what it is given before their number
   * @returns {[at: number, length: number]}
   */
  place(name, bytes, ...args) {
    checkFits(args[1] ? `externalData['${args[1]}']` : 'a file', bytes.length);
    const { length } = bytes;
    const at = this.pointer(name, ...args, length);
    this.write(at, bytes);
    letGo(bytes);
    return [at, length];
  }

  /**
   * Hands tensors over: each is written where the engine says.
   * @param {string} to the export that makes room for one by its name, type and dims; with `_text` one of strings
   * @param {number[]} owner what the export is given first
   * @param {PackedFeeds} given
   */
  hand(to, owner, { tensors, sequences, buffer }) {
    const { types } = this.constants;
    for (const { name, type, dims, bytes } of tensors) {
      if (type !== 'string') checkBytes(name, bytes, sizeOf(dims) * types[type].bytes);
      if (bytes > MEMORY_BYTES) checkFits(`'${name}'`, bytes);
    }
    for (const { name, count } of sequences) this.run(`${to}_sequence`, ...owner, name, count);
    for (const { name, type, dims, offset, bytes } of tensors) {
      const [text, shape] = [this.#named(name), shapeOf(dims)];
      const at =
        type === 'string'
          ? this.pointer(`${to}_text`, ...owner, text, dims.length, shape, bytes)
          : this.pointer(to, ...owner, text, types[type].id, dims.length, shape);
      this.write(at, new Uint8Array(buffer, offset, bytes));
    }
  }

  /** The text of an input's or output's name; there are only as many as the graphs have. @param {string} name */
  #named(name) {
    const text = this.#names.get(name) ?? textOf(name);
    this.#names.set(name, text);
    return text;
  }

  /** @param {number} at @param {Uint8Array} text */
  #isAt(at, text) {
    const { bytes } = this.#now;
    return text.every((byte, i) => bytes[at + i] === byte);
  }

  /**
   * The outputs of the last run, copied out of the engine: all, or those named.
   * @param {number} session
   * @param {readonly string[]} [names]
   */
  outputs(session, names) {
    /** @type {[string, Outputs[string]][]} */
    const outputs = [];
    const { sequence, nothing } = this.constants.ranks; // in place of a rank
    const count = names?.length === 0 ? 0 : this.call('abi_session_output_count', session);
    for (let i = 0; i < count; i++) {
      const at = this.#output(session, i);
      const [name, rank, items] = [
        this.text(this.#word(at, 'name')),
        this.#word(at, 'rank') | 0,
        this.#word(at, 'count'),
      ];
      const first = i + 1;
      if (rank === sequence) i += items;
      if (names && !names.includes(name)) continue;
      if (rank === nothing) outputs.push([name, null]);
      else if (rank === sequence)
        outputs.push([name, Array.from({ length: items }, (_, k) => this.#tensorAt(this.#output(session, first + k)))]);
      else outputs.push([name, this.#tensorAt(at)]);
    }
    return Object.fromEntries(outputs); // whatever the names are: __proto__ is one
  }

  /**
   * The losses of the last run: value, count, and whether it is a sum, three numbers for each.
   * @param {number} session
   * @param {readonly string[]} names
   */
  counted(session, names) {
    /** @type {number[]} */
    const all = new Array(3 * names.length);
    for (let i = 0, left = names.length; left; i++) {
      const at = this.#output(session, i);
      const which = names.findIndex((name) => this.#isAt(this.#word(at, 'name'), this.#named(name)));
      if (which < 0) continue;
      const { counted, isSum } = this.constants.tensor;
      all[3 * which] = this.#now.view.getFloat32(this.#word(at, 'data'), true);
      all[3 * which + 1] = this.#now.view.getFloat64(at + counted, true);
      all[3 * which + 2] = this.#now.view.getUint8(at + isSum);
      left--;
    }
    return all;
  }

  /** Reads the fields of an output. @param {number} session @param {number} i */
  #output(session, i) {
    return this.pointer('abi_session_output', session, i);
  }

  /** @param {number} at of an output @param {keyof Constants['tensor']} field */
  #word(at, field) {
    return this.#now.view.getUint32(at + this.constants.tensor[field], true);
  }

  /** @param {number} at of an output */
  #tensorAt(at) {
    const [id, rank, dims] = [this.#word(at, 'type'), this.#word(at, 'rank'), this.#word(at, 'dims')];
    const [type] = Object.entries(this.constants.types).find(([, type]) => type.id === id) ?? [];
    const shape = Array.from({ length: rank }, (_, i) => Number(this.#now.view.getBigInt64(dims + 8 * i, true)));
    return this.tensor(/** @type {DataType} */ (type), shape, this.#word(at, 'data'));
  }

  /**
   * @param {DataType} type
   * @param {number[]} dims
   * @param {number} at
   * @returns {PlainTensor}
   */
  tensor(type, dims, at) {
    const length = sizeOf(dims);
    if (type === 'string')
      return {
        type,
        data: Array.from(new Uint32Array(this.#memory.buffer, at, length), (text) => (text ? this.text(text) : '')),
        dims,
      };
    const { buffer } = this.copy(at, length * this.constants.types[type].bytes);
    return {
      type,
      data: new (ARRAYS[/** @type {keyof typeof ARRAYS} */ (type)] ?? Uint8Array)(/** @type {ArrayBuffer} */ (buffer)),
      dims,
    };
  }

  /** @param {string} name @param {Argument[]} args */
  run(name, ...args) {
    const status = this.call(name, ...args);
    if (this.constants.codes[status] !== 'ok') throw this.#error(status);
  }

  /** @param {string} name @param {Argument[]} args */
  pointer(name, ...args) {
    const at = this.call(name, ...args);
    if (at === 0) throw this.#error(this.call('abi_error_code'));
    return at;
  }

  /** @param {number} status */
  #error(status) {
    const message = this.text(this.call('abi_error_message')) || 'the engine failed and did not say why';
    const node = this.text(this.call('abi_error_node')) || undefined;
    const code = this.constants?.codes[status] ?? 'internal';
    return new TrainletError(code === 'ok' ? 'internal' : code, message, { node });
  }

  /** @param {string} name @param {Argument[]} args @returns {any} */
  json(name, ...args) {
    return JSON.parse(this.text(this.pointer(name, ...args)));
  }

  /**
   * Calls an export. Strings (as text) and arrays are put in memory for the time of the call, and a trap ends the
   * engine.
   * @param {string} name
   * @param {Argument[]} args
   * @returns {any} pointers and small integers as numbers of 32 unsigned bits, i64 as a number
   */
  call(name, ...args) {
    if (this.broken) throw new TrainletError('internal', this.broken);
    if (!this.#exports[name]) throw this.#missing(name);
    try {
      const result = this.#exports[name](...(args.some(isBlock) ? this.#lower(args) : args));
      if (typeof result === 'bigint') return Number(result);
      return result < 0 && Number.isInteger(result) && !FLOATS.has(name) ? result >>> 0 : result;
    } catch (error) {
      if (error instanceof TrainletError) throw error;
      const reason = sentenceOf(error);
      this.broken = `this session is not usable any more, because the engine failed (${reason}); make a new one`;
      throw new TrainletError('internal', `the engine failed in ${name}: ${reason}`, { cause: error });
    }
  }

  /** The error of a shrunk build that lacks an export. @param {string} name */
  #missing(name) {
    const what = name.replace(/^abi_(session_)?/, '').replaceAll('_', ' ');
    return new TrainletError(
      'unsupported-op',
      `this build was shrunk for ${this.constants.shrunkFor} and has no ${what}`,
    );
  }

  /** @param {Argument[]} args @returns {Argument[]} numbers */
  #lower(args) {
    const blocks = args.map((arg) =>
      typeof arg === 'string' ? textOf(arg) : typeof arg === 'object' ? bytesOf(arg) : undefined,
    );
    let at = this.#reserve(blocks.reduce((sum, block) => sum + (block ? align(block.length) : 0), 0));
    return args.map((arg, i) => {
      const [block, here] = [blocks[i], at];
      if (!block) return arg;
      this.write(here, block);
      at += align(block.length);
      return here;
    });
  }

  /** Scratch of at least `bytes`; a large one is given back by the next call. @param {number} bytes */
  #reserve(bytes) {
    const { at, bytes: have } = this.#scratch;
    if (bytes <= have && have <= KEPT_BYTES) return at;
    if (at) this.#exports.abi_free(at);
    this.#scratch = { at: 0, bytes: 0 };
    const size = Math.max(bytes, 1024);
    checkFits('what was given', size);
    const block = this.#exports.abi_alloc(size) >>> 0;
    if (!block) throw new TrainletError('out-of-memory', `there is no room for ${size} bytes of input`);
    this.#scratch = { at: block, bytes: size };
    return block;
  }

  /** The memory as it is now: when it grows its buffer is another. */
  get #now() {
    const { buffer } = this.#memory;
    if (this.#views.bytes.buffer !== buffer)
      this.#views = { bytes: new Uint8Array(buffer), view: new DataView(buffer) };
    return this.#views;
  }

  /** @param {number} at @param {Uint8Array} bytes */
  write(at, bytes) {
    this.#now.bytes.set(bytes, at);
  }

  /** @param {number} at @param {number} length */
  copy(at, length) {
    return this.#now.bytes.slice(at, at + length);
  }

  /** @param {number} at */
  text(at) {
    const { bytes } = this.#now;
    return decoder.decode(bytes.slice(at, bytes.indexOf(0, at)));
  }
}

/**
 * Operators and passes that graphs of an instance have had, a line each; '' for a shrunk build, which does not report.
 * @param {{ instance: WebAssembly.Instance, pool?: Pool }} of
 */
export function seenBy({ instance, pool }) {
  const { abi_seen: seen } = exportsOf(instance);
  const memory = pool?.memory ?? /** @type {WebAssembly.Memory} */ (instance.exports.memory);
  const at = seen?.();
  const bytes = new Uint8Array(memory.buffer);
  return seen ? decoder.decode(bytes.slice(at, bytes.indexOf(0, at))) : '';
}

/** Instantiates the wasm module of an engine, with its thread pool. @param {Protocol['open']['in']} args */
export async function instanceFor({ module, threads, stop }) {
  const pool = sharesMemory(module) ? { memory: sharedMemory(), threads } : undefined;
  return { instance: await instantiate(module, pool?.memory, stop && (() => Atomics.load(stop, 0))), pool };
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
/** The maximum that the wasm file declares (CMakeLists.txt; tests/js/engine/core.test.js compares both). */
export const PAGES_MAX = 4 * PAGES_PER_GB - 1;

/** The largest shared memory possible: its maximum is reserved at once, and not every machine has 4 GB of addresses. */
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

/** True if this thread may sleep while it waits: workers may, a page's main thread may not. */
function maySleep() {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1); // is 0 already: returns at once
    return true;
  } catch {
    return false;
  }
}

/** The exports whose number is a value, not an address or a count. */
const FLOATS = new Set([
  'abi_session_loss',
  'abi_session_gradient_norm',
  'abi_session_lr',
  'abi_session_element_count',
]);

/** Firefox's engine: no other has this class. */
const isSpiderMonkey = 'InternalError' in globalThis;

/** Bytes that the engine has now: where they are many, garbage is collected too late. @param {Uint8Array} bytes */
export function letGo({ buffer }) {
  if (buffer.byteLength > KEPT_BYTES) /** @type {any} */ (buffer).transfer?.(0);
}

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
export function checkBytes(what, came, wanted) {
  if (came !== wanted)
    throw new TrainletError('invalid-feed', `'${what}' came with ${came} bytes where ${wanted} were wanted`);
}

/** Refuses what would reach the engine as another text. @param {string} text */
function whole(text) {
  if (!/\0|\p{Surrogate}/u.test(text)) return text;
  throw invalid(`${JSON.stringify(text)} has a zero character or half of a surrogate pair in it, which no name has`);
}

/** NUL-terminated UTF-8. @param {string} text */
const textOf = (text) => encoder.encode(`${whole(text)}\0`);

/** @param {readonly number[]} dims */
function shapeOf(dims) {
  const shape = new BigInt64Array(dims.length);
  for (let i = 0; i < dims.length; i++) shape[i] = BigInt(dims[i]);
  return shape;
}

/** True for an argument that is copied into memory. @param {Argument} arg */
const isBlock = (arg) => typeof arg === 'string' || typeof arg === 'object';

/** @param {number} bytes */
const align = (bytes) => Math.ceil(bytes / 16) * 16;
