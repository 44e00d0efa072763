/**
 * Models and checkpoints with their data in files of their own: found in externalData by name alone, with the bits of a
 * model in one file.
 */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compileEngine } from '../../../js/engine/compile.js';
import { Core } from '../../../js/engine/core.js';
import { generateArtifacts, InferenceSession, TrainingSession } from '../../../js/index.js';
import { graphProto, info, message, modelProto, node, opsetId } from '../../support/onnx-file.js';
import { clusters, golden } from '../../support/clusters.js';
import { loadOrt } from '../../support/ort.js';

const require = createRequire(import.meta.url);
const is = (code, message) => (error) =>
  error.name === 'TrainletError' && error.code === code && message.test(error.message);

const FEEDS = clusters(12, 3);
const OPTIONS = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.01 }, requiresGrad: ['fc3.*'] };
const INLINE = golden('mlp_small.onnx');
/** Written by onnx.save_model: all weights in one file, and one file a weight. */
const FIXTURES = {
  'one_file.onnx': { 'one_file.onnx.data': golden('external/one_file.onnx.data') },
  'file_each.onnx': Object.fromEntries(
    readdirSync(new URL('../../golden/data/external/', import.meta.url))
      .filter((name) => name.startsWith('fc'))
      .map((name) => [name, golden(`external/${name}`)]),
  ),
};

async function logitsOf(model, options) {
  const session = await InferenceSession.create(model, options);
  const { logits } = await session.run(FEEDS.inputs);
  await session.release();
  return logits.data;
}

async function lossesOf(artifacts, options) {
  const session = await TrainingSession.create(artifacts, options);
  const losses = [];
  for (let i = 0; i < 4; i++) losses.push((await session.step({ ...FEEDS.inputs, ...FEEDS.labels })).loss);
  losses.push((await session.evaluate(FEEDS)).loss);
  await session.release();
  return losses;
}

for (const [name, externalData] of Object.entries(FIXTURES)) {
  test(`${name} of onnx.save_model is the model in one file, and onnxruntime-web reads it alike`, async () => {
    const model = golden(`external/${name}`);
    const whole = await logitsOf(INLINE);
    assert.deepEqual(await logitsOf(model, { externalData }), whole);
    assert.deepEqual(await logitsOf(model, { externalData, worker: false }), whole);
    assert.deepEqual(
      await generateArtifacts(model, { ...OPTIONS, externalData }),
      await generateArtifacts(INLINE, OPTIONS),
    );

    const ort = loadOrt();
    const theirs = await ort.InferenceSession.create(model, {
      externalData: Object.entries(externalData).map(([file, data]) => ({ path: file, data })),
    });
    const { data, dims } = FEEDS.inputs.input;
    const { logits } = await theirs.run({ input: new ort.Tensor('float32', data, dims) });
    logits.data.forEach((v, i) =>
      assert.ok(Math.abs(v - whole[i]) < 1e-4 * Math.max(1, Math.abs(v)), `logit ${i}: ${whole[i]}, ONNX Runtime ${v}`),
    );
  });
}

test("the bytes stay the caller's, whatever buffer they are a part of", async () => {
  const data = FIXTURES['one_file.onnx']['one_file.onnx.data'];
  const shared = new Uint8Array(new SharedArrayBuffer(data.length + 7), 7);
  shared.set(data);
  for (const bytes of [data, shared, Buffer.from(data)]) {
    // the last is a part of Node's pool
    const externalData = { './one_file.onnx.data': bytes, unused: new Uint8Array() };
    assert.deepEqual(await logitsOf(golden('external/one_file.onnx'), { externalData }), await logitsOf(INLINE));
    assert.equal(bytes.length, data.length);
    assert.deepEqual(new Uint8Array(bytes), data);
  }
});

// ── Models whose tensors are moved out, at offsets that no type is aligned at ──

/** The fields of a protobuf message: number, the bytes of the whole field, and of its contents if it has a length. */
function* fieldsOf(bytes) {
  let at = 0;
  const varint = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      n |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asUintN(64, n));
    }
  };
  while (at < bytes.length) {
    const start = at,
      tag = varint(),
      kind = tag & 7;
    const value = kind === 0 || kind === 2 ? varint() : 0;
    const length = [0, 8, value, undefined, undefined, 4][kind];
    at += length;
    yield {
      number: tag >> 3,
      whole: bytes.subarray(start, at),
      contents: kind === 2 ? bytes.subarray(at - length, at) : undefined,
    };
  }
}

/** A message whose fields of some numbers are made anew from their contents. */
const edit = (bytes, makers) =>
  new Uint8Array(
    Buffer.concat(
      [...fieldsOf(bytes)].map(({ number, whole, contents }) =>
        !contents || !(number in makers)
          ? whole
          : message(...(makers[number] ? [[number, makers[number](contents)]] : [])),
      ),
    ),
  );

const outside = (entries) =>
  message(...Object.entries(entries).map(([key, value]) => [13, message([1, key], [2, value])]), [14, 1]);

/** The model without the raw data of its initializers and attributes, and that data. */
function movedOut(model, location) {
  const data = [Uint8Array.of(0)];
  const move = (bytes) => {
    const raw = [...fieldsOf(bytes)].find(({ number }) => number === 9)?.contents;
    if (!raw) return bytes;
    const offset = data.reduce((sum, part) => sum + part.length, 0);
    data.push(raw, Uint8Array.of(0));
    return new Uint8Array(
      Buffer.concat([
        edit(bytes, { 9: undefined }),
        outside({ location, offset: `${offset}`, length: `${raw.length}`, checksum: 'any' }),
      ]),
    );
  };
  const nodes = (bytes) => edit(bytes, { 5: (attribute) => edit(attribute, { 5: move }) });
  return {
    model: edit(model, { 7: (graph) => edit(graph, { 1: nodes, 5: move }) }),
    data: new Uint8Array(Buffer.concat(data)),
  };
}

test('tensors at odd places, in attributes too: the same bits', async () => {
  for (const name of ['transformer.onnx', 'mlp_small.onnx']) {
    const { model, data } = movedOut(golden(name), 'w');
    assert.ok(data.length > 1000 && model.length < golden(name).length - data.length / 2, name);
    await assert.rejects(
      generateArtifacts(model, OPTIONS),
      is('invalid-model', /keeps its data in 'w': give the bytes of that file in externalData, which has nothing/),
    );
    const options = { loss: 'cross-entropy' };
    assert.deepEqual(
      await generateArtifacts(model, { ...options, externalData: { w: data } }),
      await generateArtifacts(golden(name), options),
    );
  }
});

test('a training session whose models have their data outside', async () => {
  const artifacts = await generateArtifacts(INLINE, OPTIONS);
  const parts = { trainModel: 't.bin', evalModel: 'e.bin', optimizerModel: 'o.bin' };
  const moved = { ...artifacts },
    externalData = {};
  for (const [key, location] of Object.entries(parts)) {
    ({ model: moved[key], data: externalData[location] } = movedOut(artifacts[key], location));
  }
  assert.ok(externalData['t.bin'].length > 1, 'the train model has no constants');
  assert.deepEqual(await lossesOf(moved, { externalData }), await lossesOf(artifacts));
  const { 't.bin': _, ...rest } = externalData;
  await assert.rejects(
    lossesOf(moved, { externalData: rest }),
    is('invalid-model', /in 't.bin': give the bytes of that file in externalData, which has 'e.bin', 'o.bin'; if/),
  );
});

// ── One weight w (2, 3), its external_data as told ──

const FILE = new Uint8Array(new Float32Array([9, 1, 2, 3, 4, 5, 6, 9]).buffer);

/** y = x·w */
function productWith(entries, { dims = [2, 3], type = 1, name = 'w' } = {}) {
  const weight = new Uint8Array(
    Buffer.concat([message(...dims.map((d) => [1, d]), [2, type], [8, name]), outside(entries)]),
  );
  const graph = graphProto({
    node: node('MatMul', ['x', 'w'], ['y']),
    name: 'g',
    initializer: weight,
    input: info('x', 1, [1, 2]),
    output: info('y', 1, [1, 3]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

async function product(entries, more, externalData = { 'w.bin': FILE }) {
  const session = await InferenceSession.create(productWith(entries, more), {
    worker: false,
    threads: 1,
    externalData,
  });
  const { y } = await session.run({ x: { type: 'float32', data: Float32Array.of(1, 10), dims: [1, 2] } });
  await session.release();
  return [...y.data];
}

test('offset and length may be missing: the start, and what the dims need', async () => {
  const at4 = { location: 'w.bin', offset: '4' };
  assert.deepEqual(await product({ ...at4, length: '24' }), [41, 52, 63]);
  assert.deepEqual(await product(at4), [41, 52, 63]);
  assert.deepEqual(await product({ location: 'w.bin' }), [9 + 30, 1 + 40, 2 + 50]);
  assert.deepEqual(await product({ ...at4, offset: '8' }), [52, 63, 94]);
  assert.deepEqual(await product({ ...at4, location: './w.bin' }), [41, 52, 63]);
});

const SELF = fileURLToPath(new URL('../../golden/data/external/one_file.onnx.data', import.meta.url));
for (const [what, entries, sentence, more] of [
  [
    'no location',
    { offset: '0' },
    /^initializer 'w' keeps its data outside of the model and does not say where \(external_data has no location\)$/,
  ],
  [
    'another location',
    { location: 'v.bin' },
    new RegExp(
      "^initializer 'w' keeps its data in 'v.bin': give the bytes of that file in externalData, which has 'w.bin'; " +
        "if it lies there: externalData: { 'v.bin': 'v.bin' }$",
    ),
  ],
  ['no text', { location: '' }, /in '': give the bytes of that file in externalData/],
  ['an absolute path', { location: SELF }, /: give the bytes of that file in externalData/],
  ['a path upwards', { location: '../w.bin' }, /in '..\/w.bin': give the bytes of that file in externalData/],
  [
    'a path that leads back',
    { location: 'a/../w.bin' },
    /in 'a\/..\/w.bin': give the bytes of that file in externalData/,
  ],
  ['a URL', { location: 'file:///w.bin' }, /: give the bytes of that file in externalData/],
  ['a name of Object', { location: 'constructor' }, /: give the bytes of that file in externalData/],
  [
    'a negative offset',
    { location: 'w.bin', offset: '-4' },
    /^initializer 'w' wants 24 bytes at offset -4 of 'w.bin', which has 32 bytes$/,
  ],
  [
    'an offset behind the end',
    { location: 'w.bin', offset: '12' },
    /wants 24 bytes at offset 12 of 'w.bin', which has 32 bytes/,
  ],
  ['an offset of words', { location: 'w.bin', offset: '4 bytes' }, /at offset 4 bytes of/],
  ['an empty offset', { location: 'w.bin', offset: '' }, /at offset {2}of/],
  [
    'an offset of 2³² + 4',
    { location: 'w.bin', offset: '4294967300' },
    /at offset 4294967300 of 'w.bin', which has 32 bytes/,
  ],
  ['an offset past 2⁶⁴', { location: 'w.bin', offset: '18446744073709551620' }, /at offset 18446744073709551620 of/],
  ['a sum past 2³²', { location: 'w.bin', offset: '8', length: '4294967292' }, /wants 4294967292 bytes at offset 8/],
  ['a negative length', { location: 'w.bin', length: '-24' }, /wants -24 bytes at offset 0/],
  ['a length past the end', { location: 'w.bin', length: '33' }, /wants 33 bytes at offset 0 of 'w.bin', which has 32/],
  [
    'too short a length',
    { location: 'w.bin', length: '20' },
    /^initializer 'w' of shape \(2, 3\) needs 24 bytes of data, it has 20$/,
  ],
  ['too long a length', { location: 'w.bin', length: '28' }, /needs 24 bytes of data, it has 28/],
  [
    'more dims than data',
    { location: 'w.bin' },
    /wants 36 bytes at offset 0 of 'w.bin', which has 32/,
    { dims: [3, 3] },
  ],
  [
    'dims past all memory',
    { location: 'w.bin' },
    /^initializer 'w' of shape .* does not fit this machine's memory$/,
    { dims: [2 ** 31, 2 ** 31, 8] },
  ],
  ['a negative dim', { location: 'w.bin' }, /negative dimension/, { dims: [-2, 3] }],
  ['an unknown type', { location: 'w.bin' }, /elements of type .*, which we lack/, { type: 99 }],
  [
    'texts',
    { location: 'w.bin' },
    /^initializer 'w' keeps strings in 'w.bin': only numbers may lie outside of the model$/,
    { type: 8 },
  ],
  [
    'a long name',
    { location: 'v'.repeat(5000) },
    /^initializer 'w{100}' keeps its data in 'v{100}': give the bytes/,
    { name: 'w'.repeat(5000) },
  ],
]) {
  test(`external data with ${what} is refused in a sentence`, async () => {
    await assert.rejects(product(entries, more), (error) => {
      assert.equal(error.name, 'TrainletError');
      assert.match(error.code, /^(invalid-model|unsupported-op|out-of-memory)$/);
      assert.match(error.message, sentence);
      return true;
    });
  });
}

test('what is no set of files is refused', async () => {
  const open = (externalData) => InferenceSession.create(INLINE, { externalData });
  await assert.rejects(
    open({ w: new Float32Array(3) }),
    is(
      'source-unreadable',
      /externalData\['w'\] could not be loaded: expected a URL, a path, bytes, a Blob or a Response/,
    ),
  );
  await assert.rejects(
    open([{ path: 'w', data: FILE }]),
    is('invalid-argument', /externalData: wanted an object, not /),
  );
  await assert.rejects(
    generateArtifacts(INLINE, { ...OPTIONS, externalData: { w: 'w.bin' } }),
    is('source-unreadable', /externalData\['w'\] could not be loaded from w.bin: /),
  );
  assert.deepEqual(await logitsOf(INLINE, { externalData: {} }), await logitsOf(INLINE, { externalData: undefined }));
});

test("the weights are in the engine's memory once", async () => {
  const size = 4 * 2048 * 2048;
  const model = productWith({ location: 'w.bin' }, { dims: [2, size / 8] });
  const core = await Core.create({ module: await compileEngine({ threads: 2 }), threads: 1 });
  const { memory } = core.open();
  core.load({
    parts: [{ which: 'model', bytes: model }],
    external: [{ location: 'w.bin', bytes: new Uint8Array(size) }],
    maxMemoryBytes: 0,
  });
  const taken = memory.buffer.byteLength;
  assert.ok(taken >= size && taken < size * 1.5, `${taken} bytes for ${size}`);
});

// ── ONNX Runtime's checkpoint with a second file, written by FlatBuffers' own library as ONNX Runtime's schema has it
// ──

const {
  flatbuffers: { Builder },
} = createRequire(path.join(path.dirname(require.resolve('onnxruntime-web')), '..', 'package.json'))('flatbuffers');

/**
 * The parameters of a session as a checkpoint of version 2; data as ONNX Runtime writes it, aligned to 4, unless
 * `moveBy`.
 */
async function twoFiles(artifacts, { flag = 1, moveBy = 0 } = {}) {
  const session = await TrainingSession.create(artifacts);
  const b = new Builder(1024);
  const data = [new Uint8Array(moveBy)];
  const put = async ({ name, dims }) => {
    const offset = data.reduce((sum, part) => sum + part.length, 0);
    data.push(new Uint8Array((await session.getParameter(name)).data.buffer));
    const text = b.createString(name);
    b.startVector(8, dims.length, 8);
    for (const d of [...dims].reverse()) b.addInt64(b.createLong(d, 0));
    const shape = b.endVector();
    b.startObject(7);
    b.addFieldOffset(0, text, 0);
    b.addFieldOffset(2, shape, 0);
    b.addFieldInt32(3, 1, 0);
    b.addFieldInt64(6, b.createLong(offset, 0), b.createLong(-1, -1));
    return b.endObject();
  };
  const lists = [];
  for (const wanted of [true, false]) {
    const tables = [];
    for (const p of session.parameters.filter(({ trainable }) => trainable === wanted)) tables.push(await put(p));
    b.startVector(4, tables.length, 4);
    for (const table of tables.reverse()) b.addOffset(table);
    lists.push(b.endVector());
  }
  await session.release();
  b.startObject(4);
  lists.forEach((list, i) => {
    b.addFieldOffset(i, list, 0);
  });
  b.addFieldInt8(3, flag, 0);
  const module = b.endObject();
  b.startObject(4);
  b.addFieldInt32(0, 2, 0);
  b.addFieldOffset(1, module, 0);
  b.finish(b.endObject(), 'ODTC');
  return { checkpointState: b.asUint8Array().slice(), data: new Uint8Array(Buffer.concat(data)) };
}

test('a checkpoint of two files trains as the one it was', async () => {
  const artifacts = await generateArtifacts(INLINE, OPTIONS);
  const want = await lossesOf(artifacts);
  for (const moveBy of [0, 3]) {
    const { checkpointState, data } = await twoFiles(artifacts, { moveBy });
    assert.deepEqual(
      await lossesOf({ ...artifacts, checkpointState }, { externalData: { 'checkpoint.data': data } }),
      want,
    );
  }
});

test('a checkpoint whose second file is missing or cut is refused', async () => {
  const artifacts = await generateArtifacts(INLINE, OPTIONS);
  const { checkpointState, data } = await twoFiles(artifacts);
  const open = (files, state = checkpointState) =>
    TrainingSession.create({ ...artifacts, checkpointState: state }, { externalData: files });
  await assert.rejects(
    open({}),
    is('checkpoint-mismatch', /second file, which must be 'checkpoint.data' in externalData, which has nothing$/),
  );
  await assert.rejects(open({ other: data }), is('checkpoint-mismatch', /which has 'other'$/));
  await assert.rejects(
    open({ 'checkpoint.data': data.subarray(0, -1) }),
    is('checkpoint-corrupt', /tensor '.+' wants \d+ bytes at offset \d+ of 'checkpoint.data', which has \d+ bytes/),
  );
  await assert.rejects(open({ 'checkpoint.data': new Uint8Array() }), is('checkpoint-corrupt', /which has 0 bytes/));
  const { checkpointState: without } = await twoFiles(artifacts, { flag: 0 });
  await assert.rejects(
    open({ 'checkpoint.data': data }, without),
    is('checkpoint-corrupt', /has its data in a second file, and the checkpoint has none/),
  );
});

test('a path alone finds the files beside the model that continue its name, and no others', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'trainlet-beside-'));
  const place = (...names) => path.join(folder, ...names);
  const { model, data } = movedOut(INLINE, 'm.onnx.data');
  const copies = { 'm.onnx': model, 'm.onnx.data': data, 'm.onnx.data.old': new Uint8Array(3) };
  const other = movedOut(INLINE, 'secret.bin').model;
  try {
    mkdirSync(place('blobs'));
    mkdirSync(place('links'));
    for (const [name, bytes] of Object.entries(copies)) writeFileSync(place(name), bytes);
    writeFileSync(place('other.onnx'), other);
    writeFileSync(place('secret.bin'), data);
    const whole = await logitsOf(INLINE);
    assert.deepEqual(await logitsOf(place('m.onnx')), whole);
    const expected = await generateArtifacts(INLINE, OPTIONS);
    assert.deepEqual(await generateArtifacts(place('m.onnx'), OPTIONS), expected);
    assert.deepEqual(await generateArtifacts(pathToFileURL(place('m.onnx')), OPTIONS), expected);

    // A cache of links, whose files are in one folder.
    writeFileSync(place('blobs', 'a'), model);
    writeFileSync(place('blobs', 'b'), data);
    symlinkSync(place('blobs', 'a'), place('links', 'm.onnx'));
    symlinkSync(place('blobs', 'b'), place('links', 'm.onnx.data'));
    assert.deepEqual(await logitsOf(place('links', 'm.onnx')), whole);
    // A link out of the folder is not followed, and the model cannot name another file.
    writeFileSync(place('blobs', 'm.onnx'), model);
    symlinkSync(place('m.onnx.data'), place('blobs', 'm.onnx.data'));
    const missing = /keeps its data in '.+': give the bytes of that file in externalData, which has nothing; if/;
    await assert.rejects(logitsOf(place('blobs', 'm.onnx')), is('invalid-model', missing));
    await assert.rejects(logitsOf(place('other.onnx')), is('invalid-model', missing));
    await assert.rejects(generateArtifacts(place('other.onnx'), OPTIONS), is('invalid-model', missing));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('paths of artifacts in several folders find the files beside each', async () => {
  const artifacts = await generateArtifacts(INLINE, OPTIONS);
  const folder = mkdtempSync(path.join(tmpdir(), 'trainlet-parts-'));
  const moved = { ...artifacts };
  try {
    for (const key of ['trainModel', 'evalModel', 'optimizerModel']) {
      const place = path.join(folder, key, `${key}.onnx`);
      const { model, data } = movedOut(artifacts[key], `${key}.onnx.data`);
      mkdirSync(path.dirname(place));
      writeFileSync(place, model);
      writeFileSync(`${place}.data`, data);
      moved[key] = place;
    }
    const expected = await lossesOf(artifacts);
    assert.deepEqual(await lossesOf(moved), expected);
    assert.deepEqual(await lossesOf({ ...moved, trainModel: pathToFileURL(moved.trainModel) }), expected);
    rmSync(`${moved.evalModel}.data`);
    const missing = /keeps its data in 'evalModel.onnx.data': give the bytes of that file in externalData, which has/;
    await assert.rejects(lossesOf(moved), is('invalid-model', missing));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
