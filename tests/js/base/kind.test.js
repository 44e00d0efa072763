/** Arguments of another realm, as a frame's or those of a test in jsdom: their classes are not ours. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { isKind } from '../../../js/base/kind.js';
import { generateArtifacts, packText, parametersOf, readTable, TrainingSession } from '../../../js/index.js';
import { HERE, root } from '../../support/engines.js';

const model = readFileSync(path.join(root, 'tests/golden/data/mlp_small.onnx'));
/** In a realm of its own. @param {string} code @param {object} [values] */
const elsewhere = (code, values = {}) => runInNewContext(code, values);
/** A copy of bytes, an array of that realm. @param {Uint8Array} bytes */
const bytesElsewhere = (bytes) => elsewhere('Uint8Array.from(bytes)', { bytes: [...bytes] });

for (const [kind, code] of [
  ['Uint8Array', 'new Uint8Array(2)'],
  ['ArrayBuffer', 'new ArrayBuffer(2)'],
  ['Float32Array', 'new Float32Array(2)'],
  ['DataView', 'new DataView(new ArrayBuffer(2))'],
  ['Map', 'new Map()'],
  ['Promise', '(async () => {})()'],
])
  test(`a ${kind} of another realm is one, and of no other kind`, () => {
    const value = elsewhere(code);
    assert.equal(value instanceof globalThis[kind], false);
    assert.equal(isKind(value, /** @type {any} */ (kind)), true);
    assert.equal(isKind(value, 'Blob'), false);
  });

test('a Buffer is a Uint8Array, a File a Blob, and so is a class that extends it; objects and null are none', () => {
  class Untold extends Blob {
    get [Symbol.toStringTag]() {
      return 'Object';
    }
  }
  assert.ok(isKind(Buffer.alloc(1), 'Uint8Array'));
  assert.ok(isKind(new File([], 'a.csv'), 'Blob'));
  assert.ok(isKind(new Untold(), 'Blob'));
  for (const other of [null, undefined, {}, [], '', new Uint8ClampedArray(1)]) assert.ok(!isKind(other, 'Uint8Array'));
});

test('models, checkpoints, tables, weights and tokens of another realm are taken', async () => {
  const artifacts = await generateArtifacts(bytesElsewhere(model), {
    ...HERE,
    loss: { type: 'cross-entropy', sampleWeights: true },
  });
  const { buffer } = bytesElsewhere(model);
  assert.deepEqual(await parametersOf(buffer, HERE), await parametersOf(model, HERE));
  const parts = Object.entries(artifacts).filter(([, bytes]) => ArrayBuffer.isView(bytes));
  const session = await TrainingSession.create(
    /** @type {any} */ (Object.fromEntries(parts.map(([name, bytes]) => [name, bytesElsewhere(bytes)]))),
    HERE,
  );
  const { data: values } = await session.getContiguousParameters();
  await session.loadParametersBuffer(
    bytesElsewhere(new Uint8Array(values.buffer, values.byteOffset, values.byteLength)),
  );
  const input = elsewhere("({ type: 'float32', data: new Float32Array(40).fill(1), dims: [2, 20] })");
  const labels = elsewhere("({ type: 'int64', data: BigInt64Array.of(0n, 1n), dims: [2] })");
  const sampleWeight = elsewhere('Float32Array.of(1, 2)');
  const early = elsewhere("({ monitor: 'loss', patience: 2 })");
  const data = { inputs: { input }, labels: { labels }, sampleWeight };
  const { stopped } = await session.fit(data, { batchSize: 2, earlyStopping: early });
  assert.equal(stopped, 'completed');
  await session.release();
  const table = await readTable(bytesElsewhere(Buffer.from('a,y\n1,2\n3,4\n')), { target: 'y' });
  assert.equal(Object.keys(table.inputs).length, 1);
  const packed = await packText(elsewhere('Int32Array.of(1, 2, 3, 4)'), { length: 3 });
  assert.deepEqual(packed.inputs.input_ids.dims, [1, 3]);
});

test('a promise of another realm is told to be awaited', async () => {
  await assert.rejects(generateArtifacts(elsewhere('(async () => {})()'), { ...HERE, loss: 'mse' }), /await it/);
});

/** Its arrays are those of its own worker, and it stands alone. */
const ALONE = 'data/worker-augment.js';

test('no code asks for a built-in class by instanceof, which knows one realm', () => {
  const folder = path.join(root, 'js');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.js$/.test(name) && !/^(cli|engine\/worker\.js)|^base\/kind\.js$/.test(name) && name !== ALONE,
  );
  const asked = files.filter((name) =>
    /instanceof (\w+Array|ArrayBuffer|DataView|Blob|File|Response|URL|Map|Set|Promise)\b/.test(
      readFileSync(path.join(folder, name), 'utf8'),
    ),
  );
  assert.deepEqual(asked, []);
});
