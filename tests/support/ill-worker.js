/**
 * A worker thread that is a good engine and a bad helper: as ILLNESS says, it refuses, exits after it joined, or traps
 * in its first chunk.
 */

import { parentPort } from 'node:worker_threads';
import { serve } from '../../js/engine/serve.js';

const illness = process.env.ILLNESS;
const { instantiate } = WebAssembly;
const post = parentPort.postMessage.bind(parentPort);
const port = { onmessage: null, postMessage: post };

/**
 * A helper's instance whose stack has no room: the first function that needs some, of whatever task it takes, traps.
 */
async function withoutStack(...args) {
  const { exports } = await instantiate.apply(WebAssembly, args);
  return { exports: { ...exports, abi_thread_stack: () => 0 } };
}

serve(port);
parentPort.on('message', (data) => {
  if (data.method === 'help' && illness === 'refuses')
    return post({ id: data.id, error: { code: 'internal', message: 'no help today' } });
  if (data.method === 'help' && illness === 'exits') {
    setTimeout(() => process.exit(3), 20);
    return post({ id: data.id, out: undefined });
  }
  if (data.method === 'help' && illness === 'traps') WebAssembly.instantiate = withoutStack;
  return port.onmessage({ data });
});
