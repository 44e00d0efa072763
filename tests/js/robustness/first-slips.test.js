/** The common slips of a first hour: each is one sentence that says what came, and what to do. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { checkKeys } from '../../../js/base/errors.js';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';

const MODEL = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
const EXTERNAL = fileURLToPath(new URL('../../golden/data/external/one_file.onnx', import.meta.url));

/** @type {import('../../../js/types.js').Artifacts} */
let artifacts;
/** @type {TrainingSession} */
let session;
before(async () => {
  artifacts = await generateArtifacts(MODEL, { loss: 'cross-entropy' });
  session = await TrainingSession.create(artifacts);
});
after(() => session.release());

/** @param {any} model @param {any} [options] */
const make =
  (model, options = { loss: 'mse' }) =>
  () =>
    generateArtifacts(model, options);
/** @param {string} text whose characters are bytes */
const bytes = (text) => Buffer.from(text, 'latin1');

/** A file begins so, and the sentence says it is this. @type {[string, string][]} */
const FILES = [
  ['PK\x03\x04\x14\0archive/data.pkl', 'a ZIP archive, as of PyTorch (.pt) or Keras: export the model to ONNX there'],
  ['\x80\x02\x8a\nl\xfc\x9cF', 'a Python pickle, as of PyTorch (.pt): export the model to ONNX there'],
  ['\x80\x04\x95\0\0\0\0', 'a Python pickle: export the model to ONNX where it was made'],
  ['\x89HDF\r\n\x1a\n', 'HDF5, as of Keras (.h5): convert the model to ONNX'],
  ['\x1f\x8b\x08\0\0\0', 'compressed by gzip: decompress it'],
  ['version https://git-lfs.github.com/spec/v1\n', 'a pointer of Git LFS: git lfs pull brings the file'],
  ['\x93NUMPY\x01\0v\0', 'an array of NumPy'],
  ['\x89PNG\r\n\x1a\n', 'a picture (PNG)'],
  ['GGUF\x03\0\0\0', 'GGUF, which holds weights alone'],
  ['\x1c\0\0\0TFL3\x14\0', 'a TensorFlow Lite model: convert it to ONNX'],
  ['\x40\0\0\0\0\0\0\0{"a":{}}', 'safetensors, which holds weights alone: export the model to ONNX'],
  ['<!doctype html>', 'a web page or XML'],
  ['\n  <html>', 'a web page or XML'],
  ['{"format":"layers-model"}', 'JSON'],
];

for (const [file, what] of FILES) {
  test(`a file that is ${what.split(/[,:]/)[0]} is named`, async () => {
    const message = `the bytes are not an ONNX model but ${what}`;
    await assert.rejects(make(bytes(file)), { name: 'TrainletError', code: 'invalid-model', message });
  });
}

test('a checkpoint in the place of a model is named, of either format', async () => {
  const told = (/** @type {Uint8Array} */ checkpoint, /** @type {string} */ whose) =>
    assert.rejects(make(checkpoint), { message: `the bytes are not an ONNX model but a checkpoint of ${whose}` });
  await told(await session.saveCheckpoint(), 'Trainlet');
  await told(artifacts.checkpointState, 'ONNX Runtime');
});

const SOURCE = 'model could not be loaded: expected a URL, a path, bytes, a Blob or a Response, not';
const WANTED = 'TrainingSession.create: artifacts, as generateArtifacts makes them: wanted an object, not';
const create = (/** @type {any} */ given) => () => TrainingSession.create(given);
const tensor =
  (/** @type {any[]} */ ...args) =>
  async () =>
    Reflect.construct(Tensor, args);
/** @type {Record<string, [() => Promise<unknown>, string | RegExp]>} */
const SLIPS = {
  'a missing file': [
    make('none.onnx'),
    `model could not be loaded from none.onnx: there is no such file, ${path.resolve('none.onnx')}`,
  ],
  'a directory': [make(tmpdir()), `model could not be loaded from ${tmpdir()}: it is a directory, not a file`],
  'a page that is not there': [make(new Response('', { status: 404 })), 'model could not be loaded: HTTP 404'],
  nothing: [make(undefined), `${SOURCE} undefined`],
  'an array': [make([8, 8]), `${SOURCE} an array`],
  'a promise': [make(Promise.resolve(bytes('')), {}), `${SOURCE} a promise: await it`],
  'missing external data': [
    make(readFileSync(EXTERNAL)),
    "initializer 'fc1.weight' keeps its data in 'one_file.onnx.data': give the bytes of that file in externalData, " +
      "which has nothing; if it lies there: externalData: { 'one_file.onnx.data': 'one_file.onnx.data' }",
  ],
  'a loss for options': [make(MODEL, 'mse'), "generateArtifacts: options: wanted an object, not 'mse'"],
  'null for options': [make(MODEL, null), 'generateArtifacts: options: wanted an object, not null'],
  'null for a loss': [
    make(MODEL, { loss: null }),
    'generateArtifacts: loss, where it is no name: wanted an object, not null',
  ],
  'null for an optimizer': [
    make(MODEL, { loss: 'mse', optimizer: null }),
    'generateArtifacts: optimizer, where it is no name: wanted an object, not null',
  ],
  'a misspelt option': [
    make(MODEL, { optimiser: 'adam' }),
    /^generateArtifacts: there is no option 'optimiser'; it knows loss, losses, optimizer, /,
  ],
  'a model for artifacts': [create(bytes('')), `${WANTED} a Buffer`],
  'no artifacts': [create(undefined), `${WANTED} undefined`],
  'artifacts to come': [create(Promise.resolve({})), `${WANTED} a promise: await it`],
  'a session by new': [
    async () => Reflect.construct(TrainingSession, []),
    'a session is made by await TrainingSession.create(artifacts), not by new',
  ],
  'a training model for a model': [
    () => make(artifacts.trainModel)(),
    /^InPlaceAccumulatorV2 '.+': this is a training model already; artifacts are made of a model for inference$/,
  ],
  'a model for a checkpoint': [
    () => TrainingSession.create({ ...artifacts, checkpointState: MODEL }),
    "the bytes are no checkpoint, neither Trainlet's nor ONNX Runtime's",
  ],
  'floats for their bytes': [
    () => session.loadParametersBuffer(/** @type {any} */ (new Float32Array(1361))),
    'loadParametersBuffer: wanted a Uint8Array of 5444 bytes, not a Float32Array',
  ],
  'numbers for labels': [
    () => session.fit({ inputs: {}, labels: /** @type {any} */ ([0, 1]) }),
    "data set: labels is an array; 'labels' wants a tensor: tensor(indices of classes, 'int64')",
  ],
  'a tensor for inputs': [
    () => session.fit({ inputs: /** @type {any} */ (new Tensor('float32', [1])) }),
    "data set: inputs is a tensor without a name; wanted are tensors by name, of 'input', 'labels'",
  ],
  'numbers for a tensor': [
    () => session.predict({ input: /** @type {any} */ ([1, 2]) }),
    "input 'input' must be a tensor, not an array: new Tensor('float32', elements, dims)",
  ],
  'data for a tensor': [
    () => session.predict({ input: /** @type {any} */ (new Float32Array(20)) }),
    "input 'input' must be a tensor, not a Float32Array: new Tensor(elements, dims)",
  ],
  'a tensor without data': [tensor('float32'), 'the data of a tensor must be a typed array or an array, not undefined'],
  'a number for dims': [tensor('float32', [1], 1), 'the dims of a tensor must be an array of whole numbers, not 1'],
  'nested arrays': [
    tensor('float32', [[1], [2]]),
    'element 0 of the float32 tensor cannot be an array: the elements are given flat, and the dims after them',
  ],
  'data of another type': [
    tensor('int64', new Int32Array(1)),
    'the tensor is of type int64, so its data must be a BigInt64Array, not Int32Array',
  ],
};

for (const [slip, [call, message]] of Object.entries(SLIPS))
  test(`${slip} is one sentence`, () => assert.rejects(call, { name: 'TrainletError', message }));

test('an error has a node and a history where there are any, as it is printed', async () => {
  const error = await session.predict({}).catch((refused) => refused);
  assert.deepEqual(
    [error.code, 'node' in error, 'history' in error, /undefined/.test(inspect(error))],
    ['invalid-feed', false, false, false],
  );
});

test('a run that is refused for what it should fetch leaves its inputs to no other run', async () => {
  const feeds = { input: new Tensor('float32', new Float32Array(20), [1, 20]) };
  const message = "the model has no value 'probs' to fetch";
  await assert.rejects(session.predict(feeds, ['probs']), { code: 'invalid-feed', message });
  await assert.rejects(session.predict({}), { code: 'invalid-feed', message: /input 'input' .* is missing/ });
});

test('a long name that is nothing like the known ones is refused at once', async () => {
  const name = 'a name of many letters that no option of any call is even near, whatever one changes in it';
  const known = Array.from({ length: 40 }, (_, i) => `${name.replace(/[aeiou]/g, 'x')}${i}`);
  const begun = performance.now();
  await assert.rejects(session.setParameter(name, new Tensor('float32', [1])), { code: 'invalid-argument' });
  assert.throws(() => checkKeys('a call', { [name]: 1 }, known), { code: 'invalid-argument' });
  assert.ok(performance.now() - begun < 1000, `${performance.now() - begun} ms`);
});
