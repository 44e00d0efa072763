/** The modules of the page of a model of one's own: kinds of files, contents of ONNX files, recipes, sentences. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { onnxFile } from '../../support/onnx-file.js';
import '../../support/site-layout.js';

const PAGE = '../../../web-demo/try/';
const { kindOf } = await import(`${PAGE}kinds.js`);
const { readOnnx } = await import(`${PAGE}onnx-file.js`);
const { propose, artifactOptions } = await import(`${PAGE}recipe.js`);
const { reasonsOf } = await import(`${PAGE}show-model.js`);
const { adviceFor, modelOf, openModel, Refusal, trainingInputsOf, tryRecipe } = await import(`${PAGE}model.js`);
const { shapesOf } = await import(`${PAGE}random.js`);
const words = await import(`${PAGE}words.js`);

const golden = (/** @type {string} */ name) => readFileSync(new URL(`../../golden/data/${name}`, import.meta.url));
const head = (/** @type {string} */ text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const file = (/** @type {string} */ name, /** @type {Uint8Array<any>} */ bytes) => new File([bytes], name);

/** x · w, then `middle`, then · v. @param {string} middle */
function chain(middle) {
  const matrix = (/** @type {number[]} */ dims) => ({
    type: 'float32',
    dims,
    data: Float32Array.from({ length: dims[0] * dims[1] }, (_, i) => Math.sin(i)),
  });
  const matmul = (/** @type {string[]} */ inputs, /** @type {string} */ output) => ({
    ...{ op: 'MatMul', inputs, outputs: [output], attributes: {} },
  });
  return onnxFile({
    name: 'chain',
    nodes: [
      matmul(['x', 'w'], 'a'),
      { op: middle, inputs: ['a'], outputs: ['b'], attributes: {} },
      matmul(['b', 'v'], 'y'),
    ],
    weights: new Map([
      ['w', matrix([4, 4])],
      ['v', matrix([4, 3])],
    ]),
    inputs: [{ name: 'x', type: 'float32', dims: ['N', 4] }],
    outputs: [{ name: 'y', type: 'float32', dims: ['N', 3] }],
  });
}

test('files are told by their first bytes, then by their names, and foreign ones get a way to ONNX', () => {
  const kinds = /** @type {[string, string, string][]} */ ([
    ['a.onnx', '\x08\x07', 'model'],
    ['a.onnx.data', 'abc', 'weights'],
    ['a.safetensors', '\0'.repeat(8), 'weights'],
    ['a.csv', 'a,b\n', 'table'],
    ['a.txt', 'a;b\n', 'table'],
    ['a.npy', '\x93NUMPY\x01', 'arrays'],
    ['a.npz', 'PK\x03\x04', 'arrays'],
    ['a.jpg', '\xff\xd8\xff\xe0', 'picture'],
    ['a.onnx', '\x89HDF', 'foreign'],
    ['a.onnx', 'PK\x03\x04', 'foreign'],
    ['a.onnx', '<!DOCTYPE html>', 'foreign'],
    ['a.pdf', '%PDF', 'foreign'],
  ]);
  for (const [name, begin, kind] of kinds) assert.equal(kindOf(name, head(begin)).kind, kind, `${name} ${begin}`);
  for (const [name, begin, wanted] of /** @type {[string, string, RegExp][]} */ ([
    ['a.pt', 'PK\x03\x04', /PyTorch.*torch\.onnx\.export/],
    ['a.keras', 'PK\x03\x04', /Keras.*model\.export/],
    ['a.h5', '\x89HDF', /Keras/],
    ['a.tflite', '....TFL3', /tf2onnx/],
    ['a.zip', 'PK\x03\x04', /Unpack/],
    ['a.pkl', '\x80\x04', /skl2onnx/],
    ['a.onnx', 'version https://git-lfs', /git lfs pull/],
  ]))
    assert.match(String(kindOf(name, head(begin)).words), wanted);
});

test('an ONNX file tells inputs, outputs, operators, opset, exporter, its other files, and its last activation', () => {
  const { inputs, outputs, operators, opset, exporter } = readOnnx(golden('external/one_file.onnx'));
  assert.deepEqual(inputs, [{ name: 'input', type: 'float32', dims: ['N', 20] }]);
  assert.deepEqual(outputs, [{ name: 'logits', type: 'float32', dims: ['N', 5] }]);
  assert.deepEqual(operators.slice(0, 1), [['Gemm', 3]]);
  assert.equal(opset, 17);
  assert.match(exporter, /^pytorch /);
  assert.deepEqual(readOnnx(golden('external/one_file.onnx')).locations, ['one_file.onnx.data']);
  assert.equal(readOnnx(chain('Relu')).lastActivation, '');
  assert.deepEqual(readOnnx(golden('ml/forest.onnx')).outputs[1].type, 'sequence');
  assert.throws(() => readOnnx(head('\x08\x07')), RangeError);
});

test('parameters that train, and those that do not, are told with their reasons', async () => {
  const model = await modelOf('chain.onnx', chain('Relu'));
  assert.match(reasonsOf(model)[0], /^2 of 2 parameters would train, 28 numbers: 2 weights/);
  const frozen = { ...model.parameters[0], trainable: false, reason: 'it is a mask', name: 'm' };
  const told = reasonsOf({ ...model, parameters: [frozen, model.parameters[1]] });
  assert.equal(told[1], "1 stays as it is, 'm': it is a mask.");
  assert.match(reasonsOf(await modelOf('forest.onnx', golden('ml/forest.onnx')))[0], /^Nothing: it is a forest/);
});

test('a file that lacks its other files waits for them, and with them it opens', async () => {
  const one = file('one_file.onnx', golden('external/one_file.onnx'));
  const refused = await openModel(one, []).catch((error) => error);
  assert.ok(refused instanceof Refusal);
  assert.match(refused.message, /^'one_file\.onnx' keeps its weights in 'one_file\.onnx\.data'/);
  assert.equal(refused.waits, one);
  const model = await openModel(one, [file('one_file.onnx.data', golden('external/one_file.onnx.data'))]);
  assert.equal(model.parameters.length, 6);
});

test('a file that is empty, cut off or too large, and an operator that is not known, get a sentence each', async () => {
  const refusalOf = (/** @type {File} */ one) => openModel(one, []).catch((error) => error.message);
  assert.equal(await refusalOf(file('a.onnx', new Uint8Array())), "'a.onnx' is empty.");
  assert.match(await refusalOf(file('a.onnx', golden('w1.onnx').subarray(0, 3000))), /^'a\.onnx' cannot be read: /);
  const huge = /** @type {File} */ ({ name: 'a.onnx', size: 3e9 });
  assert.match(await refusalOf(huge), /^'a\.onnx' has 3\.0 GB, more than a tab can hold/);
  const { trouble } = await openModel(file('a.onnx', chain('Mystery')), []);
  assert.match(String(trouble), /^The model uses an operator we lack: Mystery\. Export the network with another opset/);
  assert.match(adviceFor({ code: 'worker-died', message: 'the worker died' }), /kept: train again\.$/);
});

test('the recipe follows the labels, or the last activation where there are none', () => {
  const outputs = (/** @type {number} */ width) => [{ name: 'y', type: 'float32', dims: ['N', width] }];
  const lossOf = (/** @type {any} */ onnx, /** @type {any} */ labels) => propose(onnx, 1000, labels).recipe;
  const classes = ['a', 'b', 'c'];
  assert.equal(lossOf({ outputs: outputs(3), lastActivation: 'Softmax' }).loss, 'cross-entropy');
  assert.equal(lossOf({ outputs: outputs(3), lastActivation: 'Sigmoid' }).loss, 'bce-with-logits');
  assert.equal(lossOf({ outputs: outputs(1), lastActivation: '' }).loss, 'mse');
  const numbers = { task: 'numbers', count: 100 };
  assert.equal(lossOf({ outputs: outputs(1), lastActivation: '' }, numbers).loss, 'mse');
  const pets = { task: 'classes', classes, count: 100 };
  assert.equal(lossOf({ outputs: outputs(3), lastActivation: '' }, pets).trains, 'all');
  assert.equal(lossOf({ outputs: outputs(9), lastActivation: '' }, pets).trains, 'head');
  assert.equal(propose({ outputs: outputs(3), lastActivation: '' }, 1e6, pets).recipe.trains, 'head');
  const two = { ...pets, classes: ['a', 'b'] };
  assert.equal(lossOf({ outputs: outputs(1), lastActivation: '' }, two).loss, 'bce-with-logits');
  const recipe = propose({ outputs: outputs(9), lastActivation: '' }, 1000, pets).recipe;
  assert.deepEqual(artifactOptions(recipe, classes).head, { classes });
});

test('a model that has no gradient on the way trains with a new last layer', async () => {
  const model = await modelOf('chain.onnx', chain('EyeLike'));
  const { recipe } = propose(model.onnx, 28);
  await assert.rejects(tryRecipe(model, recipe, ['0', '1']), { code: 'unsupported-op' });
  assert.equal((await tryRecipe(model, { ...recipe, trains: 'head' }, ['0', '1'])).trains, 10);
  assert.equal((await trainingInputsOf(model)).at(-1).labels.classes, 2);
});

test('a recipe is tried on random numbers of the shapes that the model takes', async () => {
  const model = await modelOf('chain.onnx', chain('Relu'));
  const { recipe } = propose(model.onnx, 28);
  const tried = await tryRecipe(model, recipe, ['0', '1']);
  assert.equal(tried.trains, 28);
  assert.ok(tried.peakBytes > 28 * 4 && tried.peakBytes < 1e6, `${tried.peakBytes}`);
  assert.ok(Number(tried.stepMs) > 0 && Number(tried.stepMs) < 1000, `${tried.stepMs}`);
  const inputs = [
    { name: 'image', dims: ['N', 3, 'H', 'W'] },
    { name: 'labels', dims: ['N'] },
  ];
  assert.deepEqual(shapesOf(inputs, 8), { image: [8, 3, 64, 64], labels: [8] });
});

test('numbers are said in words', () => {
  assert.equal(words.sizeText(490_931), '491 KB');
  assert.equal(words.sizeText(1_500_000), '1.5 MB');
  assert.equal(words.namesText(['a', 'b', 'c']), "'a', 'b' and 'c'");
  assert.equal(words.namesText(['a', 'b', 'c', 'd', 'e']), "'a', 'b', 'c', 'd' and 1 more");
  assert.equal(words.sentenceOf(new Error('the file is cut off')), 'The file is cut off.');
  assert.equal(words.sentenceOf(new Error("x.csv: column 'a' is empty")), "x.csv: column 'a' is empty.");
});
