/**
 * The page's half of the conversation: asks the engine one question at a time, stops what is to stop, and leaves
 * nothing open when a worker dies.
 */

import { askedAt, callSite } from '../base/call-site.js';
import { abortedBy, checkKeys, checkSignal, sentenceOf, TrainletError } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { hasWorkers, isNode, locate } from '../base/platform.js';
import { compileEngine } from './compile.js';
import { engineOf } from './options.js';
import { threadsFor } from './thread-count.js';
import { openInline, openWorker } from './transport.js';

/** @import { EngineDefaults, EngineOptions } from '../types.js' */
/** @import { Transport } from './transport.js' */
/** @import { Answer, Ask } from './protocol.js' */

/**
 * A request without an answer yet.
 * @typedef {object} Call
 * @property {string} method
 * @property {unknown} args
 * @property {ArrayBuffer[]} transfer
 * @property {AbortSignal} [signal]
 * @property {(out: any) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/** A call that is to stop may go on for this long. */
const GRACE_MS = 3000;
/** Calls that are open at a release have this long together. */
const RELEASE_MS = 300;
/** The time for a worker to load its engine; until then no browser reports that the worker was ended. */
const START_MS = 60_000;
const DEAF =
  `the session's worker was ended, because a call did not stop within ${GRACE_MS / 1000} s of its signal: ` +
  'what is left is the last checkpoint that was saved';

export class Client {
  #transport;
  #workerUrl;
  /**
   * At most the first is with the engine: the others can be taken back, and the word that stops it means no other.
   * @type {Call[]}
   */
  #calls = [];
  #asked = 0;
  /** The stop flag that the engine polls while it computes, if memory can be shared. */
  #stop = isNode || globalThis.crossOriginIsolated ? new Int32Array(new SharedArrayBuffer(4)) : undefined;
  /** Why no more is asked. @type {TrainletError | undefined} */
  #ended;
  /** @type {Promise<void> | undefined} */
  #released;
  #idle = () => {};
  #forgive = () => {};
  /** Starts the helpers of the engine's pool. */
  #startHelpers = async () => {};
  /** @type {Transport[]} */
  #helpers = [];

  /** @param {Transport} transport @param {EngineOptions['workerUrl']} [workerUrl] of helpers */
  constructor(transport, workerUrl) {
    this.#transport = transport;
    this.#workerUrl = workerUrl;
    transport.listen(
      (answer) => this.#hear(answer),
      (reason) => this.died(`the session's worker died (${reason})`),
    );
    transport.hold(false);
    this.ask.take = transport.take;
  }

  /** Gives the worker its engine. @param {ReturnType<typeof compileFor>} compiling */
  async open(compiling) {
    const { module, threads } = await compiling;
    const opened = this.ask('open', { module, threads, stop: this.#stop, lock: this.#transport.lock });
    const started = after(START_MS, () => this.died(`the session's worker did not start within ${START_MS / 1000} s`));
    opened.finally(started).then(this.#transport.watch, () => {}); // if it failed, what is asked next does so too
    this.#startHelpers = async () => {
      const pool = await opened;
      if (!pool || pool.threads < 2) return;
      const { startHelpers } = await lazy(() => import('./helpers.js'));
      startHelpers({ module, ...pool }, () => openWorker(this.#workerUrl), this);
    };
  }

  /** @type {Ask} */
  ask = async (method, args, transfer = [], signal = undefined) => {
    if (this.#ended) throw new TrainletError(this.#ended.code, this.#ended.message);
    checkSignal(signal);
    const site = callSite();
    /** @type {Call} */
    let call;
    const abort = () => this.#calls.includes(call) && this.#abort(call);
    try {
      return await new Promise((resolve, reject) => {
        call = { method, args, transfer, signal, resolve, reject };
        signal?.addEventListener('abort', abort);
        this.#push(call);
      });
    } catch (error) {
      throw askedAt(site, error);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  };

  /** @param {Call} call */
  #push(call) {
    if (this.#calls.push(call) === 1) this.#send();
  }

  /** Asks the first of the questions. */
  #send() {
    const [call] = this.#calls;
    this.#transport.hold(Boolean(call));
    if (!call) return this.#idle();
    this.#tellStop(this.#ended ? 1 : 0);
    try {
      this.#transport.post({ id: ++this.#asked, method: call.method, args: call.args }, call.transfer);
    } catch (error) {
      this.#settle(call).reject(
        new TrainletError('internal', `the question could not be sent: ${sentenceOf(error)}`, { cause: error }),
      );
    }
  }

  /** It is answered or taken back: the next one's turn, if it was the first. @param {Call} call */
  #settle(call) {
    const at = this.#calls.indexOf(call);
    this.#calls.splice(at, 1);
    if (at) return call;
    this.#forgive();
    this.#send();
    return call;
  }

  /** @param {Answer} answer */
  async #hear(answer) {
    const [call] = this.#calls;
    if (!call || answer.id !== this.#asked) return; // the client has ended, and its transport is not closed yet
    this.#settle(call);
    if ('out' in answer) return call.resolve(answer.out);
    const { code, message, node } = answer.error;
    const error = code === 'aborted' && (this.#ended ?? abortedBy(call.signal, message));
    const more = code === 'invalid-feed' && /shape/.test(message) && (await hintOn(message));
    call.reject(error || new TrainletError(code, message + (more || ''), { node }));
  }

  /** Calls end soon while it is 1. @param {number} word */
  #tellStop(word) {
    if (this.#stop) Atomics.store(this.#stop, 0, word);
  }

  /** A call's signal has come. @param {Call} call */
  #abort(call) {
    if (call !== this.#calls[0]) return this.#settle(call).reject(abortedBy(call.signal));
    this.#tellStop(1);
    this.#forgive = after(GRACE_MS, () => {
      this.#calls.shift();
      call.reject(abortedBy(call.signal, DEAF));
      this.died(DEAF);
    });
  }

  /** Brings the engine's helpers up, if it has a pool. Nobody waits for them: each joins in when it is there. */
  startHelpers() {
    this.#startHelpers().catch((error) => {
      if (!this.#ended) console.info(`trainlet: ${sentenceOf(error)}; one thread computes`);
    });
  }

  /**
   * Closes the transport to a helper with the engine's own; false where that has ended. @param {Transport} transport
   */
  keep(transport) {
    this.#helpers.push(transport);
    if (this.#ended) transport.close();
    return !this.#ended;
  }

  get hasEnded() {
    return Boolean(this.#ended);
  }

  /**
   * Stops what computes, lets other calls be answered that do not take long, refuses all that comes later, and ends the
   * worker.
   * @param {{ signal?: AbortSignal }} [options] the signal ends it at once
   */
  async release(options = {}) {
    checkKeys('release', options, ['signal']);
    const { signal } = options;
    this.#ended ??= released();
    const end = () => this.end(released());
    this.#tellStop(1);
    this.#released ??= this.#finish(end);
    if (signal?.aborted) end();
    else checkSignal(signal);
    signal?.addEventListener('abort', end);
    await this.#released.finally(() => signal?.removeEventListener('abort', end));
  }

  /** @param {() => void} end */
  async #finish(end) {
    const forgive = after(RELEASE_MS, end);
    if (this.#calls.length)
      await new Promise((resolve) => {
        this.#idle = () => resolve(undefined);
      });
    forgive();
    await this.#close();
  }

  /** Ends the engine's worker and its helpers. */
  async #close() {
    await Promise.all([...this.#helpers.splice(0), this.#transport].map((transport) => transport.close()));
  }

  /** @param {string} message */
  died(message) {
    this.end(new TrainletError('worker-died', `${message}; make a new session`));
  }

  /** Ends the worker at once; `error` is the answer to everything. @param {TrainletError} error */
  end(error) {
    this.#ended ??= error;
    this.#forgive();
    for (const { reject } of this.#calls.splice(0))
      reject(new TrainletError(error.code, error.message, { cause: error.cause }));
    this.#close();
    this.#idle();
  }
}

const released = () => new TrainletError('released', 'the session was released: this has no answer');

/**
 * Calls back then, unless it is called off. In four parts, of which a suspended page misses one: it has not waited, and
 * what came meanwhile is heard first.
 * @param {number} ms
 * @param {() => void} callback
 */
function after(ms, callback) {
  let left = 4;
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  const wait = () => {
    if (left--) timer = setTimeout(wait, ms / 4);
    else callback();
  };
  wait();
  return () => clearTimeout(timer);
}

/**
 * Finds one that is done with all that it was asked (js/session/model.js).
 * @type {{ idle?: (engine: EngineDefaults) => Client | undefined }}
 */
export const clients = {};

/**
 * Makes something with a client; if that fails or the signal comes, no worker is left behind.
 * @template T
 * @param {EngineOptions & { backend?: string }} options
 * @param {(client: Client) => Promise<T>} make
 * @returns {Promise<T>}
 */
export async function withClient(options, make) {
  const { signal } = options;
  checkSignal(signal);
  const site = new Error();
  /** @type {Client | undefined} */
  let client;
  const making = async () => {
    const engine = engineOf(options);
    const { worker = hasWorkers(), workerUrl } = engine;
    const { backend = 'wasm' } = options;
    const onCpu = backend === 'wasm';
    client = onCpu ? clients.idle?.(engine) : undefined;
    // first, because it takes longest
    const opening = client ? undefined : worker && onCpu ? openWorker(workerUrl) : openInline({ ...engine, backend });
    const compiling = opening && compileFor(engine); // while the worker starts
    compiling?.catch(() => {}); // reported below, unless the worker's own trouble comes first
    client ??= new Client(/** @type {Transport} */ (await opening), workerUrl);
    try {
      checkSignal(signal);
      if (compiling) await client.open(compiling);
      return await make(client);
    } catch (error) {
      await client.release();
      throw error;
    }
  };
  return await new Promise((resolve, reject) => {
    const abort = () => {
      client?.end(abortedBy(signal));
      reject(abortedBy(signal));
    };
    signal?.addEventListener('abort', abort);
    making()
      .then(resolve, (error) => reject(askedAt(site, error)))
      .finally(() => signal?.removeEventListener('abort', abort));
  });
}

/** More of the sentence with which the engine refuses a feed. @param {string} message */
const hintOn = async (message) =>
  await lazy(() => import('./shape-hint.js')).then(
    ({ shapeHint }) => shapeHint(message),
    () => '',
  );

/** The engine, and how many threads it is to use. @param {EngineDefaults} options */
async function compileFor({ wasmUrl, wasmBinary, threads: wanted = 'auto', reproducible = false }) {
  const threads = await threadsFor(wanted);
  const source = { wasmUrl: wasmUrl ? await locate(`${wasmUrl}`) : undefined, wasmBinary };
  return { threads, module: await compileEngine({ ...source, threads, reproducible }) };
}
