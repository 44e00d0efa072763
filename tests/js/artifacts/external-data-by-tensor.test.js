/**
 * External data that is read a tensor at a time: artifacts are to the byte those of the whole file, wherever it lies.
 * The part that is not needed is not read. And the plan that is made without it.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  generateArtifacts,
  InferenceSession,
  parametersOf,
  planMemory,
  Tensor,
  TrainingSession,
} from '../../../js/index.js';
import {
  attribute,
  graphProto,
  info,
  message,
  modelProto,
  node,
  opsetId,
  tensorProto,
} from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { golden } from '../../support/clusters.js';
import { HERE } from '../../support/engines.js';

const is = (code, text) => (error) => error.name === 'TrainletError' && error.code === code && text.test(error.message);
const FILE = 'model.data';
const [WORDS, WIDTH, DEEP] = [400, 64, 320];

const note = (key, value) => message([1, key], [2, value]);
/** An initializer that lies in the file. */
const outside = (name, dims, offset, length, type = 1) =>
  tensorProto({
    dims,
    dataType: type,
    name,
    externalData: [
      note('location', FILE),
      note('offset', String(offset)),
      ...(length === undefined ? [] : [note('length', String(length))]),
    ],
    dataLocation: 1,
  });

/** Weights of sizes that come late, and small ones and whole numbers among them. */
const parts = [
  ['table', [WORDS, WIDTH], 1],
  ['shape', [3], 7],
  ['up', [WIDTH, DEEP], 1],
  ['scale', [DEEP], 1],
  ['down', [DEEP, WIDTH], 1],
  ['head', [WIDTH, 5], 1],
];

/** @param {(name: string, i: number) => number} value */
function fileOf(value = (_, i) => batchUnit(3, i) - 0.5) {
  let end = 0;
  const places = parts.map(([name, dims, type]) => {
    const [offset, count] = [end, dims.reduce((a, b) => a * b, 1)];
    end += count * (type === 7 ? 8 : 4);
    return { name, dims, type, offset, count, bytes: end - offset };
  });
  const data = new Uint8Array(end);
  const view = new DataView(data.buffer);
  for (const { name, type, offset, count } of places)
    for (let i = 0; i < count; i++)
      if (type === 7) view.setBigInt64(offset + 8 * i, [-1n, 2n, BigInt(DEEP / 2)][i], true);
      else view.setFloat32(offset + 4 * i, value(name, offset + i), true);
  return { places, data };
}

const { places, data } = fileOf();
/** Ids (N, T) → logits (N · T, 5), by way of a Reshape there and back. */
const modelOf = (all = places) =>
  modelProto({
    irVersion: 10,
    opsetImport: opsetId(17),
    graph: graphProto({
      node: [
        node('Gather', ['table', 'ids'], 'x'),
        node('MatMul', ['x', 'up'], 'wide'),
        node('Mul', ['wide', 'scale'], 'scaled'),
        node('Reshape', ['scaled', 'shape'], 'split'),
        node('Relu', ['split'], 'relu'),
        node('Shape', ['wide'], 'whole'),
        node('Reshape', ['relu', 'whole'], 'joined'),
        node('MatMul', ['joined', 'down'], 'y'),
        node('MatMul', ['y', 'head'], 'logits'),
      ],
      name: 'model',
      initializer: all.map(({ name, dims, offset, bytes, type }) => outside(name, dims, offset, bytes, type)),
      input: info('ids', 7, ['N', 'T']),
      output: info('logits', 1, ['N', 'T', 5]),
    }),
  });
const model = modelOf();
const OPTIONS = {
  ...HERE,
  loss: { type: 'cross-entropy', axis: -1 },
  optimizer: { type: 'adamw', lr: 0.01 },
  lora: { r: 2, alpha: 4, targets: ['up', 'down'], moduleNames: { up: 'up', down: 'down', head: 'head' } },
};
const BATCH = {
  ids: new Tensor(
    'int64',
    BigInt64Array.from({ length: 6 }, (_, i) => BigInt(i * 61)),
    [2, 3],
  ),
  labels: new Tensor(
    'int64',
    BigInt64Array.from({ length: 6 }, (_, i) => BigInt(i % 5)),
    [2, 3],
  ),
};

const folder = mkdtempSync(join(tmpdir(), 'trainlet-pieces-'));
let server, site;
/** Ranges asked of the server, 'all' for the whole. */
let asked = [];
before(async () => {
  writeFileSync(join(folder, FILE), data);
  server = createServer((request, response) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')?.map(Number) ?? [];
    asked.push(from === undefined ? 'all' : [from, to + 1]);
    if (request.url === '/none') return response.writeHead(404).end();
    if (request.url === '/plain' || from === undefined) return response.writeHead(200).end(data);
    const bytes = data.subarray(from, request.url === '/short' ? to : to + 1);
    const headers = { 'content-range': `bytes ${from}-${to}/${data.length}` };
    response.writeHead(206, headers).end(from === 0 && to === 0 ? data.subarray(0, 1) : bytes);
  });
  await new Promise((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  site = `http://localhost:${server.address().port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const SOURCES = {
  'a Blob': () => new Blob([data]),
  'a path': () => join(folder, FILE),
  'ranges of a server': () => `${site}/ranges`,
  'a server without ranges': () => new URL(`${site}/plain`),
  'a Response': () => fetch(`${site}/plain`),
};
const KINDS = [undefined, 'int8', 'int4', 'float16'];
const made = (source, quantizeFrozen, more) =>
  generateArtifacts(model, { ...OPTIONS, quantizeFrozen, externalData: { [FILE]: source }, ...more });

for (const [name, source] of Object.entries(SOURCES)) {
  test(`${name}: the artifacts are those of the whole file`, async () => {
    for (const kind of KINDS) assert.deepEqual(await made(await source(), kind), await made(data, kind), kind);
    const there = await made(await source(), 'int4', { worker: true });
    assert.deepEqual(there, await made(data, 'int4'));
  });
}

test('a session and a model for inference take them too', async () => {
  const run = async (source) => {
    const session = await InferenceSession.create(model, { ...HERE, externalData: { [FILE]: source } });
    const { logits } = await session.run({ ids: BATCH.ids });
    return logits.data;
  };
  const want = await run(data);
  for (const source of Object.values(SOURCES)) assert.deepEqual(await run(await source()), want);
});

test('only what lies in the model is read, shapes first; and none of the weights for parametersOf', async () => {
  const spaced = fileOf();
  const [table, shape, ...rest] = spaced.places;
  const small = modelOf([table, shape, ...rest]);
  asked = [];
  const told = [];
  const onProgress = ({ source, loadedBytes, totalBytes }) => told.push([source, loadedBytes, totalBytes]);
  await generateArtifacts(small, { ...OPTIONS, externalData: { [FILE]: `${site}/ranges` }, onProgress });
  const range = (name) => {
    const { offset, bytes } = places.find((one) => one.name === name);
    return [offset, offset + bytes];
  };
  assert.deepEqual(asked, [[0, 1], ...['shape', 'scale', 'head', 'table', 'up', 'down'].map(range)]);
  assert.deepEqual(told.at(-1), [FILE, data.length, data.length]);
  assert.ok(told.every(([, loaded], i) => i === 0 || loaded > told[i - 1][1]));
  const all = await parametersOf(small, { ...HERE, externalData: { [FILE]: new Blob([data]) } });
  assert.deepEqual(
    all.map(({ name }) => name),
    ['table', 'up', 'scale', 'down', 'head'],
  );
});

test('weights that cannot be quantized stay wide, though that is seen late', async () => {
  const value = (name, i) =>
    name === 'up' && i % 97 === 0 ? 70_000 : name === 'down' && i % 89 === 0 ? -Infinity : 0.5 - batchUnit(5, i);
  const { data: odd } = fileOf(value);
  for (const kind of KINDS) {
    const [inPieces, whole] = await Promise.all([made(new Blob([odd]), kind), made(odd, kind)]);
    assert.deepEqual(inPieces, whole, kind);
  }
});

test('what is not there or not as it says is told', async () => {
  const refused = (source, error, of = model) =>
    assert.rejects(generateArtifacts(of, { ...OPTIONS, externalData: { [FILE]: source } }), error);
  await refused(
    `${site}/none`,
    is('source-unreadable', /^externalData\['model.data'\] could not be loaded from .*: HTTP 404$/),
  );
  await refused(`${site}/short`, is('source-unreadable', /a range of 24 bytes came with 23$/));
  await refused(join(folder, 'absent'), is('source-unreadable', /could not be loaded from .*absent/));
  await refused(
    new Blob([data.subarray(0, 9)]),
    is('invalid-model', /'table' wants \d+ bytes at offset 0 of 'model.data', which has 9 bytes/),
  );
  const far = places.map((one) => (one.name === 'down' ? { ...one, offset: 2 ** 33 } : one));
  await refused(new Blob([data]), is('invalid-model', /'down' wants \d+ bytes at offset 8589934592/), modelOf(far));
  const short = places.map((one) => (one.name === 'down' ? { ...one, bytes: one.bytes - 4 } : one));
  await refused(
    new Blob([data]),
    is('invalid-model', /'down' of shape \(320, 64\) needs 81920 bytes of data, it has 81916/),
    modelOf(short),
  );
  await assert.rejects(
    generateArtifacts(model, { ...OPTIONS, externalData: { other: new Blob([data]) } }),
    is('invalid-model', /keeps its data in 'model.data'/),
  );
  await assert.rejects(
    made(new Blob([data]), 'int4', { signal: AbortSignal.abort() }),
    (error) => error.code === 'aborted',
  );
  const training = golden('training_info/adam.onnx');
  assert.ok(
    (await generateArtifacts(training, { ...HERE, externalData: { [FILE]: new Blob([data]) } })).trainModel.length,
  );
});

test('the memory of a training is told without its weights, to the byte', async () => {
  for (const quantizeFrozen of KINDS) {
    const session = await TrainingSession.create(await made(data, quantizeFrozen), HERE);
    await session.step(BATCH);
    const { takenBytes, packedBytes, peakBytes, ...plan } = await session.getMemoryPlan();
    await session.release();
    asked = [];
    const dims = { ids: [2, 3], labels: [2, 3] };
    const externalData = { [FILE]: `${site}/ranges` };
    const told = await planMemory(model, { ...OPTIONS, quantizeFrozen, externalData, dims });
    const want = { ...plan, packedBytes: 0, peakBytes: peakBytes - packedBytes, takenBytes: told.takenBytes };
    assert.deepEqual(told, want, quantizeFrozen);
    const ratio = told.takenBytes / (takenBytes - packedBytes);
    assert.ok(ratio > 0.8 && ratio < 1.2, `${told.takenBytes} of ${takenBytes} and ${packedBytes} packed`);
    assert.deepEqual(
      asked,
      [
        [0, 1],
        [places[1].offset, places[1].offset + 24],
      ],
      'whole numbers alone are read',
    );
  }
});

test('a plan that cannot be made, or that does not fit, is refused', async () => {
  const dims = { ids: [2, 3], labels: [2, 3] };
  const plan = (more) => planMemory(model, { ...OPTIONS, externalData: { [FILE]: new Blob([data]) }, dims, ...more });
  await assert.rejects(plan({ maxMemoryBytes: 5e5 }), (error) => error.code === 'out-of-memory');
  await assert.rejects(
    plan({ dims: undefined }),
    is('invalid-argument', /dims\['ids'\] must be an array of whole numbers/),
  );
  await assert.rejects(
    plan({ dims: { ...dims, x: [1] } }),
    is('invalid-argument', /there is no input 'x', there are ids, labels/),
  );
  await assert.rejects(plan({ dims: { ids: [2, 3], labels: [2, 4] } }), (error) => error.code === 'invalid-feed');
  await assert.rejects(plan({ externalData: {} }), is('invalid-model', /shapes follow from numbers in 'model.data'/));
});

test('a large frozen base stays in the file of its checkpoint, and trains like one that was copied', async () => {
  const size = 2100; // 17.6 MB
  const wide = { name: 'wide', dims: [size, size], type: 1, offset: 0, bytes: 4 * size * size };
  const large = modelProto({
    irVersion: 10,
    opsetImport: opsetId(17),
    graph: graphProto({
      node: [node('MatMul', ['x', 'wide'], 'h'), node('MatMul', ['h', 'last'], 'y')],
      name: 'model',
      initializer: [outside('wide', wide.dims, 0, wide.bytes), outside('last', [size, 2], wide.bytes, 8 * size)],
      input: info('x', 1, ['N', size]),
      output: info('y', 1, ['N', 2]),
    }),
  });
  const file = Float32Array.from({ length: size * size + 2 * size }, (_, i) => (batchUnit(7, i) - 0.5) / 20);
  const artifacts = await generateArtifacts(large, {
    ...HERE,
    loss: 'mse',
    optimizer: { type: 'adam', lr: 0.01 },
    requiresGrad: ['last'],
    externalData: { [FILE]: new Uint8Array(file.buffer) },
  });
  const floats = (rows, columns) => new Tensor('float32', file.slice(0, rows * columns), [rows, columns]);
  const losses = async (session) => {
    const found = [];
    for (let i = 0; i < 3; i++) found.push((await session.step({ x: floats(2, size), target: floats(2, 2) })).loss);
    await session.setTrainable(['*']);
    for (let i = 0; i < 2; i++) found.push((await session.step({ x: floats(2, size), target: floats(2, 2) })).loss);
    return found;
  };
  const first = await TrainingSession.create(artifacts, HERE);
  const { stateBytes, takenBytes } = await first.getMemoryPlan();
  assert.ok(stateBytes > wide.bytes && takenBytes < stateBytes + 0.1 * wide.bytes, `${takenBytes} of ${stateBytes}`);
  const checkpointState = await first.saveCheckpoint();
  const copied = await TrainingSession.create({ ...artifacts, checkpointState }, HERE);
  const want = await losses(copied);
  assert.deepEqual(await losses(first), want);
  assert.deepEqual((await first.getParameter('wide')).data, (await copied.getParameter('wide')).data);
  await first.release();
  await copied.release();
});

test('float16 and bfloat16 weights that lie outside train as those within, wherever the file lies', async () => {
  const W = 512;
  const names = ['up', 'mid', 'down'];
  const bits = {
    /** Takes numbers whose exponent float16 has. @param {number} x */
    10: (x) => {
      const u = new Uint32Array(Float32Array.of(x).buffer)[0];
      const exponent = ((u >>> 23) & 255) - 112;
      return ((u >>> 16) & 0x8000) | (exponent > 0 ? (exponent << 10) | ((u >>> 13) & 1023) : 0);
    },
    16: (x) => new Uint32Array(Float32Array.of(x).buffer)[0] >>> 16,
  };
  const lossesOf = async (bytes, options) => {
    const settings = { ...HERE, loss: 'mse', optimizer: { type: 'sgd', lr: 0.1 }, ...options };
    const session = await TrainingSession.create(await generateArtifacts(bytes, settings), HERE);
    const rows = (seed) =>
      new Tensor(
        'float32',
        Float32Array.from({ length: W }, (_, i) => batchUnit(seed, i)),
        [1, W],
      );
    const losses = [];
    for (let i = 0; i < 3; i++) losses.push((await session.step({ x: rows(5), target: rows(6) })).loss);
    await session.release();
    return losses;
  };
  for (const [type, bitsOf] of Object.entries(bits)) {
    const held = new Uint8Array(
      Uint16Array.from({ length: 3 * W * W }, (_, i) => bitsOf((batchUnit(3, i) - 0.5) / 8)).buffer,
    );
    const size = held.length / 3;
    const within = (name, i) =>
      tensorProto({ dims: [W, W], dataType: Number(type), name, rawData: held.subarray(i * size, (i + 1) * size) });
    const model = (initializer) =>
      modelProto({
        irVersion: 10,
        opsetImport: opsetId(17),
        graph: graphProto({
          node: [
            node('Cast', ['x'], 'x0', attribute('to', Number(type))),
            ...names.map((name, i) => node('MatMul', [`x${i}`, name], `x${i + 1}`)),
            node('Cast', ['x3'], 'y', attribute('to', 1)),
          ],
          name: 'model',
          initializer: names.map((name, i) => initializer(name, i)),
          input: info('x', 1, ['N', W]),
          output: info('y', 1, ['N', W]),
        }),
      });
    const apart = model((name, i) => outside(name, [W, W], i * size, size, Number(type)));
    const place = join(folder, `half-${type}`);
    writeFileSync(place, held);
    for (const options of [{}, { frozen: ['up'] }, { lora: { ...OPTIONS.lora, targets: ['up', 'down'] } }]) {
      const want = await lossesOf(model(within), options);
      assert.ok(want[2] < want[0], String(want));
      for (const source of [held, new Blob([held]), place])
        assert.deepEqual(await lossesOf(apart, { ...options, externalData: { [FILE]: source } }), want);
    }
    const quantized = { frozen: ['up'], quantizeFrozen: 'int8' };
    for (const [bytes, externalData] of [[model(within)], [apart, { [FILE]: place }]])
      await assert.rejects(
        lossesOf(bytes, { ...quantized, externalData }),
        is('invalid-argument', /no frozen float32 weight/),
      );
  }
});
