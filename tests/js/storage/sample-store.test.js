/** The store of samples in both its rooms: what is kept, the bounds, the data set for fit, export and import. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import { generateArtifacts, SampleStore, Tensor, TrainingSession } from '../../../js/index.js';
import { graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';

const row = (...values) => new Tensor('float32', Float32Array.from(values), [1, values.length]);
const sample = (label, ...values) => ({ inputs: { x: row(...values) }, label });
const refused = (work, code, message) =>
  assert.rejects(work, (error) => {
    assert.deepEqual([error.name, error.code], ['TrainletError', code], error.stack);
    assert.match(error.message, message);
    return true;
  });

/** x (N, 2) ─ MatMul ─▶ scores (N, 2) */
const model = () =>
  modelProto({
    graph: graphProto({
      node: node('MatMul', ['x', 'w'], 'scores'),
      name: 'g',
      initializer: tensor('w', { type: 'float32', dims: [2, 2], data: Float32Array.of(0.1, -0.2, 0.3, 0.4) }),
      input: info('x', 1, ['N', 2]),
      output: info('scores', 1, ['N', 2]),
    }),
    opsetImport: opsetId(17),
  });

/** @param {(options?: object) => Promise<SampleStore>} open */
function behaves(open) {
  test('what is added is listed and loaded, by another store of the same name too', async () => {
    const store = await open({ name: 'kept' });
    const meta = { hand: 'left', strokes: [1, 2] };
    const inputs = {
      x: row(1, 2, 3),
      n: new Tensor('int64', [7n], [1]),
      on: new Tensor('bool', [true], [1, 1]),
      empty: new Tensor('float32', [], [1, 0]),
    };
    const id = await store.add({ inputs, label: 'seven', meta });
    const again = await open({ name: 'kept' });
    const found = await again.get(id);
    assert.deepEqual([found.id, found.label, found.meta], [id, 'seven', meta]);
    assert.ok(Math.abs(found.addedAt - Date.now()) < 10_000);
    for (const [name, { type, dims, data }] of Object.entries(inputs)) {
      assert.ok(found.inputs[name] instanceof Tensor);
      assert.deepEqual([found.inputs[name].type, found.inputs[name].dims, found.inputs[name].data], [type, dims, data]);
    }
    const { inputs: _, ...rest } = found;
    assert.deepEqual(await again.list(), [rest]);
    assert.deepEqual(await (await open({ name: 'other' })).list(), []);
    assert.equal(await store.get('0'.repeat(20)), undefined);
  });

  test('tensors are taken as they are at the call', async () => {
    const store = await open({ name: 'taken' });
    const x = row(1, 2);
    const adding = store.add({ inputs: { x } });
    x.data.fill(9);
    assert.deepEqual((await store.get(await adding)).inputs.x.data, Float32Array.of(1, 2));
  });

  test('labels are given, changed and taken away; the list is in the order of adding', async () => {
    const store = await open({ name: 'labels' });
    const ids = [];
    for (const label of ['b', 'a', undefined, 'b']) ids.push(await store.add(sample(label, ids.length)));
    const idsOf = async (options) => (await store.list(options)).map(({ id }) => ids.indexOf(id));
    assert.deepEqual(
      [await idsOf(), await idsOf({ label: 'b' }), await idsOf({ label: null })],
      [[0, 1, 2, 3], [0, 3], [2]],
    );
    assert.deepEqual(await store.classes(), ['b', 'a']);
    await store.label(ids[2], 'c');
    await store.label(ids[0], null);
    assert.deepEqual(await store.classes(), ['a', 'c', 'b']);
    assert.deepEqual((await store.get(ids[2])).inputs.x.data, Float32Array.of(2));
    await refused(store.label('0'.repeat(20), 'c'), 'invalid-argument', /^there is no sample '0{20}'$/);
  });

  test('what is deleted is gone, and its id is not given again', async () => {
    const store = await open({ name: 'gone' });
    const [id, other] = [await store.add(sample('a', 1)), await store.add(sample('b', 2))];
    assert.equal(await store.delete(id), true);
    assert.equal(await store.delete(id), false);
    assert.equal(await store.get(id), undefined);
    assert.deepEqual(
      (await (await open({ name: 'gone' })).list()).map((info) => info.id),
      [other],
    );
    assert.notEqual(await store.add(sample('a', 1)), id);
  });

  test('past a bound a sample is refused, and all that were added stay', async () => {
    const store = await open({ name: 'bound', maxSamples: 2 });
    const ids = await Promise.all(
      [1, 2, 3].map((n) => store.add(sample('a', n)).catch(({ code, message }) => [code, message])),
    );
    assert.equal(ids[2][0], 'quota-exceeded');
    assert.match(ids[2][1], /^the store may hold 2 samples; it has 2 of \d+ bytes and 1 of 8 came: delete some first$/);
    assert.deepEqual(
      (await store.list()).map(({ id }) => id),
      ids.slice(0, 2),
    );
    await store.delete(ids[0]);
    await store.add(sample('a', 4));
    const narrow = await open({ name: 'narrow', maxBytes: 1000 });
    await refused(narrow.add({ inputs: { x: row(...Array(300).fill(1)) } }), 'quota-exceeded', /may hold 1000 bytes/);
  });

  test('the data set has a row for each labelled sample, and fit learns it', async () => {
    const store = await open({ name: 'dataset' });
    await refused(store.dataset(), 'invalid-argument', /^dataset: there is no sample with a label in the store$/);
    for (let i = 0; i < 8; i++) await store.add(sample(i % 2 ? 'right' : 'left', i % 2 ? 1 : -1, 0.5));
    await store.add(sample(null, 5, 5));
    const data = await store.dataset();
    assert.deepEqual(Object.keys(data), ['inputs', 'labels']);
    assert.deepEqual(data.inputs.x.dims, [8, 2]);
    assert.deepEqual([...data.inputs.x.data.subarray(0, 4)], [-1, 0.5, 1, 0.5]);
    assert.deepEqual([...data.labels.labels.data], [0n, 1n, 0n, 1n, 0n, 1n, 0n, 1n]);
    const other = await store.dataset({ classes: ['up', 'right', 'left'], labels: 'target' });
    assert.deepEqual([...other.labels.target.data].slice(0, 2), [2n, 1n]);
    const artifacts = await generateArtifacts(model(), { loss: 'cross-entropy', optimizer: { type: 'sgd', lr: 1 } });
    const session = await TrainingSession.create(artifacts, { worker: false });
    await session.fit(data, { epochs: 20 });
    assert.equal((await session.evaluate(data)).accuracy, 1);
    await session.release();
    await refused(
      store.dataset({ classes: ['left'] }),
      'invalid-argument',
      /is a 'right', which is not among the classes left$/,
    );
    const id = await store.add(sample('left', 1, 2, 3));
    await refused(
      store.dataset(),
      'invalid-argument',
      new RegExp(
        `^dataset: sample '${id}' has 'x' float32 \\[1, 3\\], ` +
          "and sample '\\w+' 'x' float32 \\[1, 2\\]; all must be alike$",
      ),
    );
  });

  test('a data set has each sample once while another page labels them anew', async () => {
    const [store, other] = [await open({ name: 'relabelled' }), await open({ name: 'relabelled' })];
    const ids = [await store.add(sample('a', 1, 2)), await store.add(sample('b', 3, 4))];
    for (let n = 0; n < 20; n++) {
      const labelled = other.label(ids[n % 2], `label ${n}`);
      const { inputs, labels } = await store.dataset();
      assert.deepEqual([inputs.x.dims[0], labels.labels.dims[0]], [2, 2]);
      assert.equal((await store.list()).length, 2);
      await labelled;
    }
  });

  test('an export holds all, and is imported once', async () => {
    const store = await open({ name: 'from' });
    const ids = [await store.add({ ...sample('ä', 1), meta: { n: 1 } }), await store.add(sample(null, 2))];
    const file = await store.export();
    const target = await open({ name: 'to', maxSamples: 3 });
    assert.equal(await target.import(file), 2);
    assert.equal(await target.import(file), 0);
    assert.deepEqual(await target.list(), await store.list());
    assert.deepEqual((await target.get(ids[0])).inputs.x.data, Float32Array.of(1));
    const full = await open({ name: 'full', maxSamples: 1 });
    await refused(
      full.import(file),
      'quota-exceeded',
      /^the store may hold 1 samples; it has 0 of 0 bytes and 2 of 16 came/,
    );
    assert.deepEqual(await full.list(), []);
    const empty = await (await open({ name: 'nothing' })).export();
    assert.equal(await target.import(empty), 0);
  });

  test('a file that is damaged or none is one sentence, and adds nothing', async () => {
    const store = await open({ name: 'hostile' });
    await store.add(sample('a', 1, 2));
    const file = await store.export();
    const target = await open({ name: 'hostile-target' });
    const bad = (
      bytes,
      message = /^the file of samples could not be read: it is no export of samples, or not all of it$/,
    ) => refused(target.import(bytes), 'checkpoint-corrupt', message);
    await bad(new Uint8Array());
    await bad(new TextEncoder().encode('PK\x03\x04 and so on, long enough to have a head of forty-four bytes'));
    for (const at of [0, 9, 41, 60, file.length - 1]) await bad(file.map((byte, i) => (i === at ? byte ^ 1 : byte)));
    for (const end of [43, 44, 80, file.length - 1]) await bad(file.subarray(0, end));
    await refused(target.import('file'), 'invalid-argument', /^import: wanted a Uint8Array, not 'file'$/);
    const [head, text, rest] = partsOf(file);
    const { samples, ...more } = JSON.parse(text);
    const [{ id, record, bytes }] = samples;
    const part = record.inputs[0];
    const withInputs = (inputs) => [{ id, bytes, record: { ...record, inputs } }];
    for (const [wrong, why] of [
      [undefined, /it lists no samples$/],
      [{ length: 1 }, /it lists no samples$/],
      [[null], /its sample 0 is none$/],
      [[{ id: '../../etc/passwd', record, bytes }], /its sample 0 is none$/],
      [[{ id, record, bytes: 1e9 }], /its sample 0 is none$/],
      [[{ id, record, bytes: -1 }], /its sample 0 is none$/],
      [[{ id, record: { ...record, label: 7 }, bytes }], /its sample 0 is none$/],
      [withInputs([]), /its sample 0 is none$/],
      [withInputs([{ ...part, type: 'constructor' }]), /its sample 0 is none$/],
      [withInputs([{ ...part, dims: [1, 1e6] }]), /its sample 0 is none$/],
      [withInputs([{ ...part, dims: [1, -2] }]), /its sample 0 is none$/],
      [withInputs([{ ...part, offset: 2 }]), /its sample 0 is none$/],
      [withInputs([{ ...part, offset: 8 }]), /its sample 0 is none$/],
      [withInputs([null]), /its sample 0 is none$/],
      [withInputs([part, { ...part, name: 'y' }]), /its sample 0 is none$/],
      [withInputs([part, { ...part, dims: [1, 0], offset: 0 }]), /its sample 0 is none$/],
      [[], /it has more bytes than its samples$/],
    ])
      await bad(resealed(head, { ...more, samples: wrong }, rest), why);
    assert.deepEqual(await target.list(), []);
  });

  test('an export that has an id twice is imported with it once, from a Buffer too', async () => {
    const store = await open({ name: 'repeated' });
    await store.add(sample('a', 1, 2));
    const [head, info, rest] = partsOf(await store.export());
    const { samples, bytes, ...more } = JSON.parse(info);
    const both = { ...more, bytes: 2 * bytes, samples: [...samples, ...samples] };
    const target = await open({ name: 'counted' });
    assert.equal(await target.import(Buffer.from(resealed(head, both, [...rest, ...rest]))), 1);
    assert.equal((await target.list()).length, 1);
  });

  test('what does not fit is one sentence each', async () => {
    const store = await open({ name: 'words' });
    const bad = (given, message) => refused(store.add(given), 'invalid-argument', message);
    await bad({}, /^a sample needs inputs, tensors by name, as /);
    await bad(
      { inputs: { x: row(1) }, labels: 'a' },
      /^SampleStore\.add: there is no option 'labels'; it knows inputs, label, meta \(is it label\?\)$/,
    );
    await bad(
      { inputs: { x: row(1) }, label: 3 },
      /^a label is the name of a class, a string of 1 to 200 characters, or null, not 3$/,
    );
    await bad({ inputs: { x: row(1) }, label: '' }, /^a label is the name/);
    await bad({ inputs: { x: row(1) }, meta: 'left' }, /^meta: wanted an object, not 'left'$/);
    await bad({ inputs: { x: row(1) }, meta: { n: 1n } }, /^meta must be what JSON can hold: /);
    await bad(
      { inputs: { x: row(1) }, meta: { text: 'x'.repeat(70_000) } },
      /it has 70\d+ characters, and may have 65536$/,
    );
    await bad(
      { inputs: { x: new Tensor('float32', [1, 2]) } },
      /^input 'x' of the sample is \[2\]; one sample has 1 as its first dim, /,
    );
    await bad(
      { inputs: { x: new Tensor('string', ['a']) } },
      /^input 'x' of the sample is of strings; samples are numbers$/,
    );
    await refused(store.add({ inputs: { x: [1] } }), 'invalid-feed', /^input 'x' of the sample must be a tensor/);
    await refused(store.get('../x'), 'invalid-argument', /^a sample's id is what add gave, not '\.\.\/x'$/);
    await refused(store.list({ labels: 'a' }), 'invalid-argument', /^SampleStore\.list: there is no option 'labels'/);
    for (const [options, message] of [
      [{ name: '..' }, /^a store's name has 1 to 100 letters, digits, - and _, not '\.\.'$/],
      [{ maxSamples: 0 }, /^maxSamples must be a whole number of at least 1, not 0$/],
      [
        { keep: 2 },
        /^SampleStore\.open: there is no option 'keep'; it knows name, directory, maxSamples, maxBytes, features$/,
      ],
    ])
      await refused(open(options), 'invalid-argument', message);
  });
}

/** Head, info and bytes of an export. @param {Uint8Array} file */
function partsOf(file) {
  const end = 44 + new DataView(file.buffer).getUint32(40, true);
  return [file.subarray(0, 44), new TextDecoder().decode(file.subarray(44, end)), file.subarray(end)];
}

/** Another info and its checksum: a file that someone who knows the format could send. */
function resealed(head, more, rest) {
  const text = new TextEncoder().encode(JSON.stringify(more));
  const file = Uint8Array.from([...head, ...text, ...rest]);
  new DataView(file.buffer).setUint32(40, text.length, true);
  file.set(createHash('sha256').update(file.subarray(40)).digest(), 8);
  return file;
}

describe('in a folder', () => {
  let directory = '';
  before(async () => {
    directory = await fs.mkdtemp(path.join(tmpdir(), 'trainlet-samples-'));
  });
  after(() => fs.rm(directory, { recursive: true }));
  behaves((options) => SampleStore.open({ directory, ...options }));

  test('a sample whose file is damaged is told by its id, and the others are there', async () => {
    const store = await SampleStore.open({ directory, name: 'damaged' });
    const ids = [await store.add(sample('a', 1)), await store.add(sample('b', 2))];
    const folder = path.join(directory, 'damaged');
    const file = path.join(
      folder,
      (await fs.readdir(folder)).find((name) => name.startsWith(ids[0])),
    );
    const bytes = await fs.readFile(file);
    bytes[bytes.length - 1] ^= 1;
    await fs.writeFile(file, bytes);
    await fs.writeFile(path.join(folder, 'model.00000001.trainlet'), 'of someone else');
    await refused(
      store.get(ids[0]),
      'checkpoint-corrupt',
      new RegExp(`^sample '${ids[0]}' has other bytes than were saved$`),
    );
    await fs.writeFile(file, bytes.subarray(0, 50));
    await refused(store.get(ids[0]), 'checkpoint-corrupt', new RegExp(`^sample '${ids[0]}' is cut short$`));
    assert.deepEqual(
      (await store.list()).map(({ id }) => id),
      [ids[1]],
    );
    assert.equal(await store.delete(ids[0]), true);
    assert.deepEqual((await fs.readdir(folder)).length, 2);
  });
});

describe('in IndexedDB', () => {
  before(() => Object.assign(globalThis, { indexedDB: new IDBFactory(), IDBKeyRange }));
  after(() => {
    for (const name of ['indexedDB', 'IDBKeyRange']) Reflect.deleteProperty(globalThis, name);
  });
  behaves((options) => SampleStore.open(options));

  test('a storage that another tab blocks is told in time, and writes go on when it is free', async (t) => {
    const store = await SampleStore.open({ name: 'blocked' });
    const id = await store.add(sample('a', 1));
    const database = await new Promise((resolve) => {
      indexedDB.open('trainlet-samples-blocked').onsuccess = ({ target }) => resolve(target.result);
    });
    let blocked = true;
    const hold = database.transaction(['info', 'bytes'], 'readwrite').objectStore('info');
    const again = () => {
      if (blocked) hold.get(['x', 1]).onsuccess = again;
    };
    again();
    t.mock.timers.enable({ apis: ['setInterval'] });
    const writes = {
      'the sample could not be added': () => store.add(sample('b', 2)),
      [`sample '${id}' could not be labelled`]: () => store.label(id, 'c'),
      [`sample '${id}' could not be deleted`]: () => store.delete(id),
      'the samples could not be listed': () => store.list(),
    };
    for (const [what, write] of Object.entries(writes)) {
      const told = refused(
        write(),
        'store-failed',
        new RegExp(`^${what}: the storage did not answer within 15 s; .* be done$`),
      );
      for (let i = 0; i < 4; i++) {
        await new Promise((resolve) => {
          setTimeout(resolve, 20); // until it waits for the storage
        });
        t.mock.timers.tick(8000);
      }
      await told;
    }
    t.mock.timers.reset();
    blocked = false;
    assert.equal(await store.delete(id), true);
    const added = await store.add(sample('d', 4));
    assert.deepEqual(
      (await store.list()).map(({ id: one, label }) => [one, label]),
      [[added, 'd']],
    );
    database.close();
  });
});
