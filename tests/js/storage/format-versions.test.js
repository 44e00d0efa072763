/** Files of a version that is not read, newer ones above all: one code, and a sentence with both versions. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import { readOnnxAdapter } from '../../../js/adapters/onnx.js';
import { parseNpy } from '../../../js/cli/npy.js';
import {
  CheckpointStore,
  compactArtifacts,
  generateArtifacts,
  InferenceSession,
  SampleStore,
  TrainingSession,
} from '../../../js/index.js';
import { readSource } from '../../../js/sources/source.js';
import { HERE } from '../../support/engines.js';

const golden = async (file) => new Uint8Array(await readFile(new URL(`../../golden/data/${file}`, import.meta.url)));
const ORT = 'ort/ort_testdata_ortformat';

let folder = '';
/** @type {import('../../../js/types.js').Artifacts} */
let made;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-versions-'));
  made = await generateArtifacts(await golden('mlp_small.onnx'), { loss: 'cross-entropy', ...HERE });
});
after(() => rm(folder, { recursive: true }));

/** Another byte at a place. */
const withByte = (bytes, at, byte) => bytes.map((old, i) => (i === at ? byte : old));

/** The offset of the first field of a FlatBuffers file's root table. */
function firstField(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const root = view.getUint32(0, true);
  return root + view.getUint16(root - view.getInt32(root, true) + 4, true);
}

/** The offset of that field's letters, if it is a text. */
function firstText(bytes) {
  const at = firstField(bytes);
  return at + new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true) + 4;
}

const open = (parts) => TrainingSession.create({ ...made, ...parts }, HERE);
const refused = (call, message) => assert.rejects(call, { code: 'unsupported-version', message });

test('the page about versions has those that the code has', async () => {
  const read = (file) => readFile(new URL(`../../../${file}`, import.meta.url), 'utf8');
  const row = (page, name) => page.split('\n').find((one) => one.startsWith('| ') && one.includes(name));
  const page = await read('schema/VERSIONS.md');
  const newest = async (file, name) => Number(new RegExp(`\\b${name} = (\\d+)`).exec(await read(file))[1]);
  for (const [name, versions, number] of [
    ["Trainlet's checkpoint", '1, 2, 4, N', await newest('src/checkpoint/trainlet_checkpoint.c', 'VERSION')],
    ["ONNX Runtime's checkpoint", '1, N', await newest('src/checkpoint/checkpoint.h', 'ORT_CHECKPOINT_NEWEST')],
    ['compact file', 'N', await newest('src/compact/compact.h', 'COMPACT_VERSION')],
    ['`.ort` model', '1 to N', await newest('src/onnx/ort_format.c', 'VERSION_MAX')],
    ['ONNX model', 'IR versions up to N', await newest('src/onnx/model.c', 'IR_MAX')],
    ['`.onnx_adapter`', 'N', await newest('js/adapters/onnx.js', 'VERSION')],
    ['`.npy`', '1 to N', await newest('js/cli/npy.js', 'NPY_VERSION')],
  ])
    assert.equal(row(page, name).split(' | ')[1], versions.replace('N', String(number)), name);
});

test('protoc decodes the envelope and the body of a checkpoint by its schema', async () => {
  const session = await open({});
  session.properties.set('classes', 'a b');
  const checkpoint = await session.saveCheckpoint();
  await session.release();
  const decoded = (message, input) =>
    execFileSync('protoc-c', [`--decode=trainlet.${message}`, '-I', 'schema', 'checkpoint.proto'], {
      cwd: fileURLToPath(new URL('../../..', import.meta.url)),
      input,
      encoding: 'utf8',
    });
  const envelope = decoded('Checkpoint', checkpoint);
  const checksum = new DataView(checkpoint.buffer, checkpoint.byteOffset).getUint32(8, true);
  assert.match(envelope, new RegExp(`^magic: ${0x4b434c54}\nversion: 1\nchecksum: ${checksum}\nbody: "`));
  const length = checkpoint.findIndex((byte, at) => at > 12 && byte < 128);
  const state = decoded('State', checkpoint.subarray(length + 1));
  for (const line of ['name: "fc1.weight"', 'type: "adamw"', 'value: "a b"']) assert.match(state, new RegExp(line));
  assert.doesNotMatch(state, /^\s*\d+:/m); // no field that the schema does not have
});

test('checkpoints, of both formats, and compact files', async () => {
  const session = await open({});
  const [ours, ort] = [await session.saveCheckpoint(), await session.saveCheckpoint({ format: 'ort' })];
  await session.release();
  for (const version of [16, 3, 127])
    await refused(
      open({ checkpointState: withByte(ours, 6, version) }),
      `the checkpoint is of version ${version} of the format, we read versions 1, 2, 4 and 8`,
    );
  const plain = ort.map((byte, i) => (i >= 8 && i < 16 ? 0 : byte)); // without the mark of our checksum
  await refused(
    open({ checkpointState: withByte(plain, firstField(plain), 3) }),
    'the ONNX Runtime checkpoint is of version 3 of the format, we read versions 1 and 2',
  );
  const compact = await compactArtifacts(made, HERE);
  await refused(
    TrainingSession.create({ compact: withByte(compact, 5, 2) }, HERE),
    'the compact file is of version 2 of the format, we read version 1',
  );
});

test('.ort models: versions 1 to 6 are read, as onnxruntime 1.32 reads them', async () => {
  const [train, optimizer] = [await golden(`${ORT}/training_model.ort`), await golden(`${ORT}/optimizer_model.ort`)];
  const checkpointState = await golden(`${ORT}/checkpoint`);
  const create = (version, which) => {
    const parts = { trainModel: train, optimizerModel: optimizer, checkpointState };
    const bytes = which ? parts[which] : train;
    parts[which ?? 'trainModel'] = withByte(bytes, firstText(bytes), version.charCodeAt(0));
    return TrainingSession.create(parts, HERE);
  };
  for (const version of '123456') await (await create(version)).release();
  for (const version of ['0', '7', '9', 'x'])
    for (const which of ['trainModel', 'optimizerModel'])
      await refused(
        create(version, which),
        `the ORT-format model is of version '${version}' of the format, we read versions 1 to 6`,
      );
});

test('ONNX models by their IR version, whoever reads them', async () => {
  const model = await golden('mlp_small.onnx');
  const newer = withByte(model, 1, 15); // the first field is the version
  assert.deepEqual([model[0], model[1] < 15], [8, true]);
  const message = "the model is of ONNX's IR version 15, we read versions up to 14";
  await refused(generateArtifacts(newer, { loss: 'cross-entropy', ...HERE }), message);
  await refused(InferenceSession.create(newer, HERE), message);
  await refused(open({ trainModel: withByte(made.trainModel, 1, 15) }), message);
  await (await InferenceSession.create(withByte(model, 1, 14), HERE)).release();
});

test('adapters of ONNX Runtime, and arrays of NumPy', async () => {
  const adapter = await golden('lora/python.onnx_adapter');
  const newer = withByte(adapter, firstField(adapter), 2);
  const read = async () => readOnnxAdapter(newer, 'a.onnx_adapter');
  await refused(read, 'a.onnx_adapter: is of version 2 of the format, we read version 1');
  const array = Buffer.from(`\x93NUMPY\x04\x00${' '.repeat(64)}`, 'latin1');
  await refused(async () => parseNpy('x.npy', array), 'x.npy is of version 4 of .npy, we read versions 1 to 3');
});

test('what stores have kept: in a folder, in an export of samples, in a database', async (t) => {
  const store = await CheckpointStore.open({ directory: folder });
  await store.save('run', new Uint8Array(3));
  const [name] = await readdir(folder);
  const file = path.join(folder, name);
  await writeFile(file, withByte(new Uint8Array(await readFile(file)), 7, 2));
  const reason = 'is of version 2 of its format, we read 1';
  await refused(store.load('run'), `checkpoint 'run' could not be loaded: version 1 ${reason}`);
  await refused(readSource('checkpointState', file, {}), `the file ${reason}`);
  await store.save('run', Uint8Array.of(7)); // the newest that is read is loaded, and told what is not
  await writeFile(file.replace('1.trainlet', '3.trainlet'), await readFile(file));
  const { version, skipped } = await store.load('run');
  assert.deepEqual([version, skipped], [2, [{ version: 3, reason }]]);

  const samples = await SampleStore.open({ directory: path.join(folder, 'samples') });
  const exported = await samples.export();
  await refused(samples.import(withByte(exported, 7, 2)), `the file of samples could not be read: it ${reason}`);

  Object.assign(globalThis, { indexedDB: new IDBFactory(), IDBKeyRange });
  t.after(() => {
    for (const key of ['indexedDB', 'IDBKeyRange']) Reflect.deleteProperty(globalThis, key);
  });
  await new Promise((resolve) => {
    indexedDB.open('trainlet', 2).onsuccess = ({ target }) => resolve(target.result.close());
  });
  await refused(CheckpointStore.open(), /^the database 'trainlet' could not be opened: .*version/);
});
