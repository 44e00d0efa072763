/**
 * The end of the engine's 4 GB, really reached: no address leads past it, what fails says so, and the session goes on.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileEngine } from '../../../js/engine/compile.js';
import { Core } from '../../../js/engine/core.js';
import { PAGES_MAX } from '../../../js/engine/engine.js';
import { clusters, golden } from '../../support/clusters.js';

const MB = 2 ** 20;
const SETTINGS = [
  ['loss.type', 'cross-entropy'],
  ['optimizer.type', 'adamw'],
];
const PARTS = { train: 'trainModel', eval: 'evalModel', optimizer: 'optimizerModel', checkpoint: 'checkpointState' };

/** Why not, where the machine has no room for 4 GB of addresses. */
function missing() {
  try {
    new WebAssembly.Memory({ initial: 1, maximum: PAGES_MAX }).grow(PAGES_MAX - 1);
    new WebAssembly.Memory({ initial: 1, maximum: PAGES_MAX, shared: true }).grow(PAGES_MAX - 1);
    return false;
  } catch (error) {
    return `this machine gives no memory of 4 GB: ${error.message}`;
  }
}

/** An engine, and its exports to fill its memory by: no page is touched, so it costs no time. */
async function open(threads) {
  const module = await compileEngine({ threads, reproducible: true });
  const memory = threads > 1 ? new WebAssembly.Memory({ initial: 64, maximum: PAGES_MAX, shared: true }) : undefined;
  const env = { emscripten_notify_memory_growth() {}, stopped: () => 0, now: () => 0, ...(memory && { memory }) };
  const instance = await WebAssembly.instantiate(module, { env });
  const core = new Core(instance, memory && { memory, module, threads: 1 });
  const { abi_alloc: alloc, abi_free } = instance.exports;
  const end = () => (memory ?? instance.exports.memory).buffer.byteLength;
  const take = (bytes) => {
    const at = alloc(bytes) >>> 0;
    assert.ok(at === 0 || at + bytes <= end(), `${bytes} bytes at ${at} of ${end()}`);
    return at;
  };
  return { core, take, free: abi_free, end };
}

/** Feeds as the client packs them: one buffer for all. */
function packed(entries) {
  const tensors = [];
  const parts = [];
  let offset = 0;
  for (const [name, { data, dims, type }] of Object.entries(entries)) {
    parts.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    tensors.push({ name, type, dims, offset, bytes: data.byteLength });
    offset += data.byteLength;
  }
  return { tensors, sequences: [], buffer: Uint8Array.from(parts.flatMap((part) => [...part])).buffer };
}
const feeds = (count) => {
  const { inputs, labels } = clusters(count, 1);
  return packed({ ...inputs, ...labels });
};
const outOfMemory = (error) => error.code === 'out-of-memory' && /memory|room/.test(error.message);

for (const threads of [1, 2]) {
  test(`at the end of memory a sentence comes, and the session goes on (${threads === 1 ? 'plain' : 'threads'})`, {
    skip: missing(),
  }, async () => {
    const { core, take, free, end } = await open(threads);
    const model = golden('mlp_small.onnx');
    const made = core.artifacts({ model, external: [], settings: SETTINGS });
    core.load({
      parts: Object.entries(PARTS).map(([which, key]) => ({ which, bytes: made[key] })),
      external: [],
      maxMemoryBytes: 0,
    });
    const step = (count) => core.step({ feeds: feeds(count), optimize: true }).loss;
    step(8);

    const large = [1100, 1100, 1100].map((size) => take(size * MB));
    // emmalloc takes the hole at 2.2 GB for large enough, because its address and 2 GB wrap around to less
    free(large[2]);
    for (const bytes of [2000 * MB, 1900 * MB, 4000 * MB, 2 ** 32 - 100, 2 ** 32 - 1])
      assert.equal(take(bytes), 0, `${bytes}`);
    take(1000 * MB);
    for (const size of [1000 * MB, 500 * MB, 64 * MB, MB, 65536, 4096, 256, 16]) while (take(size));
    assert.ok(end() > 4095 * MB, `memory ended at ${end()}`);

    assert.throws(() => step(4000), outOfMemory);
    assert.throws(() => core.artifacts({ model, external: [], settings: SETTINGS }), outOfMemory);
    assert.throws(() => core.setProperty({ name: 'long', type: 'string', value: 'x'.repeat(MB) }), outOfMemory);
    assert.ok(Number.isFinite(step(8)));
    free(large[0]);
    assert.ok(Number.isFinite(step(4000)));
    core.setProperty({ name: 'long', type: 'string', value: 'x' });
    assert.ok(core.save({ optimizerState: true, format: 'trainlet' }).length > 1000);
  });
}

test('a file of more bytes than the engine can address is refused', async () => {
  const { core } = await open(1);
  const bytes = { length: 2 ** 32 + 16 }; // that its length is looked at first lets a test do without the bytes
  const refused = (error) =>
    error.code === 'out-of-memory' && /4294967312 bytes, more than the engine can hold/.test(error.message);
  assert.throws(() => core.load({ parts: [{ which: 'model', bytes }], external: [], maxMemoryBytes: 0 }), refused);
  assert.throws(() => core.artifacts({ model: bytes, external: [], settings: [] }), refused);
});
