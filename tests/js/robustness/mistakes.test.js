/**
 * The mistakes of a first hour: each ends within 3 s in an error of its code, whose sentence names what matters.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import {
  CheckpointStore,
  FeatureStore,
  fineTune,
  generateArtifacts,
  InferenceSession,
  readTable,
  SampleStore,
  Tensor,
  TrainingSession,
} from '../../../js/index.js';
import { conv2d, dense, flatten, input, sequential } from '../../../js/layers/index.js';
import { golden } from '../../support/clusters.js';

const MOST_MS = 3000;
const EXTERNAL = new URL('../../golden/data/external/one_file.onnx', import.meta.url);

const numbers = (/** @type {number[]} */ ...dims) =>
  new Tensor(
    'float32',
    Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(i)),
    dims,
  );
const bytes = (/** @type {string} */ text) => Buffer.from(text, 'latin1');
const mlp = golden('mlp_small.onnx');
const x = numbers(8, 20);
const y = new Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]);
const data = { inputs: x, labels: y };
const named = Array.from({ length: 8 }, (_, i) => (i % 2 ? 'cat' : 'dog'));

/** Sessions of five classes, of pictures of 3 × 8 × 8 and of a number, one that is released; a store. */
const s = /** @type {Record<string, any>} */ ({});
let pictures, directory;
const open = async (/** @type {any} */ model, /** @type {any} */ options) =>
  await TrainingSession.create(await generateArtifacts(model, options));

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'trainlet-mistakes-'));
  const layers = [input([3, 8, 8], { name: 'picture' }), conv2d(4, 3), flatten(), dense(3)];
  pictures = await generateArtifacts(await sequential(layers), { loss: 'cross-entropy' });
  const line = await sequential([input([4], { name: 'x' }), dense(1)]);
  s.classes = await open(mlp, { loss: 'cross-entropy' });
  s.pictures = await TrainingSession.create(pictures);
  s.number = await open(line, { loss: 'mse', optimizer: { type: 'sgd', lr: 1e30 } });
  s.released = await open(mlp, { loss: 'cross-entropy' });
  await s.released.release();
});
after(async () => {
  for (const session of [s.classes, s.pictures, s.number]) await session.release();
  await rm(directory, { recursive: true });
});

const fit = (/** @type {any} */ given, /** @type {any} */ options) => () => s.classes.fit(given, options);
const make = (/** @type {any} */ model, /** @type {any} */ options) => () => generateArtifacts(model, options);
const see =
  (/** @type {number[]} */ ...dims) =>
  () =>
    s.pictures.predict({ picture: numbers(...dims) });
const tune =
  (/** @type {any} */ given, options = {}, model = mlp) =>
  () =>
    fineTune(model, given, options);
const withNaN = () => {
  const odd = numbers(8, 20);
  odd.data[3 * 20 + 2] = Number.NaN;
  return odd;
};

const [FEED, ARGUMENT, MODEL, SOURCE] = ['invalid-feed', 'invalid-argument', 'invalid-model', 'source-unreadable'];
/** Each mistake: the call, its code, and what the sentence says. @type {[string, () => any, string, RegExp][]} */
const MISTAKES = [
  // data
  ['too few features', fit({ inputs: numbers(8, 19), labels: y }), FEED, /'input' wants shape \(\?, 20\), \(8, 19\)/],
  ['more inputs than labels', fit({ inputs: numbers(9, 20), labels: y }), FEED, /'labels' has 8 examples, .* has 9/],
  ['labels from 1 on', fit({ inputs: x, labels: new Tensor('int64', [1, 2, 3, 4, 5, 1, 2, 3]) }), FEED, /5 in row 4/],
  [
    'labels that are texts',
    fit({ inputs: x, labels: new Tensor(named) }),
    FEED,
    /index of each label .*indexOf\(label\)/,
  ],
  ['labels between classes', fit({ inputs: x, labels: numbers(8) }), FEED, /element 1 is 0\.84.* no class/],
  ['scores for labels', fit({ inputs: x, labels: numbers(8, 5) }), FEED, /not one-hot in row 0: give the index/],
  ['no labels', fit({ inputs: { input: x } }), FEED, /'labels' .* is missing/],
  ['no examples', fit({ inputs: numbers(0, 20), labels: new Tensor('int64', []) }), FEED, /it has no examples/],
  ['x and y in the manner of Keras', () => s.classes.fit(x, y), ARGUMENT, /fit\(\{ inputs: x, labels: y \}, \{\}\)/],
  ['an object of x and y', fit({ x, y }), FEED, /wanted \{ inputs, labels \}, .* not \{ x, y \}/],
  ['another name of an input', fit({ inputs: { x }, labels: y }), FEED, /no input 'x'; wanted are 'input' \(float32/],
  ['data that are not awaited', fit(Promise.resolve(data)), FEED, /a promise: await it/],
  ['RGBA for RGB', see(2, 4, 8, 8), FEED, /'picture' wants shape \(\?, 3, 8, 8\), \(2, 4, 8, 8\) came/],
  ['channels last', see(2, 8, 8, 3), FEED, /\(2, 8, 8, 3\) came: the channels are last; .*Tensor\.fromImage/],
  ['a picture without a batch', see(3, 8, 8), FEED, /\(3, 8, 8\) came: the batch is missing; .* is \(1, 3, 8, 8\)/],
  ['pictures of another size', see(2, 3, 10, 10), FEED, /wants shape \(\?, 3, 8, 8\), \(2, 3, 10, 10\) came/],
  ['bytes for floats', () => s.pictures.predict(new Tensor('uint8', [0])), FEED, /'picture' wants float32, uint8 came/],
  ['nested arrays', () => new Tensor('float32', /** @type {any} */ ([[1], [2]])), FEED, /elements are given flat/],
  ['dims that do not fit', () => new Tensor('float32', [1, 2], [3]), FEED, /dims \[3\] make 3 .* data has 2/],
  // training
  ['NaN among the inputs', fit({ inputs: withNaN(), labels: y }), 'non-finite-loss', /'input' has NaN in row 3$/],
  [
    'a learning rate that is too high',
    () => s.number.fit({ inputs: numbers(8, 4), labels: numbers(8, 1) }, { epochs: 5 }),
    'non-finite-loss',
    /data are finite: lower the learning rate, 1e\+30/,
  ],
  ['batchSize 0', fit(data, { batchSize: 0 }), ARGUMENT, /batchSize must be .* at least 1, not 0/],
  ['epochs as a text', fit(data, { epochs: '3' }), ARGUMENT, /epochs must be a whole number of at least 1, not '3'/],
  ['batch_size', fit(data, { batch_size: 8 }), ARGUMENT, /no option 'batch_size'.*\(is it batchSize\?\)$/],
  ['validation_data', fit(data, { validation_data: data }), ARGUMENT, /\(is it validation\?\)$/],
  ['lr in fit', fit(data, { lr: 0.1 }), ARGUMENT, /lr is of the optimizer: generateArtifacts\(/],
  ['a metric that is none', fit(data, { metrics: ['acc'] }), ARGUMENT, /no metric 'acc'; there are loss, accuracy/],
  ['a call after release', () => s.released.predict(x), 'released', /the session was released/],
  // making artifacts and sessions
  ['a loss of Keras', make(mlp, { loss: 'sparse_categorical_crossentropy' }), ARGUMENT, /\(is it cross-entropy\?\)$/],
  ['a loss of PyTorch', make(mlp, { loss: 'BCEWithLogitsLoss' }), ARGUMENT, /\(is it bce-with-logits\?\)$/],
  ['no loss', make(mlp, {}), ARGUMENT, /a loss is needed: cross-entropy, mse/],
  [
    'a misspelt optimizer',
    make(mlp, { loss: 'mse', optimizer: 'addam' }),
    ARGUMENT,
    /'addam' is not .*\(is it adam\?\)$/,
  ],
  [
    'a learning rate in words',
    make(mlp, { loss: 'mse', optimizer: { type: 'sgd', lr: 'fast' } }),
    ARGUMENT,
    /optimizer\.lr: 'fast' is not a number/,
  ],
  [
    'learningRate',
    make(mlp, { loss: 'mse', optimizer: { type: 'sgd', learningRate: 1 } }),
    ARGUMENT,
    /no option 'optimizer\.learningRate'.*\(is it lr\?\)$/,
  ],
  ['optimiser', make(mlp, { loss: 'mse', optimiser: 'adam' }), ARGUMENT, /\(is it optimizer\?\)$/],
  ['a path that is misspelt', make('mdoel.onnx', { loss: 'mse' }), SOURCE, /from mdoel\.onnx: there is no such file/],
  ['status 404', make(new Response('', { status: 404 }), { loss: 'mse' }), SOURCE, /HTTP 404/],
  ['a page for a model', make(bytes('<!doctype html>'), { loss: 'mse' }), MODEL, /not an ONNX model but a web page/],
  [
    '.pt for a model',
    make(bytes('PK\x03\x04\x14\0archive/data.pkl'), { loss: 'mse' }),
    MODEL,
    /PyTorch \(\.pt\).*export/,
  ],
  ['.h5 for a model', make(bytes('\x89HDF\r\n\x1a\n'), { loss: 'mse' }), MODEL, /Keras \(\.h5\): convert the model/],
  ['safetensors for a model', make(bytes('\x40\0\0\0\0\0\0\0{"a":{}}'), { loss: 'mse' }), MODEL, /safetensors, which/],
  [
    'a model without its data',
    make(readFileSync(EXTERNAL), { loss: 'mse' }),
    MODEL,
    /bytes of that file in externalData/,
  ],
  [
    'the same for fineTune',
    tune({ inputs: numbers(8, 4), labels: named }, {}, readFileSync(EXTERNAL)),
    MODEL,
    /externalData.* within the option engine of fineTune$/,
  ],
  [
    'externalData of fineTune',
    tune({ inputs: x, labels: named }, { externalData: {} }),
    ARGUMENT,
    /engine: \{ externalData/,
  ],
  [
    'artifacts not awaited',
    () => TrainingSession.create(/** @type {any} */ (make(mlp, { loss: 'mse' })())),
    ARGUMENT,
    /await it/,
  ],
  [
    'a model for artifacts',
    () => TrainingSession.create(/** @type {any} */ (mlp)),
    ARGUMENT,
    /as generateArtifacts makes/,
  ],
  [
    'a network that is not awaited',
    () => make(sequential([input([4]), dense(1)]), { loss: 'mse' })(),
    SOURCE,
    /a promise: await it/,
  ],
  [
    'a checkpoint of another model',
    async () => TrainingSession.create({ ...pictures, checkpointState: await s.classes.saveCheckpoint() }),
    'checkpoint-mismatch',
    /^the checkpoint is of another model: it has no /,
  ],
  [
    'new TrainingSession()',
    () => new TrainingSession(),
    ARGUMENT,
    /await TrainingSession\.create\(artifacts\), not by new/,
  ],
  [
    'new InferenceSession()',
    () => new InferenceSession(),
    ARGUMENT,
    /await InferenceSession\.create\(model\), not by new/,
  ],
  ...[CheckpointStore, SampleStore, FeatureStore].map((Store) => {
    const hint = new RegExp(`await ${Store.name}\\.open\\(\\), not by new`);
    return /** @type {any} */ ([`new ${Store.name}()`, () => Reflect.construct(Store, []), ARGUMENT, hint]);
  }),
  ['a session that was not saved', () => TrainingSession.load('mine', { store: s.store }), SOURCE, /no session 'mine'/],
  ['a parameter that is misspelt', () => s.classes.getParameter('fc1.wieght'), ARGUMENT, /\(is it fc1\.weight\?\)$/],
  // layers, tables, few examples
  [
    'units as a text',
    () => sequential([input([4]), dense(/** @type {any} */ ('10'))]),
    ARGUMENT,
    /units must be a whole/,
  ],
  ['layers without an input', () => sequential([dense(10)]), ARGUMENT, /the first of its layers must be an input/],
  ['pictures as Keras has them', () => sequential([input([28, 28, 1]), conv2d(8, 3)]), ARGUMENT, /channels come first/],
  [
    'a target that is no column',
    () => readTable('a,price\n1,2\n', { target: 'prize' }),
    ARGUMENT,
    /'prize'.* are a, price/,
  ],
  [
    'a page for a table',
    () => readTable(new Response('<!DOCTYPE html>\n<html>')),
    SOURCE,
    /is a web page, not a table/,
  ],
  ['an empty table', () => readTable(''), SOURCE, /the table has no example/],
  ['one class', tune({ inputs: x, labels: Array(8).fill('cat') }), ARGUMENT, /two classes at least, there is cat/],
  [
    'a label that is no class',
    tune({ inputs: x, labels: named }, { classes: ['cat', 'cow'] }),
    ARGUMENT,
    /"dog" in row 0/,
  ],
  ['too few labels', tune({ inputs: x, labels: ['cat', 'dog'] }), ARGUMENT, /has 8 rows, and there are 2 labels/],
];

for (const [mistake, call, code, sentence] of MISTAKES)
  test(`${mistake} is told in a sentence`, async () => {
    s.store ??= await CheckpointStore.open({ directory });
    const from = performance.now();
    const error = await (async () => await call())().catch((refused) => refused);
    const ms = performance.now() - from;
    assert.equal(error?.name, 'TrainletError', `silent, or an error of another kind: ${error}`);
    assert.match(error.message, sentence);
    assert.equal(error.code, code);
    assert.ok(ms < MOST_MS, `${ms} ms`);
  });
