/** The worker's half of the conversation: answers questions with the engine, one at a time, in the order they came. */

import { sentenceOf, TrainletError } from '../base/errors.js';
import { Core } from './core.js';
import { createHelper } from './engine.js';

/** @import { Methods, Port, Question } from './protocol.js' */

/**
 * @param {Port} port
 * @param {(options: import('./protocol.js').Protocol['open']['in']) => Promise<Methods>} [createCore]
 */
export function serve(port, createCore = Core.create) {
  /** @type {Promise<Methods>} */
  let core;
  let turn = Promise.resolve();
  let work = () => {};

  /** @param {Question} question */
  async function answer({ id, method, args }) {
    try {
      if (method === 'work') return work(); // until the worker is ended
      if (method === 'beat') return beat(id, /** @type {MessagePort} */ (args));
      if (method === 'open' || method === 'help') await hold(/** @type {any} */ (args).lock);
      if (method === 'open') core = createCore(/** @type {any} */ (args));
      if (method === 'help') work = await createHelper(/** @type {any} */ (args));
      const out = method === 'help' ? undefined : await (await core)[method](/** @type {never} */ (args));
      port.postMessage({ id, out }, buffersOf(out));
    } catch (error) {
      const { code = 'internal', node = undefined } = error instanceof TrainletError ? error : {};
      port.postMessage({ id, error: { code, node, message: sentenceOf(error) } }, []);
    }
  }

  port.onmessage = ({ data }) => {
    turn = turn.then(() => answer(data));
  };
}

/**
 * Has another worker, which ends with this one, answer at the port.
 * @param {number} id 0 where this is the other @param {MessagePort} port
 */
function beat(id, port) {
  if (id) new Worker(location.href, { type: 'module' }).postMessage({ id: 0, method: 'beat', args: port }, [port]);
  else port.onmessage = () => port.postMessage(0);
}

/** Takes a lock that nothing but this worker's end lets go of. @param {string | undefined} name */
const hold = (name) =>
  name &&
  new Promise((resolve, reject) => {
    navigator.locks
      .request(name, () => {
        resolve(undefined);
        return new Promise(() => {});
      })
      .catch(reject);
  });

/**
 * The buffers of all arrays in an answer; the engine has copied them, so they can leave.
 * @param {unknown} out
 * @param {ArrayBuffer[]} [found]
 */
function buffersOf(out, found = []) {
  if (ArrayBuffer.isView(out)) found.push(/** @type {ArrayBuffer} */ (out.buffer));
  else if (out !== null && typeof out === 'object') for (const part of Object.values(out)) buffersOf(part, found);
  return found;
}
