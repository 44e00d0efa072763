// Features that outlive the call, in both rooms: the next session computes what is new alone, with the same weights to
// the bit, and nothing of what a storage can do to them is trusted, or stops the training.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { IDBFactory, IDBKeyRange, IDBObjectStore } from 'fake-indexeddb';
import {
  CheckpointStore,
  FeatureStore,
  fineTune,
  forgetSamples,
  generateArtifacts,
  SampleStore,
  Tensor,
  TrainingSession,
} from '../../../js/index.js';
import { gatherIn } from '../../hostile/features.js';
import { memoryRoom } from '../../hostile/memory.js';
import { golden } from '../../support/clusters.js';
import { pick } from '../../support/hands.js';

const engine = { worker: false, threads: 1 };
const model = golden('resnet_folded.onnx'); // the digits 0 to 4
const ROW = 256 * 4;
const named = (data) => ({ ...data, labels: data.labels.map(String) });
const some = (each = 8, digits = [7, 8]) => named(pick('train', digits, each));
const weightsOf = async ({ session }) => (await session.getContiguousParameters(false)).data;
const storeOf = ({ report }) => report.features.store;

/** fineTune with a store, or without. */
const tune = async (data, store, more) =>
  await fineTune(model, data, { engine, epochs: 3, ...(store && { cacheFeatures: { store } }), ...more });

/** Results without a store, by the data. */
const plain = new Map();
async function plainly(data) {
  const key = `${data.labels} ${data.inputs.input.data.reduce((sum, x, i) => sum + x * (i % 97), 0)}`;
  if (plain.has(key)) return plain.get(key);
  const made = await tune(data);
  assert.equal(made.report.features.store, undefined);
  plain.set(key, { weights: await weightsOf(made), after: made.report.after });
  return plain.get(key);
}

/** The same weights to the bit as without a store. Gives where the features came from. */
async function tuned(data, store, more) {
  const mine = await tune(data, store, more);
  assert.deepEqual({ weights: await weightsOf(mine), after: mine.report.after }, await plainly(data));
  return storeOf(mine);
}
const origins = (computed, fromMemory, fromStorage) => ({ computed, fromMemory, fromStorage });

const artifactsOf = (options) =>
  generateArtifacts(model, {
    ...engine,
    loss: 'cross-entropy',
    head: { classes: ['7', '8'] },
    additionalOutputs: ['scores'],
    ...options,
  });
/** Arguments of fit. */
const setOf = ({ inputs, labels }) => ({
  inputs,
  labels: {
    labels: new Tensor(
      'int64',
      BigInt64Array.from(labels, (label) => BigInt(label) - 7n),
    ),
  },
});
async function fitted(artifacts, data, options) {
  const session = await TrainingSession.create(artifacts, engine);
  const losses = [];
  const onBatch = ({ loss }) => losses.push(loss);
  const history = await session.fit(data, { epochs: 3, batchSize: 8, validation: 0.25, onBatch, ...options });
  return { losses, history, weights: await weightsOf({ session }) };
}

/**
 * @param {(options?: object) => Promise<FeatureStore>} open
 * @param {(name: string) => Promise<CheckpointStore>} room where what it keeps is
 */
function behaves(open, room) {
  test('the next session computes what is new, in a class that is new, and nothing else', async () => {
    const told = [];
    const store = await open({ name: 'days' });
    assert.deepEqual(await tuned(some(8), store), origins(16, 0, 0));
    assert.deepEqual(await store.total(), { examples: 16, bytes: 16 * ROW });
    assert.deepEqual(await tuned(some(8), store), origins(0, 16, 0));
    const onProgress = ({ phase, progress, ...event }) => phase === 'features' && progress > 0 && told.push(event);
    const next = await open({ name: 'days' });
    const more = some(9, [7, 8, 9]);
    assert.deepEqual(await tuned(more, next, { onProgress }), origins(11, 0, 16));
    assert.deepEqual(
      told.filter(({ store: from }) => from),
      [
        { done: 16, of: 27, store: origins(0, 0, 16) },
        { done: 24, of: 27, store: origins(8, 0, 16) },
        { done: 27, of: 27, store: origins(11, 0, 16) },
      ],
    );
    assert.deepEqual(await tuned(more, await open({ name: 'days' })), origins(0, 0, 27));
    const artifacts = await artifactsOf();
    const { history } = await fitted(artifacts, setOf(some(8)), { cacheFeatures: { store: next } });
    assert.deepEqual(history.features.store, origins(0, 16, 0), 'of the same layers in fit as well');
    assert.equal((await (await open({ name: 'other' })).total()).examples, 0);
  });

  test('features of other weights, of another cut or of other pictures are not taken', async () => {
    const store = await open({ name: 'keys' });
    await tune(some(), store);
    const artifacts = await artifactsOf();
    const session = await TrainingSession.create(artifacts, engine);
    const { name } = session.parameters.find(({ trainable, dims }) => !trainable && dims.length === 4);
    const { type, data, dims } = await session.getParameter(name);
    await session.setParameter(name, new Tensor(type, data.with(0, data[0] + 1e-3), dims));
    const fit = async (options) =>
      (await session.fit(setOf(some()), { epochs: 2, cacheFeatures: { store }, ...options })).features;
    assert.deepEqual((await fit()).store, origins(16, 0, 0), `${name} is another`);
    assert.deepEqual((await fit()).store, origins(0, 16, 0));
    await session.setTrainable(['onnx::Conv_8?', 'head.*']);
    assert.equal((await fit()).store.computed, 16, 'another cut');
    const others = some();
    others.inputs.input.data[3 * 784] += 1;
    assert.deepEqual(await tuned(others, store), origins(1, 15, 0));
  });

  test('what is damaged, cut short, of someone else or false is computed again', async () => {
    const name = 'damaged';
    await tune(some(), await open({ name }));
    const files = await room(name);
    const [{ name: pack }] = (await files.list()).filter(({ name: one }) => one !== 'used');
    const { bytes, meta } = await files.load(pack);
    const [rows, [output]] = [meta.rows, meta.outputs];
    const ways = {
      'a byte more': [new Uint8Array(bytes.length + 1), meta],
      'rows that are none': [bytes, { ...meta, rows: ['../../etc/passwd', ...rows.slice(1)] }],
      'too many rows': [bytes, { ...meta, rows: [...rows, ...rows] }],
      'no rows': [new Uint8Array(), { ...meta, rows: [] }],
      'a type that is none': [bytes, { ...meta, outputs: [{ ...output, type: 'constructor' }] }],
      'other dims': [bytes, { ...meta, outputs: [{ ...output, dims: [16, 16] }] }],
      'another name': [bytes, { ...meta, outputs: [{ ...output, name: 'x' }] }],
      'another name, of other examples': [
        bytes,
        { rows: rows.map((_, i) => String(i).padStart(32, '0')), outputs: [{ ...output, name: 'x' }] },
      ],
      'no meta': [bytes, {}],
      'other numbers, with their checksum': [bytes.map((byte, i) => (i % 4 === 0 ? byte ^ 1 : byte)), meta],
      'the rows of other examples': [bytes, { ...meta, rows: rows.toReversed() }],
    };
    for (const [what, [other, described]] of Object.entries(ways)) {
      await (await open({ name })).clear();
      await files.save(pack, other, described);
      await files.save('of-someone-else', Uint8Array.of(1, 2, 3));
      assert.deepEqual(await tuned(some(), await open({ name })), origins(16, 0, 0), what);
      assert.deepEqual(await tuned(some(), await open({ name })), origins(0, 0, 16), `${what}, and then`);
    }
    assert.deepEqual((await files.load('of-someone-else')).bytes, Uint8Array.of(1, 2, 3));
  });

  test('what was not used for longest makes room, and what is needed now stays', async () => {
    const maxBytes = 56 * ROW;
    const store = await open({ name: 'bound', maxBytes });
    const [a, b, c] = [some(10, [7, 8]), some(10, [5, 6]), some(10, [3, 4])];
    await tune(a, store);
    await tune(b, store);
    const later = async (data) => storeOf(await tune(data, await open({ name: 'bound', maxBytes }))).fromStorage;
    assert.equal(await later(a), 20, 'it is used again');
    await tune(c, await open({ name: 'bound', maxBytes }));
    assert.ok((await store.total()).bytes <= maxBytes);
    assert.deepEqual([await later(a), await later(c)], [20, 20]);
    assert.ok((await later(b)) < 20);
    const narrow = await open({ name: 'narrow', maxBytes: 10 * ROW, maxMemoryBytes: 0 });
    const { error, ...rest } = await tuned(a, narrow);
    assert.deepEqual([error?.code, rest], ['quota-exceeded', origins(20, 0, 0)]);
    assert.match(error.message, /^the store may hold 10240 bytes, and has no room for \d+ more$/);
    assert.ok((await narrow.total()).bytes <= 10 * ROW);
    assert.equal(storeOf(await tune(a, narrow)).fromMemory, 0);
  });

  test('past its memory a fit reads them from the store, and goes on if they go', async () => {
    const data = setOf(some(16));
    const artifacts = await artifactsOf();
    const store = await open({ name: 'stream', maxMemoryBytes: 4 * ROW });
    const memory = await fitted(artifacts, data, { cacheFeatures: { store: await open({ name: 'memory' }) } });
    const cacheFeatures = { store, maxBytes: 5 * ROW };
    const first = await fitted(artifacts, data, { cacheFeatures });
    assert.deepEqual(first.losses, memory.losses);
    assert.deepEqual(first.weights, memory.weights);
    assert.deepEqual(first.history.features.store, origins(32, 0, 0));
    assert.equal(first.history.features.bytes, 32 * ROW);
    const again = await fitted(artifacts, data, {
      cacheFeatures: { ...cacheFeatures, store: await open({ name: 'stream' }) },
    });
    assert.deepEqual([again.losses, again.history.features.store.computed], [memory.losses, 0]);
    let cleared = 0;
    const onEpoch = () => cleared++ || store.clear();
    const gone = await fitted(artifacts, data, { cacheFeatures, onEpoch });
    assert.deepEqual(gone.weights, memory.weights);
    assert.equal((await store.total()).examples, 0);
    const none = await fitted(artifacts, data, { cacheFeatures: { maxBytes: 5 * ROW } });
    assert.equal(none.history.features, undefined);
  });

  test('where features are another each time, or their layers were changed meanwhile, nothing is stored', async () => {
    const store = await open({ name: 'off' });
    const cacheFeatures = { store };
    await tune(some(), store, { augment: [{ type: 'shift', x: 0.1 }] });
    const artifacts = await artifactsOf();
    const session = await TrainingSession.create(artifacts, engine);
    await session.fit(setOf(some()), { cacheFeatures, epochs: 2, augment: ['flip'] });
    const { data } = await session.getContiguousParameters(false);
    const other = new Uint8Array(data.map((x) => 0.9 * x).buffer);
    const onFeatures = ({ done }) => done === 8 && session.loadParametersBuffer(other, false);
    await session.fit(setOf(some()), { cacheFeatures, epochs: 2, onFeatures });
    assert.deepEqual(await store.total(), { examples: 0, bytes: 0 });
    const { report } = await fineTune(model, some(), { engine, epochs: 2, cacheFeatures: false });
    assert.equal(report.features ?? report.phases[0].history.features, undefined);
  });

  test('what is forgotten is in the store no more', async () => {
    const data = some(7);
    const features = await open({ name: 'forget' });
    const directory = await fs.mkdtemp(path.join(tmpdir(), 'trainlet-forget-'));
    const samples = await SampleStore.open({
      ...(globalThis.indexedDB ? {} : { directory }),
      name: 'forget',
      features,
    });
    const rowsOf = ({ inputs: { input }, labels }) =>
      labels.map((label, i) => ({
        inputs: { input: new Tensor('float32', input.data.slice(i * 784, (i + 1) * 784), [1, 1, 28, 28]) },
        label,
      }));
    const ids = [];
    for (const sample of rowsOf(data)) ids.push(await samples.add(sample));
    const { inputs } = await samples.get(ids[3]);
    const options = { engine, epochs: 2, cacheFeatures: { store: features }, classes: ['7', '8'] };
    await fineTune(model, await samples.dataset(), options);
    assert.deepEqual([await features.has(inputs), (await features.total()).examples], [true, 14]);

    const { report, session } = await forgetSamples(model, samples, ids[3], options);
    assert.deepEqual(report.forgotten, { samples: [ids[3]], checkpoints: 0, replay: 0, features: 1, left: [] });
    assert.deepEqual(report.features.store, origins(0, 13, 0));
    const without = await fineTune(model, await samples.dataset(), { ...options, cacheFeatures: undefined });
    assert.deepEqual(await weightsOf({ session }), await weightsOf(without));
    assert.deepEqual([await features.has(inputs), (await features.total()).examples], [false, 13]);
    assert.equal(await (await open({ name: 'forget' })).has(inputs), false);

    const { inputs: second } = await samples.get(ids[5]);
    assert.equal(await samples.delete(ids[5]), true);
    assert.deepEqual([await features.has(second), (await features.total()).examples], [false, 12]);
    assert.equal(await samples.delete(ids[5]), false);

    await features.clear();
    let deleting;
    const onProgress = ({ phase, done }) => {
      if (phase === 'features' && done === 8) deleting = features.delete(second);
    };
    await tune(data, features, { onProgress });
    await deleting;
    assert.deepEqual(
      [await features.has(second), (await features.total()).examples],
      [false, 13],
      'while it is computed',
    );

    const { inputs: third, label } = await samples.get(ids[6]);
    await samples.add({ inputs: third, label });
    const { report: left } = await forgetSamples(model, samples, ids[6], options);
    assert.deepEqual(left.forgotten.left, [
      '1 other sample has the same inputs',
      `the store of features has those of sample '${ids[6]}' again`,
    ]);
    await fs.rm(directory, { recursive: true });
  });

  test('two at a time neither mix nor break', async () => {
    const [one, two] = [some(8, [5, 6]), some(8, [6, 7])];
    const stores = [await open({ name: 'both' }), await open({ name: 'both' })];
    for (const rounds of [0, 1]) {
      const both = await Promise.all([tuned(one, stores[0]), tuned(two, stores[1])]);
      if (rounds)
        assert.deepEqual(
          both.map(({ computed }) => computed),
          [0, 0],
        );
    }
    assert.deepEqual(await tuned(some(8, [5, 6, 7]), await open({ name: 'both' })), origins(0, 0, 24));
  });

  test('options that cannot be are refused in a sentence', async () => {
    const refused = (work, message) => assert.rejects(work, { code: 'invalid-argument', message });
    await refused(open({ name: '..' }), /^a store's name has 1 to 100 letters, digits, - and _, not '\.\.'$/);
    await refused(
      open({ size: 1 }),
      /^FeatureStore\.open: there is no option 'size'; it knows name, directory, maxBytes/,
    );
    await refused(open({ maxBytes: 0 }), /^maxBytes must be a whole number of at least 1/);
    const store = await open({ name: 'words' });
    await refused(store.delete({}), /^FeatureStore\.delete: wanted tensors by the names of the inputs/);
    await refused(
      tune(some(2), 'signs'),
      /^fineTune: cacheFeatures: store is what FeatureStore\.open gives, not 'signs'$/,
    );
    await refused(
      tune(some(2), undefined, { cacheFeatures: { most: 1 } }),
      /there is no option 'most'; it knows maxBytes, store/,
    );
    await refused(SampleStore.open({ features: {} }), /^SampleStore\.open: features is what FeatureStore\.open gives/);
  });
}

describe('in a folder', () => {
  let directory = '';
  before(async () => {
    directory = await fs.mkdtemp(path.join(tmpdir(), 'trainlet-features-'));
  });
  after(() => fs.rm(directory, { recursive: true }));
  const open = (options) => FeatureStore.open({ directory, ...options });
  behaves(open, (name) => CheckpointStore.open({ directory: path.join(directory, name) }));

  const folder = (name) => path.join(directory, name);
  const filesIn = async (name) => (await fs.readdir(folder(name))).map((file) => path.join(folder(name), file));

  test('a file that is cut short or damaged is computed again', async () => {
    await tune(some(), await open({ name: 'torn' }));
    for (const tear of [
      (bytes) => bytes.subarray(0, 30),
      (bytes) => bytes.subarray(0, -1),
      (bytes) => bytes.fill(7, 90),
    ]) {
      for (const file of await filesIn('torn')) await fs.writeFile(file, tear(await fs.readFile(file)));
      assert.deepEqual(await tuned(some(), await open({ name: 'torn' })), origins(16, 0, 0));
    }
    for (const file of await filesIn('torn')) {
      const bytes = await fs.readFile(file);
      bytes[bytes.length - 1] ^= 1; // unseen when listing
      await fs.writeFile(file, bytes);
    }
    const cacheFeatures = { store: await open({ name: 'torn' }), maxBytes: 5 * ROW };
    const { history } = await fitted(await artifactsOf(), setOf(some()), { cacheFeatures });
    assert.deepEqual(history.features.store, origins(16, 0, 0));
  });

  test('no byte of what is forgotten is in the files', async () => {
    const data = some(6);
    const store = await open({ name: 'bytes' });
    await tune(data, store);
    const one = { input: new Tensor('float32', data.inputs.input.data.slice(0, 784), [1, 1, 28, 28]) };
    const lone = await open({ name: 'lone' });
    const { session } = await tune({ inputs: one, labels: ['7'] }, lone, { classes: ['7', '8'] });
    await session.release();
    const [only] = await filesIn('lone');
    const bytes = (await fs.readFile(only)).subarray(-ROW);
    const holds = async () => {
      const all = await Promise.all((await filesIn('bytes')).map((file) => fs.readFile(file)));
      return all.some((file) => file.includes(bytes));
    };
    assert.equal(await holds(), true);
    for (const file of await filesIn('bytes')) await fs.cp(file, file.replace(/-\w{16}/, '-0123456789abcdef'));
    for (const file of await filesIn('bytes'))
      if (file.includes('0123456789abcdef')) await fs.writeFile(file, (await fs.readFile(file)).fill(0, 0, 60));
    assert.equal(await store.delete(one), 1);
    assert.equal(await holds(), false, 'nor in one that is damaged');
    assert.equal((await store.total()).examples, 11);
  });

  test('the program of docs/guides/fine-tuning.md runs', async () => {
    const text = await fs.readFile(new URL('../../../docs/guides/fine-tuning.md', import.meta.url), 'utf8');
    const [, program] = /^```js\n(const features = .*?)^```/ms.exec(text);
    const run = new (async () => {}).constructor('FeatureStore', 'fineTune', 'store', 'classes', 'console', program);
    const told = [];
    const tuning = (_, data, options) => tune(data, undefined, options);
    const samples = { dataset: async () => some(2) };
    await run({ open }, tuning, samples, ['7', '8'], { log: (one) => told.push(one) });
    assert.deepEqual(told, [origins(4, 0, 0)]);
  });

  test('processes share a store', async () => {
    const script = `
      import { FeatureStore, fineTune } from './js/index.js';
      import { golden } from './tests/support/clusters.js';
      import { pick } from './tests/support/hands.js';
      const data = pick('train', JSON.parse(process.argv[1]), 8);
      const store = await FeatureStore.open({ directory: ${JSON.stringify(directory)}, name: 'processes' });
      const named = { ...data, labels: data.labels.map(String) };
      const options = { engine: ${JSON.stringify(engine)}, epochs: 2, cacheFeatures: { store } };
      const { report } = await fineTune(golden('resnet_folded.onnx'), named, options);
      if (report.features.store.error) throw report.features.store.error;`;
    const run = (digits) =>
      new Promise((resolve) => {
        spawn(process.execPath, ['--input-type=module', '-e', script, JSON.stringify(digits)], { stdio: 'inherit' }).on(
          'exit',
          resolve,
        );
      });
    assert.deepEqual(await Promise.all([run([5, 6]), run([6, 7])]), [0, 0]);
    assert.deepEqual(await tuned(some(8, [5, 6, 7]), await open({ name: 'processes' })), origins(0, 0, 24));
  });

  test('a folder that cannot be written is told, and the training goes on', async () => {
    const store = await open({ name: 'sealed' });
    await fs.rm(folder('sealed'), { recursive: true });
    await fs.writeFile(folder('sealed'), 'a file');
    const { error, ...rest } = await tuned(some(), store);
    assert.deepEqual([error?.code, rest], ['store-failed', origins(16, 0, 0)]);
    assert.match(error.message, /^the features could not be listed: /);
    assert.equal((await tuned(some(), store)).fromMemory, 16, 'memory has them');
    await assert.rejects(store.delete(some().inputs), { code: 'store-failed' });
  });
});

describe('in IndexedDB', () => {
  before(() => Object.assign(globalThis, { indexedDB: new IDBFactory(), IDBKeyRange }));
  after(() => {
    for (const name of ['indexedDB', 'IDBKeyRange']) Reflect.deleteProperty(globalThis, name);
  });
  behaves(
    (options) => FeatureStore.open(options),
    (name) => CheckpointStore.open({ database: `trainlet-features-${name}` }),
  );

  test('a full storage is told, and the training goes on', async (t) => {
    const store = await FeatureStore.open({ name: 'full' });
    t.mock.method(IDBObjectStore.prototype, 'put', () => {
      throw new DOMException('full', 'QuotaExceededError');
    });
    const { error, ...rest } = await tuned(some(), store);
    assert.deepEqual([error?.code, rest], ['quota-exceeded', origins(16, 0, 0)]);
    assert.match(error.message, /^features could not be stored: the storage is full$/);
    assert.deepEqual(await tuned(some(), store), origins(0, 16, 0), 'memory has them');
    t.mock.restoreAll();
    assert.equal((await store.total()).examples, 0);
    assert.equal(await store.delete(some().inputs), 16, 'from memory too');
    assert.deepEqual(await tuned(some(), store), origins(16, 0, 0));
  });

  test('a storage that says nothing is not waited for', async (t) => {
    const store = await FeatureStore.open({ name: 'silent' });
    t.mock.timers.enable({ apis: ['setInterval'] });
    t.mock.method(IDBObjectStore.prototype, 'getAllKeys', () => ({}));
    const tuning = tune(some(), store);
    let isDone = false;
    const tick = () => {
      t.mock.timers.tick(6000);
      if (!isDone) setImmediate(tick);
    };
    tick();
    const { error, ...rest } = storeOf(await tuning);
    isDone = true;
    await new Promise((resolve) => setImmediate(resolve)); // the last tick
    assert.deepEqual(rest, origins(16, 0, 0));
    assert.match(error.message, /^the features could not be listed: the storage did not answer within 5 s$/);
  });
});

test('a pack of other dims that cannot be read is dropped, and what is computed is stored', async () => {
  const room = memoryRoom();
  await gatherIn(room);
  const [{ name, meta }] = (await room.list()).filter((listed) => listed.name !== 'used');
  const outputs = meta.outputs.map((output) => ({ ...output, dims: [1] }));
  await room.save(name, { bytes: new Uint8Array(4 * meta.rows.length), meta: { ...meta, outputs } });
  await gatherIn({ ...room, read: async (wanted) => (wanted === name ? 'is damaged' : await room.read(wanted)) });
  const left = (await room.list()).filter((listed) => listed.name !== 'used');
  assert.deepEqual(
    left.map((pack) => pack.meta.outputs),
    [meta.outputs],
  );
});
