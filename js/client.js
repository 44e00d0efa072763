/** The page's half of the conversation: asks the worker, and rejects every question left open when the worker dies. */

import { compileEngine } from './compile.js';
import { checkSignal, sentenceOf, TrainletError } from './errors.js';
import { isNode, locate, nodeModule } from './platform.js';
import { threadsFor } from './threads.js';

/** @import { EngineOptions } from './types.js' */
/** @import { Answer, Ask, Port } from './protocol.js' */

/**
 * The near end of a line, whatever is at its far end.
 * @typedef {object} Line
 * @property {(message: unknown, transfer: ArrayBuffer[]) => void} post
 * @property {(hear: (answer: Answer) => void, dead: (reason: string) => void) => void} listen
 * @property {(busy: boolean) => void} hold while busy, Node's process stays alive for it
 * @property {() => unknown} close
 */

export class Client {
  #line;
  /** @type {Map<number, { resolve: (out: any) => void, reject: (error: TrainletError) => void }>} */
  #pending = new Map();
  #asked = 0;
  /** @type {TrainletError | undefined} */
  #ended;
  #idle = () => {};
  /** Starts the helpers of the engine's pool. */
  #startHelpers = async () => {};
  /** @type {Line[]} */
  #helpers = [];

  /** @param {Line} line */
  constructor(line) {
    this.#line = line;
    line.listen(
      (answer) => this.#hear(answer),
      (reason) => this.end(new TrainletError('worker-died', `the session's worker died (${reason}); make a new session`)));
    line.hold(false);
  }

  /**
   * A client with an engine at the other end.
   * @param {EngineOptions} options
   */
  static async connect({ worker = true, workerUrl, ...options }) {
    const opening = worker ? openWorker(workerUrl) : openHere(); // first, because it takes longest
    const compiling = compileFor(options); // while the worker starts
    compiling.catch(() => {}); // told below, unless the worker's own trouble comes first
    const client = new Client(await opening);
    try {
      const { module, threads } = await compiling;
      const opened = client.ask('open', { module, threads });
      opened.catch(() => {}); // what is asked next fails alike
      client.#startHelpers = async () => {
        const pool = await opened;
        for (let thread = 1; pool && thread < pool.threads; thread++) client.#help(workerUrl, { module, memory: pool.memory, thread });
      };
    } catch (error) {
      await client.release();
      throw error;
    }
    return client;
  }

  /** @type {Ask} */
  ask = (method, args, transfer = []) => {
    if (this.#ended) return Promise.reject(new TrainletError(this.#ended.code, this.#ended.message));
    return new Promise((resolve, reject) => {
      const id = ++this.#asked;
      this.#line.post({ id, method, args }, transfer);
      this.#pending.set(id, { resolve, reject });
      this.#line.hold(true);
    });
  };

  /** Brings the engine's helpers up, if it has a pool. Nobody waits for them: each joins in when it is there. */
  startHelpers() { this.#startHelpers().catch((error) => this.#tellOfHelper(sentenceOf(error))); }

  /** @param {EngineOptions['workerUrl']} workerUrl @param {import('./protocol.js').Protocol['help']['in']} args */
  async #help(workerUrl, args) {
    let joined = false;
    const stopped = (/** @type {string} */ reason) => {
      if (joined) this.end(new TrainletError('worker-died', `a helper of the session's worker died (${reason}); make a new session`));
      else this.#tellOfHelper(reason);
    };
    const hear = (/** @type {Answer} */ answer) => {
      if ('error' in answer) stopped(answer.error.message);
      else joined = true;
    };
    try {
      const line = await openWorker(workerUrl);
      this.#helpers.push(line);
      line.listen(hear, stopped);
      line.hold(false);
      if (this.#ended) line.close();
      else line.post({ id: args.thread, method: 'help', args }, []);
    } catch (error) {
      stopped(sentenceOf(error));
    }
  }

  /** @param {string} reason */
  #tellOfHelper(reason) {
    if (!this.#ended) console.info(`trainlet: a helper thread could not be started (${reason}); fewer threads compute`);
  }

  /** Lets what was asked so far be answered, refuses all that comes later, and ends the worker. */
  async release() {
    this.#ended ??= new TrainletError('released', 'the session was released and cannot be used any more');
    if (this.#pending.size) await new Promise((resolve) => { this.#idle = () => resolve(undefined); });
    await this.#close();
  }

  /** Ends the engine's worker and its helpers. */
  async #close() { await Promise.all([...this.#helpers.splice(0), this.#line].map((line) => line.close())); }

  /** Ends the worker at once; `error` is the answer to everything. @param {TrainletError} error */
  end(error) {
    this.#ended ??= error;
    for (const { reject } of this.#pending.values()) reject(new TrainletError(error.code, error.message));
    this.#pending.clear();
    this.#close();
    this.#idle();
  }

  /** @param {Answer} answer */
  #hear(answer) {
    const waiting = this.#pending.get(answer.id);
    if (!waiting) return; // of a client that has ended: the line is held until it is closed
    this.#pending.delete(answer.id);
    if (!this.#pending.size) {
      this.#line.hold(false);
      this.#idle();
    }
    if ('out' in answer) return waiting.resolve(answer.out);
    const { code, message, node } = answer.error;
    waiting.reject(new TrainletError(code, message, { node }));
  }
}

/**
 * Makes something with a new client; if that fails or the signal comes, no worker is left behind.
 * @template T
 * @param {EngineOptions} options
 * @param {(client: Client) => Promise<T>} make
 */
export async function withClient(options, make) {
  const { signal } = options;
  checkSignal(signal);
  const client = await Client.connect(options);
  const abort = () => client.end(new TrainletError('aborted', 'stopped by the signal'));
  signal?.addEventListener('abort', abort);
  try {
    checkSignal(signal);
    return await make(client);
  } catch (error) {
    await client.release();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** The engine, and how many threads it is to use. @param {EngineOptions} options */
async function compileFor({ wasmUrl, wasmBinary, threads: wanted = 'auto', reproducible = false }) {
  const threads = await threadsFor(wanted);
  const place = { wasmUrl: wasmUrl ? await locate(wasmUrl) : undefined, wasmBinary };
  return { threads, module: await compileEngine({ ...place, threads, reproducible }) };
}

/** The engine in this thread, over a channel like any worker's. @returns {Promise<Line>} */
async function openHere() {
  const { serve } = await import('./serve.js');
  const { port1, port2 } = new MessageChannel();
  serve(/** @type {Port} */ (/** @type {unknown} */ (port2)));
  return portLine(port1, port2);
}

/**
 * @param {MessagePort} near
 * @param {MessagePort} far in this thread too, so Node holds its process for both or for none
 * @returns {Line}
 */
export function portLine(near, far) {
  const ports = /** @type {(MessagePort & { ref?(): void, unref?(): void })[]} */ ([near, far]);
  return {
    post: (message, transfer) => near.postMessage(message, transfer),
    listen: (hear) => { near.onmessage = ({ data }) => hear(data); },
    hold: (busy) => { for (const port of ports) busy ? port.ref?.() : port.unref?.(); },
    close: () => {
      far.onmessage = null;
      near.close();
    },
  };
}

/** @param {string | URL | undefined} url @returns {Promise<Line>} */
async function openWorker(url) {
  return isNode ? threadLine(await startThread(url)) : workerLine(startWorker(url));
}

/** @param {string | URL | undefined} url */
function startWorker(url) {
  try {
    return url
      ? new Worker(url, { type: 'module' })
      : new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  } catch (error) {
    throw new TrainletError('worker-died', `no worker could be started: ${sentenceOf(error)}`, { cause: error });
  }
}

/** @param {Worker} worker @returns {Line} */
function workerLine(worker) {
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    listen: (hear, dead) => {
      worker.onmessage = ({ data }) => hear(data);
      worker.onerror = (event) => dead(event.message || 'its script could not be loaded, or a CSP forbids it');
      worker.onmessageerror = () => dead('an answer could not be read');
    },
    hold: () => {},
    close: () => worker.terminate(),
  };
}

/** @param {string | URL | undefined} url */
async function startThread(url) {
  const { Worker: Thread } = await nodeModule('worker_threads');
  return new Thread(url ? await locate(url) : new URL('./worker-node.js', import.meta.url), { execArgv: [] });
}

/** @param {import('node:worker_threads').Worker} thread @returns {Line} */
function threadLine(thread) {
  return {
    post: (message, transfer) => thread.postMessage(message, transfer),
    listen: (hear, dead) => {
      thread.on('message', hear);
      thread.on('error', (error) => dead(sentenceOf(error)));
      thread.on('messageerror', () => dead('an answer could not be read'));
      thread.on('exit', (code) => dead(`it exited with code ${code}`));
    },
    hold: (busy) => { busy ? thread.ref() : thread.unref(); },
    close: () => thread.terminate(),
  };
}
