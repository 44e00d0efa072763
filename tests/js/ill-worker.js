/**
 * A worker thread that is a good engine and a bad helper: as ILLNESS says, it refuses, exits after it joined, or traps
 * in its first chunk.
 */

import { parentPort } from 'node:worker_threads';
import { serve } from '../../js/serve.js';

const illness = process.env.ILLNESS;
const { instantiate } = WebAssembly;
const post = parentPort.postMessage.bind(parentPort);
const port = { onmessage: null, postMessage: post };

/** A helper's instance whose table of functions is empty: whatever task it takes, the call traps. */
async function withoutFunctions(...args) {
  const instance = await instantiate.apply(WebAssembly, args);
  const table = instance.exports.__indirect_function_table;
  for (let i = 0; i < table.length; i++) table.set(i, null);
  return instance;
}

serve(port);
parentPort.on('message', (data) => {
  if (data.method === 'help' && illness === 'refuses')
    return post({ id: data.id, error: { code: 'internal', message: 'no help today' } });
  if (data.method === 'help' && illness === 'exits') {
    setTimeout(() => process.exit(3), 20);
    return post({ id: data.id, out: undefined });
  }
  if (data.method === 'help' && illness === 'traps') WebAssembly.instantiate = withoutFunctions;
  return port.onmessage({ data });
});
