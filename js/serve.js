/** The worker's half of the conversation: answers questions with the engine, one at a time, in the order they came. */

import { Core, createHelper } from './core.js';
import { sentenceOf, TrainletError } from './errors.js';

/** @import { Methods, Port, Question } from './protocol.js' */

/**
 * @param {Port} port
 * @param {(options: import('./protocol.js').Protocol['open']['in']) => Promise<Methods>} [createCore]
 */
export function serve(port, createCore = Core.create) {
  /** @type {Promise<Methods>} */
  let core;
  let turn = Promise.resolve();

  /** @param {Question} question */
  async function answer({ id, method, args }) {
    try {
      if (method === 'help') return await help(id, /** @type {any} */ (args));
      if (method === 'open') core = createCore(/** @type {any} */ (args));
      const out = await (await core)[method](/** @type {never} */ (args));
      port.postMessage({ id, out }, buffersOf(out));
    } catch (error) {
      const { code = 'internal', node = undefined } = error instanceof TrainletError ? error : {};
      port.postMessage({ id, error: { code, node, message: sentenceOf(error) } }, []);
    }
  }

  /** @param {number} id @param {import('./protocol.js').Protocol['help']['in']} args */
  async function help(id, args) {
    const work = await createHelper(args);
    port.postMessage({ id, out: undefined }, []);
    work(); // until the worker is ended
  }

  port.onmessage = ({ data }) => { turn = turn.then(() => answer(data)); };
}

/**
 * The buffers of all arrays in an answer; the engine has copied them, so they can leave.
 * @param {unknown} out
 * @returns {ArrayBuffer[]}
 */
function buffersOf(out) {
  if (ArrayBuffer.isView(out)) return [/** @type {ArrayBuffer} */ (out.buffer)];
  if (out === null || typeof out !== 'object') return [];
  return Object.values(out).flatMap(buffersOf);
}
