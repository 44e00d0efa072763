/** Augmentation: the option of `fit`, and the worker that changes each batch before it trains. */

import { abortedBy, checkKeys, invalid, nameOf, sentenceOf, TrainletError } from '../base/errors.js';
import { isKind } from '../base/kind.js';
import { isNode, locate, nodeModule } from '../base/platform.js';
import { whyNoWorker, workerFrom } from '../base/start-worker.js';
import { engineOf } from '../engine/options.js';

/** @import { FitOptions, ValueInfo } from '../types.js' */
/** @import { Batches, Next } from './dataset.js' */
/** @typedef {{ post(message: object, transfer: ArrayBuffer[]): void, close(): void }} Far a worker's port here */
/**
 * @typedef {{ input: string, signal: boolean, last: boolean, steps: { type?: string, module?: string | URL }[] }} Wish
 */

export const AUGMENT_KEYS = /** @type {const} */ (['steps', 'input', 'layout']);
/** Upper limits of options. */
const SHARE = 1,
  ANY = Infinity,
  TURN = 360;
/**
 * The steps there are: for pictures, signals or both, and their options with default and most.
 * @type {Record<string, { of: string, options: Record<string, [usual: number, most: number]> }>}
 */
export const STEPS = {
  flip: { of: 'pictures', options: { p: [0.5, SHARE] } },
  shift: { of: 'both', options: { x: [0.1, SHARE], y: [0.1, SHARE] } },
  rotate: { of: 'pictures', options: { degrees: [15, TURN] } },
  crop: { of: 'pictures', options: { least: [0.8, SHARE] } },
  noise: { of: 'both', options: { std: [0.05, ANY] } },
  colour: { of: 'pictures', options: { brightness: [0.2, ANY], contrast: [0.2, SHARE], tint: [0.1, SHARE] } },
  scale: { of: 'signals', options: { by: [0.2, SHARE] } },
};

/**
 * @param {FitOptions['augment']} augment
 * @param {readonly ValueInfo[]} inputs of the graph
 * @param {readonly string[]} labels names of the inputs that take labels
 */
export function openAugmenter(augment, inputs, labels) {
  return augment === undefined ? undefined : new Augmenter(wishOf(augment, inputs, labels));
}

/**
 * @param {NonNullable<FitOptions['augment']>} augment
 * @param {readonly ValueInfo[]} inputs
 * @param {readonly string[]} labels
 * @returns {Wish}
 */
function wishOf(augment, inputs, labels) {
  /** @type {any} */
  const options = Array.isArray(augment) ? { steps: augment } : augment;
  checkKeys('augment', options, AUGMENT_KEYS);
  const { steps, layout } = options;
  if (!Array.isArray(steps) || !steps.length)
    throw invalid("augment must be an array of steps, as ['flip', { type: 'shift', x: 0.2 }]");
  if (![undefined, 'NCHW', 'NHWC'].includes(layout))
    throw invalid(`augment: layout must be 'NCHW' or 'NHWC', not '${layout}'`);
  const input = inputOf(options, inputs, labels);
  const signal = input.dims.length < 4;
  return {
    input: input.name,
    signal,
    last: (layout ?? usualLayout(input)) === 'NHWC',
    steps: steps.map((step) => stepOf(step, signal)),
  };
}

/** Guesses the layout by the number of channels, 1 or 3. @param {ValueInfo} input */
function usualLayout({ dims }) {
  const isChannels = (/** @type {number | string} */ dim) => dim === 1 || dim === 3;
  return isChannels(dims[3]) && !isChannels(dims[1]) ? 'NHWC' : 'NCHW';
}

/** @param {{ input?: string }} given @param {readonly ValueInfo[]} inputs @param {readonly string[]} labels */
function inputOf({ input: name }, inputs, labels) {
  const fit = inputs.filter(
    ({ type, dims, labels: classes }) =>
      !classes && (type === 'float32' || type === 'uint8') && dims.length >= 2 && dims.length <= 4,
  );
  const able = fit.filter((input) => (name === undefined ? !labels.includes(input.name) : input.name === name));
  if (able.length === 1) return able[0];
  const there = fit.map((input) => `'${input.name}' (${input.type} [${input.dims.join(', ')}])`).join(', ') || 'none';
  const wanted =
    name === undefined ? 'say which input' : `there is no input '${name}' of two to four dims, float32 or uint8`;
  throw invalid(`augment: ${wanted}; there are ${there}`);
}

/** @param {any} step @param {boolean} signal */
function stepOf(step, signal) {
  const stage = typeof step === 'string' ? { type: step } : step;
  if (stage?.module !== undefined) {
    checkKeys('augment: module', stage, ['module', 'options']);
    const isPlace = typeof stage.module === 'string' || isKind(stage.module, 'URL');
    if (!isPlace) throw invalid(`augment: module must be a URL or a path, not ${nameOf(stage.module)}`);
    return { module: String(stage.module), options: plain(stage.options) };
  }
  const { type, ...options } = stage ?? {};
  if (!Object.hasOwn(STEPS, type))
    throw invalid(`augment: there is no step ${nameOf(type)}; there are ${Object.keys(STEPS).join(', ')}`);
  const known = STEPS[type];
  if (known.of !== 'both' && (known.of === 'signals') !== signal)
    throw invalid(`augment: ${type} is for ${known.of}, and the input is of ${signal ? 'signals' : 'pictures'}`);
  const { axis, ...numbers } = options;
  checkKeys(`augment: ${type}`, type === 'flip' ? numbers : options, Object.keys(known.options));
  if (axis !== undefined && !['horizontal', 'vertical'].includes(axis))
    throw invalid(`augment: flip: axis must be 'horizontal' or 'vertical', not '${axis}'`);
  const values = Object.entries(known.options).map(([name, [usual, most]]) => [
    name,
    within(`augment: ${type}: ${name}`, numbers[name] ?? usual, most),
  ]);
  return { type, axis, ...Object.fromEntries(values) };
}

/** A copy of options that can be posted to a worker. @param {unknown} options */
function plain(options) {
  try {
    return structuredClone(options);
  } catch (error) {
    throw invalid(`augment: the options of a module must be what a worker can be sent: ${sentenceOf(error)}`);
  }
}

/** @param {string} what @param {unknown} value @param {number} most */
function within(what, value, most) {
  if (typeof value === 'number' && value >= 0 && value <= most && value < Infinity) return value;
  throw invalid(`${what} must be a number from 0${most < Infinity ? ` to ${most}` : ' up'}, not ${nameOf(value)}`);
}

class Augmenter {
  #wish;
  /** Started with the first batch. @type {Promise<Far> | undefined} */
  #worker;
  /** The error that ended the worker. @type {TrainletError | undefined} */
  #end;
  /** Settles the promise of the one batch that the worker has. */
  #settle = { resolve: (/** @type {ArrayBuffer} */ _buffer) => {}, reject: (/** @type {unknown} */ _error) => {} };

  /** @param {Wish} wish */
  constructor(wish) {
    this.#wish = wish;
  }

  /**
   * The same batches, each augmented with the random numbers of its position.
   * @param {Batches} batches
   * @param {readonly [seed: number, epoch: number, batch: number]} position of the first
   * @param {AbortSignal} [signal]
   * @returns {Batches}
   */
  over(batches, [seed, epoch, first], signal) {
    let batch = first;
    return {
      next: async () => {
        const next = await batches.next();
        return next.done ? next : await this.#change(next, [seed, epoch, batch++], signal);
      },
      return: (value) => batches.return?.(value),
    };
  }

  close() {
    this.#worker?.then(
      (worker) => worker.close(),
      () => {},
    );
  }

  /**
   * @param {Next} next
   * @param {readonly [number, number, number]} position
   * @param {AbortSignal} [signal]
   * @returns {Promise<Next>}
   */
  async #change(next, position, signal) {
    const { feeds } = next.value;
    this.#worker ??= this.#start();
    const worker = await this.#worker;
    const stop = () => this.#settle.reject(abortedBy(signal));
    const changed = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    signal?.addEventListener('abort', stop);
    try {
      const steps = await Promise.all(this.#wish.steps.map(placed));
      if (signal?.aborted) stop();
      else if (this.#end) this.#settle.reject(this.#end);
      else worker.post({ ...feeds, ...this.#wish, steps, position }, [feeds.buffer]);
      return { ...next, value: { ...next.value, feeds: { ...feeds, buffer: await changed } } };
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  async #start() {
    const dead = (/** @type {string} */ why) => {
      this.#end = new TrainletError('worker-died', `the worker of augmentation died: ${why}`);
      this.#settle.reject(this.#end);
    };
    const hear = (/** @type {{ buffer?: ArrayBuffer, error?: string }} */ { buffer, error }) =>
      buffer ? this.#settle.resolve(buffer) : this.#settle.reject(invalid(`augment: ${error}`));
    return isNode ? await startThread(hear, dead) : startWorker(hear, dead);
  }
}

/** A module's absolute URL, for a worker that lies elsewhere. @param {{ module?: string | URL }} step */
async function placed(step) {
  const { module } = step;
  return module === undefined ? step : { ...step, module: (await locate(module)).href };
}

/** The script beside the `workerUrl` that `configure` was given, if the server has it there. */
async function besideWorker() {
  const { workerUrl } = engineOf({});
  if (!workerUrl) return undefined;
  const file = './worker-augment.js'; // no literal: bundlers are to find the package's own
  const url = new URL(file, await locate(workerUrl));
  const { ok, headers } = await fetch(url, { method: 'HEAD' }).catch(() => new Response(null, { status: 404 }));
  return ok && /javascript|ecmascript/.test(headers.get('content-type') ?? '') ? url : undefined;
}

/** @param {(answer: any) => void} hear @param {(why: string) => void} dead @returns {Promise<Far>} */
async function startWorker(hear, dead) {
  const moved = await besideWorker();
  const locate = () => moved ?? new URL('./worker-augment.js', import.meta.url);
  const worker = await workerFrom(locate, ' for augment');
  worker.onmessage = ({ data }) => hear(data);
  worker.onerror = async ({ message }) => dead(message || (await whyNoWorker(locate)));
  return { post: (message, transfer) => worker.postMessage(message, transfer), close: () => worker.terminate() };
}

/** @param {(answer: any) => void} hear @param {(why: string) => void} dead @returns {Promise<Far>} */
async function startThread(hear, dead) {
  const { Worker: Thread } = await nodeModule('worker_threads');
  const file = './worker-augment.js'; // no literal: bundlers are to take it for browsers' alone
  const thread = new Thread(new URL(file, import.meta.url), { execArgv: [] });
  thread.on('message', hear);
  thread.on('error', (/** @type {Error} */ { message }) => dead(message));
  thread.on('exit', (/** @type {number} */ code) => dead(`it exited with code ${code}`));
  return { post: (message, transfer) => thread.postMessage(message, transfer), close: () => void thread.terminate() };
}
