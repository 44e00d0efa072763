/** The GPU: a session's two buffers, of the step and of the state, and the pipelines that replay its dispatches. */

import { sentenceOf, TrainletError } from '../base/errors.js';
import { isNode } from '../base/platform.js';
import { KERNELS } from './kernels.js';
import { mapKernel } from './maps.js';

/** @import { Dispatch, Operand } from './lower.js' */

const ROW_BYTES = 256; // the numbers of a dispatch: a multiple of the alignment that dynamic offsets must have
const ROW_WORDS = ROW_BYTES / 4;
const OPERANDS = 8; // the first words of a row: where its operands lie
const CHUNK = 1 << 24;

const HEAD = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> step_: array<f32>;
@group(0) @binding(1) var<storage, read_write> state_: array<f32>;
struct Row { words: array<vec4<u32>, ${ROW_WORDS / 4}> }
@group(0) @binding(2) var<uniform> row_: Row;
`;
const word = (/** @type {number} */ i) => `row_.words[${i >> 2}][${i & 3}]`;

/** The GPUs of a page, or of Node with the package `webgpu`. @returns {Promise<any>} */
async function gpuHere() {
  const gpu = /** @type {any} */ (globalThis).navigator?.gpu;
  if (gpu || !isNode) return gpu;
  try {
    const name = 'webgpu'; // a variable, for which no bundler looks
    const { create, globals } = await import(/* @vite-ignore */ /* webpackIgnore: true */ name);
    Object.assign(globalThis, globals);
    return create([]);
  } catch {
    return undefined;
  }
}

/** The thread's GPU, which all its sessions share, with the pipelines that any of them has needed. */
class Gpu {
  /** @type {Promise<Gpu> | undefined} */
  static #only;
  /** @type {Map<string, Promise<any>>} */
  pipelines = new Map();
  /** Why it computes no more. */
  lost = '';
  trouble = '';

  /** @param {any} gpu Node's lives as long as this does @param {any} device */
  constructor(gpu, device) {
    this.gpu = gpu;
    this.device = device;
    device.lost.then((/** @type {any} */ { reason, message }) => {
      this.lost = message || reason || 'unknown';
    });
    device.addEventListener('uncapturederror', (/** @type {any} */ event) => {
      event.preventDefault?.();
      this.trouble ||= event.error.message;
    });
    const entry = (/** @type {number} */ binding, /** @type {any} */ buffer) => ({ binding, visibility: 4, buffer });
    this.layout = device.createBindGroupLayout({
      entries: [
        entry(0, { type: 'storage' }),
        entry(1, { type: 'storage' }),
        entry(2, { type: 'uniform', hasDynamicOffset: true, minBindingSize: ROW_BYTES }),
      ],
    });
  }

  static async get() {
    const only = await Gpu.#only?.catch(() => undefined);
    if (only && !only.lost) return only;
    Gpu.#only = Gpu.#open();
    return await Gpu.#only;
  }

  static async #open() {
    const gpu = await gpuHere();
    const adapter = await gpu?.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter)
      throw new TrainletError('unsupported-op', "backend 'webgpu': there is no GPU here; backend 'wasm' needs none");
    const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
    const device = await adapter.requestDevice({ requiredLimits: { maxStorageBufferBindingSize, maxBufferSize } });
    return new Gpu(gpu, device);
  }

  check() {
    if (this.lost)
      throw new TrainletError(
        'worker-died',
        `the GPU was lost (${this.lost}): what is left is the last checkpoint that was saved; make a new session`,
      );
    if (!this.trouble) return;
    const trouble = this.trouble;
    this.trouble = '';
    throw new TrainletError('internal', `the GPU failed: ${trouble}`);
  }
}

/** A session's part of the GPU. */
export class Device {
  #gpu;
  /** @type {Record<'step' | 'state' | 'rows' | 'back', any>} */
  #buffers = { step: undefined, state: undefined, rows: undefined, back: undefined };
  /** @type {any} */
  #group;

  /** @param {Gpu} gpu */
  constructor(gpu) {
    this.#gpu = gpu;
  }

  static open = async () => new Device(await Gpu.get());

  get #device() {
    return this.#gpu.device;
  }

  check() {
    this.#gpu.check();
  }

  /**
   * Makes room in a buffer, whose contents are lost if it grows.
   * @param {'step' | 'state' | 'rows' | 'back'} which
   * @param {number} bytes
   * @returns {Promise<boolean>} whether it is another one now
   */
  async reserve(which, bytes) {
    const old = this.#buffers[which];
    const size = Math.max(1024, Math.ceil(bytes / 256) * 256);
    if (old?.size >= size) return false;
    const { maxStorageBufferBindingSize: limit } = this.#device.limits;
    if (size > limit)
      throw new TrainletError('out-of-memory', `the GPU binds at most ${limit} bytes, ${size} are needed`);
    old?.destroy();
    const [STORAGE, UNIFORM, SRC, DST, READ] = [128, 64, 4, 8, 1];
    const usage = { step: STORAGE | SRC | DST, state: STORAGE | SRC | DST, rows: UNIFORM | DST, back: READ | DST }[
      which
    ];
    this.#device.pushErrorScope('out-of-memory');
    this.#buffers[which] = this.#device.createBuffer({ size, usage });
    const failed = await this.#device.popErrorScope();
    if (failed) throw new TrainletError('out-of-memory', `the GPU has no room for ${size} bytes: ${failed.message}`);
    this.#group = undefined;
    return true;
  }

  /** @param {'step' | 'state' | 'rows'} which @param {number} at @param {ArrayBufferView} bytes */
  write(which, at, bytes) {
    this.#device.queue.writeBuffer(this.#buffers[which], at, bytes);
  }

  /** @param {Dispatch[]} dispatches @returns {Promise<any[]>} */
  async pipelines(dispatches) {
    return await Promise.all(
      dispatches.map((dispatch) => {
        const { operands } = kernelOf(dispatch.kernel);
        const places = operands.map((name) => (dispatch.operands[name]?.state ? 's' : 'a')).join('');
        const key = `${dispatch.kernel} ${places} ${sizeFor(dispatch)}`;
        const made = this.#gpu.pipelines.get(key) ?? this.#compile(dispatch, places);
        this.#gpu.pipelines.set(key, made);
        return made;
      }),
    );
  }

  /** @param {Dispatch} dispatch @param {string} places of its operands */
  async #compile(dispatch, places) {
    const module = this.#device.createShaderModule({ code: shaderOf(dispatch, places) });
    const { messages } = await module.getCompilationInfo();
    const error = messages.find((/** @type {any} */ m) => m.type === 'error');
    if (error) throw new TrainletError('internal', `${dispatch.kernel}: ${error.message} at line ${error.lineNum}`);
    const layout = this.#device.createPipelineLayout({ bindGroupLayouts: [this.#gpu.layout] });
    try {
      return await this.#device.createComputePipelineAsync({ layout, compute: { module, entryPoint: 'main' } });
    } catch (error) {
      throw new TrainletError('internal', `${dispatch.kernel}: ${sentenceOf(error)}`, { cause: error });
    }
  }

  /**
   * Runs the dispatches, whose numbers are in the buffer of rows, in one submission, and copies ranges of bytes back.
   * @param {{ pipeline: any, groups: number[] }[]} runs
   * @param {{ which: 'step' | 'state', at: number, bytes: number }[]} wanted multiples of 4
   * @returns {Promise<Uint8Array<ArrayBuffer>[]>}
   */
  async run(runs, wanted) {
    this.check();
    const total = wanted.reduce((sum, { bytes }) => sum + bytes, 0);
    await this.reserve('back', total);
    const { step, state, rows, back } = this.#buffers;
    const entries = [step, state, { buffer: rows, size: ROW_BYTES }].map((resource, binding) => ({
      binding,
      resource: resource.buffer ? resource : { buffer: resource },
    }));
    this.#group ??= this.#device.createBindGroup({ layout: this.#gpu.layout, entries });
    const encoder = this.#device.createCommandEncoder();
    if (runs.length) {
      const pass = encoder.beginComputePass();
      /** @type {unknown} */
      let last;
      runs.forEach(({ pipeline, groups }, i) => {
        if (pipeline !== last) pass.setPipeline(pipeline);
        last = pipeline;
        pass.setBindGroup(0, this.#group, [i * ROW_BYTES]);
        pass.dispatchWorkgroups(...groups);
      });
      pass.end();
    }
    let at = 0;
    for (const { which, at: from, bytes } of wanted) {
      encoder.copyBufferToBuffer(this.#buffers[which], from, back, at, bytes);
      at += bytes;
    }
    this.#device.queue.submit([encoder.finish()]);
    try {
      await back.mapAsync(1, 0, total);
    } catch (error) {
      await Promise.race([this.#device.lost, new Promise((resolve) => setTimeout(resolve, 100))]);
      this.check();
      throw error;
    }
    const bytes = new Uint8Array(back.getMappedRange(0, total)).slice();
    back.unmap();
    this.check();
    at = 0;
    return wanted.map(({ bytes: length }) => {
      at += length;
      return bytes.subarray(at - length, at);
    });
  }

  /** Bytes of a buffer, a piece at a time. @param {'step' | 'state'} which @param {number} at @param {number} bytes */
  async *read(which, at, bytes) {
    for (let from = 0; from < bytes; from += CHUNK) {
      const length = Math.min(CHUNK, bytes - from);
      const [piece] = await this.run([], [{ which, at: at + from, bytes: length }]);
      yield { from, piece };
    }
  }

  close() {
    for (const buffer of Object.values(this.#buffers)) buffer?.destroy();
  }
}

/** @param {string} key */
const kernelOf = (key) => KERNELS[key] ?? mapKernel(key);

/** Threads of a workgroup: fewer where rows are short. @param {Dispatch} dispatch */
function sizeFor({ kernel, numbers }) {
  const { size, code } = kernelOf(kernel);
  return size ?? (code.includes('sum_all') && numbers.n <= 256 ? 64 : 256);
}

/** @param {Dispatch} dispatch @param {string} places */
export function shaderOf(dispatch, places) {
  const { operands, numbers, code } = kernelOf(dispatch.kernel);
  const text = code.replaceAll(/\$(\w+)(\[?)/g, (all, name, bracket) => {
    const operand = operands.indexOf(name);
    if (bracket && operand >= 0) return `${places[operand] === 's' ? 'state_' : 'step_'}[${word(operand)} + `;
    const at = numbers.indexOf(name);
    if (at < 0) throw new TrainletError('internal', `${dispatch.kernel} has no number ${all}`);
    return (name.startsWith('f_') ? `bitcast<f32>(${word(OPERANDS + at)})` : word(OPERANDS + at)) + bracket;
  });
  return `${HEAD}const SIZE = ${sizeFor(dispatch)}u;\n${text}`;
}

/** The rows of dispatches. @param {Dispatch[]} dispatches @param {(operand: Operand) => number} at bytes */
export function rowsOf(dispatches, at) {
  const rows = new Uint32Array(dispatches.length * ROW_WORDS);
  const floats = new Float32Array(rows.buffer);
  dispatches.forEach((dispatch, i) => {
    const kernel = kernelOf(dispatch.kernel);
    const base = i * ROW_WORDS;
    kernel.operands.forEach((name, k) => {
      const operand = dispatch.operands[name];
      if (operand) rows[base + k] = at(operand) / 4;
    });
    kernel.numbers.forEach((name, k) => {
      (name.startsWith('f_') ? floats : rows)[base + OPERANDS + k] = dispatch.numbers[name];
    });
  });
  return rows;
}
