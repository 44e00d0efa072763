/** A session saved in one call and loaded in another: models, checkpoint, class names and preprocessing together. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CheckpointStore, compactArtifacts, generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { sumOf } from '../../../js/session/made.js';
import { HERE, root } from '../../support/engines.js';

const MLP = readFileSync(join(root, 'tests/golden/data/mlp_small.onnx'));
const CLASSES = ['cat', 'dog', 'other'];
const data = {
  inputs: {
    input: new Tensor(
      'float32',
      Float32Array.from({ length: 24 * 20 }, (_, i) => Math.sin(i)),
      [24, 20],
    ),
  },
  labels: {
    labels: new Tensor(
      'int64',
      Array.from({ length: 24 }, (_, i) => i % 3),
    ),
  },
};
const refused = (work, code, text) =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.name, error.code], ['TrainletError', code], error.stack);
    assert.match(error.message, text);
    return true;
  });

const flipped = (bytes, at) => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));

let folder, artifacts, store;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'trainlet-saved-'));
  store = await CheckpointStore.open({ directory: join(folder, 'store') });
  const options = { loss: 'cross-entropy', optimizer: 'adam', head: { classes: CLASSES } };
  artifacts = await generateArtifacts(MLP, { ...HERE, ...options });
});
after(() => rmSync(folder, { recursive: true }));
const create = (sources = artifacts) => TrainingSession.create(sources, HERE);
const load = (name, options) => TrainingSession.load(name, { ...HERE, store, ...options });

test('what was saved goes on to the bit, with its class names and preprocessing', async () => {
  const session = await create();
  await session.fit(data, { epochs: 2, batchSize: 8 });
  const preprocessing = { size: 96, columns: [{ name: 'a', mean: 1.5 }] };
  assert.equal(await session.save('net', { store, preprocessing }), 1);
  assert.deepEqual(session.preprocessing, preprocessing);
  const again = await load('net');
  assert.deepEqual([again.classNames, again.preprocessing], [CLASSES, preprocessing]);
  for (const one of [session, again]) await one.fit(data, { epochs: 2, batchSize: 8 });
  assert.deepEqual(await again.saveCheckpoint(), await session.saveCheckpoint());
  assert.equal(await again.save('net', { store }), 2, 'a session that was loaded is saved as any');
  const third = await load('net');
  assert.deepEqual(third.preprocessing, preprocessing);
  assert.deepEqual(await third.predict(data.inputs), await session.predict(data.inputs));
  assert.deepEqual((await (await load('net', { version: 1 })).getParameter('head.weight')).dims, [3, 17]);
  for (const one of [session, again, third]) await one.release();
});

test('a fit that was cut short goes on in what was saved', async () => {
  const [whole, cut] = [await create(), await create()];
  await whole.fit(data, { epochs: 3, batchSize: 8 });
  await cut.fit(data, { epochs: 3, batchSize: 8, maxSteps: 4 });
  await cut.save('cut', { store });
  const again = await load('cut');
  await again.fit(data, { epochs: 3, batchSize: 8, resume: true });
  const weights = async (session) => (await session.getContiguousParameters()).data;
  assert.deepEqual(await weights(again), await weights(whole));
});

test('the state is that of the call, whatever comes after it', async () => {
  const session = await create();
  const before = await session.predict(data.inputs);
  const saving = session.save('early', { store });
  await session.step({ ...data.inputs, ...data.labels });
  await saving;
  assert.deepEqual(await (await load('early')).predict(data.inputs), before);
});

test('a kill while it is saved leaves the version before', async () => {
  const session = await create();
  await session.save('kept', { store, preprocessing: { n: 1 } });
  const dying = { load: store.load, save: () => Promise.reject(new Error('dead')) };
  await assert.rejects(session.save('kept', { store: dying, preprocessing: { n: 2 } }));
  assert.deepEqual(session.preprocessing, { n: 1 });
  await session.step({ ...data.inputs, ...data.labels });
  await session.save('kept', { store, preprocessing: { n: 2 } });
  const file = join(folder, 'store/kept.00000002.trainlet');
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.subarray(0, bytes.length - 7));
  assert.deepEqual((await load('kept')).preprocessing, { n: 1 });
});

test('models of paths, of external data and of a compact file are saved, too', async () => {
  const externalData = { 'beside.data': new Uint8Array([7, 8, 9]) };
  const beside = await TrainingSession.create(artifacts, { ...HERE, externalData });
  await beside.save('beside', { store });
  const { bytes: whole, meta } = await store.load('beside');
  assert.deepEqual(meta.session.external, [['beside.data', 3]]);
  const at = meta.session.parts.reduce((sum, [, length]) => sum + length, 0);
  assert.deepEqual([...whole.subarray(at, at + 3)], [7, 8, 9]);
  assert.deepEqual(await (await load('beside')).predict(data.inputs), await beside.predict(data.inputs));
  const compact = await compactArtifacts(artifacts, HERE);
  const place = join(folder, 'net.compact');
  writeFileSync(place, compact);
  const wanted = await (await create()).predict(data.inputs);
  for (const source of [place, new Blob([compact])]) {
    const session = await create({ compact: source });
    await session.save('compact', { store });
    await session.release();
    const again = await load('compact');
    assert.deepEqual(await again.predict(data.inputs), wanted);
    await again.save('compact', { store });
    await again.release();
  }
  const bytes = await create({ compact });
  await refused(
    bytes.save('compact', { store }),
    'invalid-argument',
    /^save: compact was bytes, which .* give create its URL or a Blob$/,
  );
  const response = await create({ ...artifacts, evalModel: new Response(artifacts.evalModel) });
  await refused(
    response.save('x', { store }),
    'invalid-argument',
    /^save: evalModel was a Response, which can be read once/,
  );
});

test('what cannot be saved or loaded is refused in a sentence', async () => {
  const session = await create();
  const circle = {};
  circle.self = circle;
  await refused(
    session.save('x', { store, preprocessing: circle }),
    'invalid-argument',
    /^save: preprocessing is what JSON can hold/,
  );
  await refused(
    session.save('x', { store, preprocessing: 7 }),
    'invalid-argument',
    /^save: preprocessing: wanted an object, not 7$/,
  );
  await refused(session.save('', { store }), 'invalid-argument', /name must be a string/);
  await refused(
    session.save('x', { store: {} }),
    'invalid-argument',
    /^store is what CheckpointStore.open gives, not an Object$/,
  );
  await refused(session.save('x', { stor: 1 }), 'invalid-argument', /no option 'stor'/);
  await refused(load('nobody'), 'source-unreadable', /^there is no session 'nobody'; saved are '/);
  await refused(load('nobody', { version: 7 }), 'source-unreadable', /^there is no session version 7 of 'nobody'/);
  await store.save('plain', await session.saveCheckpoint());
  await refused(load('plain'), 'invalid-argument', /^'plain' is a checkpoint alone, not a session/);
  await store.save('newer', new Uint8Array(1), { session: { format: 2 } });
  await refused(load('newer'), 'unsupported-version', /^session 'newer' is of version 2, we read 1$/);
  await store.save('mine', new Uint8Array(1), { session: 3 });
  await refused(load('mine'), 'invalid-argument', /^'mine' is a checkpoint alone, not a session/);
  await refused(load('plain', { thread: 1 }), 'invalid-argument', /./);
  await refused(TrainingSession.load('x', 7), 'invalid-argument', /wanted an object, not 7$/);
});

const whole = { format: 1, parts: [['trainModel', 1]], external: [], preprocessing: '{}' };
for (const [what, meta] of Object.entries({
  'no parts': { ...whole, parts: undefined },
  'parts that are no list': { ...whole, parts: 'trainModel' },
  'a part that is no pair': { ...whole, parts: [null] },
  'a part without a name': { ...whole, parts: [[1, 1]] },
  'a part longer than all bytes': { ...whole, parts: [['trainModel', 9]] },
  'parts longer than all bytes together': { ...whole, parts: Array(3).fill(['trainModel', 1]) },
  'a negative length': { ...whole, external: [['w.data', -1]] },
  'a length that is no whole number': { ...whole, external: [['w.data', 0.5]] },
  'no list of external data': { ...whole, external: {} },
  'preprocessing that is no JSON': { ...whole, preprocessing: '{' },
  'no preprocessing': { ...whole, preprocessing: undefined },
}))
  test(`a saved session of ${what} is refused as damaged`, async () => {
    await store.save('damaged', new Uint8Array(2), { session: meta });
    await refused(load('damaged'), 'checkpoint-corrupt', /^session 'damaged' is damaged: ./);
  });

test('the usual store is the folder sessions', async () => {
  const before = process.cwd();
  process.chdir(folder);
  try {
    const session = await create();
    await session.save('usual');
    assert.deepEqual(
      await (await TrainingSession.load('usual', HERE)).predict(data.inputs),
      await session.predict(data.inputs),
    );
    assert.ok(readFileSync(join(folder, 'sessions/usual.00000001.trainlet')).length);
  } finally {
    process.chdir(before);
  }
});

test('a model that has changed since create is not put beside the checkpoint of the old one', async () => {
  const served = { ...artifacts };
  const server = createServer((request, response) => response.end(served[request.url.slice(1)])).listen(0);
  await once(server, 'listening');
  const at = (name) => `http://localhost:${server.address().port}/${name}`;
  const { checkpointState, optimizerModel } = artifacts;
  const sources = { trainModel: at('trainModel'), evalModel: at('evalModel'), optimizerModel, checkpointState };
  const session = await create(sources);
  assert.equal(await session.save('served', { store }), 1);
  const other = await generateArtifacts(MLP, { ...HERE, loss: 'cross-entropy', head: { classes: CLASSES } });
  const changes = {
    'the last byte is another': flipped(artifacts.evalModel, artifacts.evalModel.length - 1),
    'a bit in its middle is another': flipped(artifacts.evalModel, artifacts.evalModel.length >> 1),
    'every sign is another': artifacts.evalModel.map((byte, i) => (i % 4 === 3 ? byte ^ 128 : byte)),
    'it is longer': Uint8Array.of(...artifacts.evalModel, 0),
    'another export': other.trainModel,
  };
  for (const [title, bytes] of Object.entries(changes)) {
    served.evalModel = bytes;
    const text = /^save: evalModel at http:\S+evalModel is another file than the one that the session was made of/;
    await refused(session.save('served', { store }), 'integrity-mismatch', text);
    assert.equal((await store.versions('served')).length, 1, title);
  }
  served.evalModel = artifacts.evalModel;
  assert.equal(await session.save('served', { store }), 2);
  await session.release();
  server.close();
});

test('bytes that the caller has changed since create are found, too', async () => {
  const mine = { ...artifacts, trainModel: artifacts.trainModel.slice() };
  const session = await create(mine);
  mine.trainModel[mine.trainModel.length - 1] ^= 1;
  const text = /^save: trainModel is another file than the one that the session was made of, so nothing is saved/;
  await refused(session.save('mine', { store }), 'integrity-mismatch', text);
  await session.release();
  const externalData = { 'beside.data': new Uint8Array([7, 8, 9]) };
  const beside = await TrainingSession.create(artifacts, { ...HERE, externalData });
  externalData['beside.data'][2] = 8;
  await refused(
    beside.save('mine', { store }),
    'integrity-mismatch',
    /^save: externalData\['beside.data'\] is another/,
  );
  await beside.release();
});

test('sums of files see each byte, and of long ones what is another throughout', () => {
  const bytes = Uint8Array.from({ length: 1003 }, (_, i) => (i * 31) & 255);
  const sums = new Set([sumOf(bytes)]);
  for (let i = 0; i < bytes.length; i++) sums.add(sumOf(flipped(bytes, i)));
  assert.equal(sums.size, bytes.length + 1);
  const long = new Uint8Array(2 ** 26);
  const before = sumOf(long);
  for (let i = 0; i < long.length; i += 4) long[i] = 1; // the lowest byte of each float
  assert.notEqual(sumOf(long), before);
});
