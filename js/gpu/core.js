/**
 * The engine whose train steps a GPU computes: wasm plans a step, the GPU runs it. Parameters, gradients and moments
 * stay there; whatever else is asked of the engine, they are first copied to where it looks for them.
 */

import { invalid, nameOf, TrainletError } from '../base/errors.js';
import { Device, rowsOf } from './device.js';
import { Lowering, overElements, sizeOf } from './lower.js';
import { NUMBERS } from './kernels.js';

/** @import { Core } from '../engine/core.js' */
/** @import { NumberOutputs, PackedFeeds, Protocol } from '../engine/protocol.js' */
/** @import { Dispatch, Operand, Value } from './lower.js' */
/**
 * @typedef {{ address: number, bytes: number, at: number }} Range of the engine's memory, and where the GPU has it
 * @typedef {{ program: number, overwrites: number, gradients: number, gradientCount: number, optimizer: string,
 *   clip: number, inputs: [number, number][], outputs: [number, string][], updates: number[][] }} Run
 * @typedef {{ dispatches: Dispatch[], pipelines: any[], rows: Uint32Array, inputs: Range[], constants: Range[],
 *   fetched: Value[], scratch: number, bytes: number, tail?: any[] }} Program
 */

const STATUS_BYTES = 256; // at the beginning of the step's buffer
const SMALL = 64; // bytes of an output that comes back in any case
/** The kernel of an optimizer. @param {string} name @param {number} m a moment's address, 0: none @param {number} v */
const updateBy = (name, m, v) =>
  `update ${name}${(name === 'sgd' && m) || (name === 'rmsprop' && v) ? '-momentum' : ''}`;
const up = (/** @type {number} */ bytes, to = 256) => Math.ceil(bytes / to) * to;
const SQUARES = 256;

/** Methods that this class has in their place. */
const OWN = new Set(['step', 'learn', 'dropGrad', 'resetGrad']);
/** Methods that neither need the state nor change it. */
const APART = new Set(
  (
    'open load feed getLearningRate setLearningRate steps setSeed graphText ' +
    'getPosition getSeed setPosition setProperty deleteProperty elementCount memoryPlan'
  ).split(' '),
);
/** Methods that need it and leave it as it is. */
const READS = new Set('getParameter getGradient copyOut save export measure describe'.split(' '));

export class GpuCore {
  #core;
  /** @type {Device} */
  #device;
  /** @type {Map<number, Program>} */
  #programs = new Map();
  /** @type {Program | undefined} the last that ran: its constants and rows are in the buffers */
  #current;
  /** @type {Range[]} */
  #state = [];
  #stateText = '';
  /** Who has the newer state. @type {'both' | 'engine' | 'device'} */
  #newer = 'engine';
  #accumulating = false;

  /** @param {Core} core @param {Device} device */
  constructor(core, device) {
    this.#core = core;
    this.#device = device;
  }

  /** @param {Core} core the engine without a GPU @param {{ backend: string, reproducible?: boolean }} how */
  static async create(core, { backend, reproducible }) {
    if (backend !== 'webgpu') throw invalid(`backend must be 'wasm' or 'webgpu', not ${nameOf(backend)}`);
    if (reproducible)
      throw invalid("backend 'webgpu' is not reproducible, each GPU rounds in its own way: leave one of the two out");
    return new GpuCore(core, await Device.open());
  }

  /** The methods as they are asked for from outside: the state is where each looks for it. */
  asked() {
    return new Proxy(/** @type {any} */ (this.#core), {
      get: (core, /** @type {string} */ name) => {
        if (OWN.has(name)) return (/** @type {unknown[]} */ ...args) => /** @type {any} */ (this)[name](...args);
        if (typeof core[name] !== 'function' || APART.has(name)) return core[name]?.bind(core);
        return async (/** @type {unknown[]} */ ...args) => {
          await this.#pull();
          if (!READS.has(name)) this.#newer = 'engine';
          return core[name](...args);
        };
      },
    });
  }

  /** @param {PackedFeeds} feeds */
  async learn(feeds) {
    return (await this.step({ feeds, optimize: true })).loss;
  }

  /** @param {Protocol['step']['in']} args */
  async step({ feeds, fetches = [], optimize, lr, position }) {
    if (lr !== undefined) this.#core.setLearningRate(lr);
    await this.#train(feeds, optimize, fetches);
    if (position) this.#core.setPosition(position);
    const { engine, session, losses } = this.#core.parts;
    return {
      loss: engine.call('abi_session_loss', session),
      counted: engine.counted(session, losses),
      outputs: /** @type {NumberOutputs} */ (engine.outputs(session, fetches)),
      ...(optimize && { gradientNorm: engine.call('abi_session_gradient_norm', session) }),
    };
  }

  /** @param {PackedFeeds} feeds @param {boolean} optimize @param {readonly string[]} fetches */
  async #train(feeds, optimize, fetches) {
    this.#core.feed('train', feeds);
    const anew = optimize && !this.#accumulating;
    const { engine, session } = this.#core.parts;
    /** @type {Run} */
    const run = engine.json('abi_session_device_begin', session, Number(anew));
    await this.#push();
    const program = this.#programs.get(run.program) ?? (await this.#lower(run));
    const tail = optimize ? this.#tail(run, program) : [];
    const rows = rowsOf(tail, (operand) => this.#at(operand, program));
    const isNewStep = await this.#device.reserve('step', program.bytes);
    const areNewRows = await this.#device.reserve('rows', program.rows.byteLength + rows.byteLength);
    if (isNewStep || areNewRows || this.#current !== program) this.#load(program);
    program.inputs.forEach(({ at }, i) =>
      this.#device.write('step', at, engine.copy(run.inputs[i][0], up(run.inputs[i][1], 4))),
    );
    this.#device.write('step', 0, new Uint8Array(STATUS_BYTES));
    if (rows.length) this.#device.write('rows', program.rows.byteLength, rows);
    const pipelines = [...program.pipelines, ...(await this.#device.pipelines(tail))];
    const runs = [...program.dispatches, ...tail].map(({ groups }, i) => ({ pipeline: pipelines[i], groups }));
    const back = this.#wanted(run, program, fetches);
    this.#newer = 'device';
    const [status, ...outputs] = await this.#device.run(runs, [{ which: 'step', at: 0, bytes: 16 }, ...back]);
    back.forEach(({ to, size }, i) => engine.write(to, outputs[i].subarray(0, size)));
    const [normSquared] = new Float32Array(status.slice().buffer);
    this.#accumulating = !optimize;
    try {
      engine.run('abi_session_device_end', session, Number(optimize), normSquared);
    } catch (error) {
      this.#accumulating = false;
      throw error;
    }
    const loss = engine.call('abi_session_loss', session);
    if (optimize || Number.isFinite(loss)) return;
    this.dropGrad();
    throw new TrainletError('non-finite-loss', `the loss is ${loss}; no parameter was changed`);
  }

  dropGrad() {
    this.#accumulating = false;
    this.#core.dropGrad();
  }

  resetGrad() {
    this.#accumulating = false;
    this.#core.resetGrad();
  }

  /** @param {Run} run @param {Program} program @param {readonly string[]} fetches */
  #wanted(run, program, fetches) {
    return program.fetched.flatMap((value, i) => {
      const size = sizeOf(value.dims) * this.#bytesOf(value);
      const [to, name] = run.outputs[i];
      if (value.place === 1 || !size || (size > SMALL && !fetches.includes(name))) return [];
      const at = value.place === 2 ? program.inputs[value.at].at : STATUS_BYTES + value.at;
      return [{ which: /** @type {const} */ ('step'), at, bytes: up(size, 4), to, size }];
    });
  }

  /** @param {Value} value */
  #bytesOf({ type }) {
    const { types } = this.#core.parts.engine.constants;
    return Object.values(types).find(({ id }) => id === type)?.bytes ?? 4;
  }

  /** The end of a step: the norm of all gradients, and the updates. @param {Run} run @param {Program} program */
  #tail(run, program) {
    const status = { at: 0 };
    const scratch = { at: 0, scratch: true };
    const state = (/** @type {number} */ address) => (address ? this.#stateAt(address) : undefined);
    const loss = program.fetched[0];
    const count = run.gradientCount;
    const parts = Math.min(SQUARES, Math.ceil(count / 1024));
    /** @type {any[]} */
    const tail = [
      {
        kernel: 'squares',
        operands: { x: state(run.gradients), y: scratch },
        numbers: { count },
        groups: [parts, 1, 1],
      },
      {
        kernel: 'verdict',
        operands: { x: scratch, loss: { at: STATUS_BYTES + loss.at }, y: status },
        numbers: { count: parts, f_clip: run.clip },
        groups: [1, 1, 1],
      },
    ];
    for (const [p, g, m, v, size, ...numbers] of run.updates)
      tail.push({
        kernel: updateBy(run.optimizer, m, v),
        operands: { status, p: state(p), g: state(g), m: state(m) ?? state(p), v: state(v) ?? state(p) },
        numbers: { count: size, ...Object.fromEntries(NUMBERS.map((name, i) => [name, numbers[i]])) },
        groups: overElements(size),
      });
    return tail;
  }

  /** @param {Run} run */
  async #lower(run) {
    const { engine, session } = this.#core.parts;
    const plan = engine.json('abi_session_device_plan', session);
    let bytes = STATUS_BYTES + up(plan.arenaBytes);
    const take = (/** @type {number} */ address, /** @type {number} */ size) => {
      const range = { address, bytes: up(size, 4), at: bytes };
      bytes += up(size);
      return range;
    };
    const inputs = run.inputs.map(([address, size]) => take(address, size));
    /** @type {Map<number, Range>} */
    const constants = new Map();
    const constant = (/** @type {Value} */ { at, dims }, /** @type {number} */ item) => {
      const range = constants.get(at) ?? take(at, sizeOf(dims) * item);
      constants.set(at, range);
      return range;
    };
    const lowering = new Lowering({
      overwrites: Boolean(run.overwrites),
      operand: (value) => {
        if (value.place === 0) return { at: STATUS_BYTES + value.at };
        if (value.place === 2) return { at: inputs[value.at].at };
        return this.#stateAt(value.at) ?? { at: constant(value, this.#bytesOf(value)).at };
      },
      ints: ({ at, dims }) => [...new BigInt64Array(engine.copy(at, 8 * sizeOf(dims)).buffer)],
    });
    for (const step of plan.steps)
      lowering.add({ ...step, inputs: step.inputs.map(placed), outputs: step.outputs.map(placed) });
    lowering.scratch(SQUARES);
    const { dispatches } = lowering;
    /** @type {Program} */
    const program = {
      ...{ dispatches, inputs, constants: [...constants.values()], scratch: bytes },
      bytes: bytes + up(lowering.scratchBytes),
      fetched: plan.fetched.map(placed),
      pipelines: await this.#device.pipelines(dispatches),
      rows: new Uint32Array(),
    };
    program.rows = rowsOf(dispatches, (operand) => this.#at(operand, program));
    this.#programs.set(run.program, program);
    return program;
  }

  /** @param {Operand} operand @param {Program} program */
  #at = ({ at, scratch }, program) => at + (scratch ? program.scratch : 0);

  /** Its constants and its rows. @param {Program} program */
  #load(program) {
    const { engine } = this.#core.parts;
    this.#device.write('rows', 0, program.rows);
    for (const { address, bytes, at } of program.constants) this.#device.write('step', at, engine.copy(address, bytes));
    this.#current = program;
  }

  /** @param {number} address of the engine's memory @returns {Operand | undefined} */
  #stateAt(address) {
    const range = this.#state.findLast((r) => r.address <= address);
    if (!range || address >= range.address + range.bytes) return undefined;
    return { state: true, at: range.at + address - range.address };
  }

  /** Gives the device the state of the engine, if that is newer. */
  async #push() {
    if (this.#newer !== 'engine') return;
    const { engine, session } = this.#core.parts;
    const ranges = engine.json('abi_session_device_state', session);
    const text = JSON.stringify(ranges);
    if (text !== this.#stateText) {
      this.#state = layOut(ranges.slice(0, -1));
      this.#stateText = text;
      this.#programs.clear();
      this.#current = undefined;
    }
    const last = this.#state.at(-1);
    await this.#device.reserve('state', last ? last.at + last.bytes : 0);
    for (const { address, bytes, at } of this.#state)
      for (let from = 0; from < bytes; from += 1 << 24)
        this.#device.write('state', at + from, engine.copy(address + from, Math.min(1 << 24, up(bytes, 4) - from)));
    this.#newer = 'both';
  }

  /** Gives the engine the state of the device, if that is newer. */
  async #pull() {
    if (this.#newer !== 'device') return;
    this.#device.check();
    for (const { address, bytes, at } of this.#state)
      for await (const { from, piece } of this.#device.read('state', at, up(bytes, 4)))
        this.#core.parts.engine.write(address + from, piece.subarray(0, Math.min(piece.length, bytes - from)));
    this.#newer = 'both';
  }

  close() {
    this.#device.close();
  }
}

/** @param {[type: number, place: number, at: number, ...dims: number[]] | null} told @returns {any} */
const placed = (told) => told && { type: told[0], place: told[1], at: told[2], dims: told.slice(3) };

/** Neighbours as one range, each at its place in the buffer. @param {[number, number][]} ranges @returns {Range[]} */
function layOut(ranges) {
  /** @type {Range[]} */
  const all = [];
  for (const [address, bytes] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = all.at(-1);
    if (last && address - last.address - last.bytes < 16) last.bytes = address + bytes - last.address;
    else all.push({ address, bytes, at: 0 });
  }
  let at = 0;
  for (const range of all) {
    range.at = at;
    at += up(range.bytes);
  }
  return all;
}
