/** The transport to an engine in a worker thread of Node. */

import { sentenceOf } from '../base/errors.js';
import { locate, nodeModule } from '../base/platform.js';

/** @import { Transport } from './transport.js' */

/** @param {string | URL | undefined} url @returns {Promise<Transport>} */
export const openNodeThread = async (url) => threadTransport(await startThread(url));

/** @param {string | URL | undefined} url */
async function startThread(url) {
  const { Worker: Thread } = await nodeModule('worker_threads');
  return new Thread(url ? await locate(url) : new URL('./worker-node.js', import.meta.url), { execArgv: [] });
}

/** @param {import('node:worker_threads').Worker} thread @returns {Transport} */
function threadTransport(thread) {
  let gone = (/** @type {number} */ _code) => {};
  return {
    post: (message, transfer) => thread.postMessage(message, transfer),
    listen: (hear, dead) => {
      gone = (code) => dead(`it exited with code ${code}`);
      thread.on('message', hear);
      thread.on('error', (error) => dead(sentenceOf(error)));
      thread.on('messageerror', () => dead('an answer could not be read'));
      thread.on('exit', gone);
    },
    hold: (busy) => {
      busy ? thread.ref() : thread.unref();
    },
    close: () => {
      thread.off('exit', gone); // else each of a session's threads would end all the others once more
      return thread.terminate();
    },
  };
}
