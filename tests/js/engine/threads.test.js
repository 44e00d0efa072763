/**
 * Threads in Node: the same bits for every count, no process kept alive, and no step that waits for a helper that is
 * not there.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as trainlet from '../../../js/index.js';
import { bitsOf } from '../../support/bits.js';
import { artifactOptions, batchFeeds } from '../../support/recipe.js';

const golden = (name) => readFileSync(new URL(`../../golden/data/${name}`, import.meta.url));
const json = (name) => JSON.parse(golden(name));
const [losses, hashes] = [json('engine-losses.json'), json('engine-weights.json')];
const w2 = json('w2.json');
const artifacts = await trainlet.generateArtifacts(golden('w2.onnx'), artifactOptions(w2));

for (const threads of [1, 2, 4]) {
  for (const name of Object.keys(hashes)) {
    test(`${name} with ${threads} thread${threads > 1 ? 's' : ''} has the bits of the native engine`, async () => {
      const recipe = json(`${name}.json`);
      const bits = await bitsOf(trainlet, recipe, golden(recipe.model), {
        threads,
        worker: name !== 'transformer',
        reproducible: true,
      });
      assert.deepEqual(bits, { losses: losses[name].map(Math.fround), hash: hashes[name] });
    });
  }
}

/** Node's output; the process must end. @param {string} code */
async function runInNode(code) {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    cwd: here,
    timeout: 60_000,
  });
  return stdout.trim();
}

const PROGRAM = `
  import { readFileSync } from 'node:fs';
  import { generateArtifacts, TrainingSession } from '../../../js/index.js';
  import { artifactOptions, batchFeeds } from '../../support/recipe.js';
  const recipe = JSON.parse(readFileSync('../../golden/data/w2.json'));
  const artifacts = await generateArtifacts(readFileSync('../../golden/data/w2.onnx'), artifactOptions(recipe));
  const session = await TrainingSession.create(artifacts, { threads: 3, worker: WORKER });
  for (let i = 0; i < 5; i++) await session.step(batchFeeds(recipe, i));`;

for (const worker of [true, false]) {
  for (const [end, code] of [
    ['without release', ''],
    ['by exit', 'process.exit(0);'],
    ['after release', 'await session.release();'],
  ]) {
    test(`Node ends ${end} (worker: ${worker})`, async () => {
      assert.equal(
        await runInNode(`${PROGRAM.replace('WORKER', String(worker))} console.log('trained'); ${code}`),
        'trained',
      );
    });
  }
}

/** A session whose helpers are as ill as tests/support/ill-worker.js makes them. */
function createIll(illness, options) {
  process.env.ILLNESS = illness; // worker threads inherit it
  return trainlet.TrainingSession.create(artifacts, {
    threads: 3,
    reproducible: true,
    workerUrl: new URL('../../support/ill-worker.js', import.meta.url),
    ...options,
  });
}

/** The lines that console.info gets meanwhile. */
async function told(action) {
  const { info } = console;
  const lines = [];
  console.info = (line) => {
    lines.push(line);
  };
  try {
    await action();
  } finally {
    console.info = info;
  }
  return lines;
}

for (const worker of [true, false]) {
  test(`helpers that do not start are told of, and the engine computes alone (worker: ${worker})`, async () => {
    const lines = await told(async () => {
      const session = await createIll('refuses', { worker });
      const { loss } = await session.step(batchFeeds(w2, 0));
      assert.equal(Math.fround(loss), Math.fround(losses.w2[0]));
      await new Promise((resolve) => {
        setTimeout(resolve, 300);
      });
      await session.step(batchFeeds(w2, 1));
      await session.release();
    });
    assert.deepEqual(
      lines,
      Array(2).fill('trainlet: a helper thread could not be started (no help today); fewer threads compute'),
    );
  });

  for (const illness of ['exits', 'traps']) {
    test(`a helper that ${illness} ends the session with one clear error (worker: ${worker})`, {
      timeout: 60_000,
    }, async () => {
      const session = await createIll(illness, { worker });
      const training = async () => {
        for (let i = 0; i < 500; i++) {
          await session.step(batchFeeds(w2, 0));
          await new Promise(setImmediate); // in this thread, news of the helper comes between steps
        }
      };
      await assert.rejects(
        training,
        (error) => ['worker-died', 'internal'].includes(error.code) && /make a new|engine failed/.test(error.message),
      );
      await session.release();
    });
  }
}

test('a file without threads computes alone, whatever is asked for', async () => {
  const engine = { threads: 4, wasmBinary: readFileSync(new URL('../../../js/engine/trainlet.wasm', import.meta.url)) };
  const { losses: got } = await bitsOf(trainlet, json('mlp_clip.json'), golden('mlp_small.onnx'), engine);
  assert.deepEqual(got, losses.mlp_clip.map(Math.fround));
});

const SPIDERMONKEY = `
  import { readFileSync } from 'node:fs';
  import { bitsOf } from '../../support/bits.js';
  const { instantiate } = WebAssembly;
  let asked = 0;
  WebAssembly.instantiate = async (...args) => {
    const { exports } = await instantiate(...args);
    return { exports: { ...exports, abi_spidermonkey: () => { asked++; exports.abi_spidermonkey(); } } };
  };
  const trainlet = await import('../../../js/index.js');
  const bits = await bitsOf(trainlet, JSON.parse(readFileSync('../../golden/data/w2.json')), \
readFileSync('../../golden/data/w2.onnx'), { threads: 1, worker: false, reproducible: true });
  console.log(JSON.stringify({ asked: asked > 0, bits }));`;

test("tiles for Firefox's compiler are asked for where its class is, and only there; same bits", async () => {
  const bits = { losses: losses.w2.map(Math.fround), hash: hashes.w2 };
  assert.deepEqual(JSON.parse(await runInNode(SPIDERMONKEY)), { asked: false, bits });
  assert.deepEqual(JSON.parse(await runInNode(`globalThis.InternalError = class extends Error {};${SPIDERMONKEY}`)), {
    asked: true,
    bits,
  });
});
