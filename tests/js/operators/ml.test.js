/**
 * ai.onnx.ml: models of scikit-learn, LightGBM and XGBoost as their exporters write them, strings and maps at the door,
 * attributes that make no sense, and last layers that train. onnxruntime-web answers beside, where it can.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession, TrainletError } from '../../../js/index.js';
import {
  attribute,
  attributeProto,
  graphProto,
  info,
  mapTypeProto,
  message,
  modelProto,
  node,
  opsetId,
  tensorTypeProto,
  typeProto,
  valueInfoProto,
} from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { checkModel, outputsOf } from '../../support/ml-models.js';
import { ALONE } from '../../support/engines.js';
import { loadNewestOrt } from '../../support/ort.js';

const GOLDEN = new URL('../../golden/data/', import.meta.url);
const CASES = JSON.parse(readFileSync(new URL('ml.json', GOLDEN), 'utf8'));
const [FLOAT, INT64, STRING] = [1, 7, 8];
const modelOf = (/** @type {string} */ name) => new Uint8Array(readFileSync(new URL(`ml/${name}.onnx`, GOLDEN)));

const ort = loadNewestOrt();

const floats = (/** @type {string} */ name, /** @type {number[]} */ list) =>
  attributeProto({ name, floats: new Uint8Array(Float32Array.from(list).buffer), type: 6 });
const words = (/** @type {string} */ name, /** @type {string[]} */ list) =>
  attributeProto({ name, strings: list, type: 8 });

/** @param {string} op @param {string[]} outputs @param {Uint8Array[]} attributes */
const own = (op, outputs, attributes, input = 'x') =>
  new Uint8Array([
    ...node(op, [input], outputs),
    ...message(...attributes.map((one) => /** @type {[number, Uint8Array]} */ ([5, one])), [7, 'ai.onnx.ml']),
  ]);

/** @param {Uint8Array[]} nodes @param {Uint8Array[]} inputs @param {Uint8Array[]} outputs */
const model = (nodes, inputs, outputs, version = 3) =>
  modelProto({
    graph: graphProto({ node: nodes, name: 'ml', input: inputs, output: outputs }),
    opsetImport: [opsetId(17), opsetId(version, 'ai.onnx.ml')],
  });

/** @param {string} code @param {RegExp} words */
const is = (code, words) => (/** @type {unknown} */ error) => {
  assert.ok(error instanceof TrainletError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, words);
  assert.doesNotMatch(error.message, /\n|undefined|\[object/);
  return true;
};

test('exported models answer as their framework and ONNX Runtime do', async (t) => {
  for (const name of Object.keys(CASES))
    await t.test(name, () => checkModel(new URL(`ml/${name}.onnx`, GOLDEN), CASES[name]));
});

// ---- strings and maps ----

test('ZipMap gives a map of the labels for each example, and the session says so', async () => {
  const session = await InferenceSession.create(modelOf('logistic_names'), ALONE);
  const [label, scores] = session.outputs;
  assert.deepEqual([label.type, label.dims.length, label.map], ['string', 1, undefined]);
  assert.deepEqual([scores.type, scores.sequence, scores.map], ['float32', true, 'string']);
  const x = new Tensor('float32', CASES.logistic_names.inputs.x.data.slice(0, 8), [2, 4]);
  const outputs = await session.run({ x });
  const maps = outputs[scores.name];
  assert.deepEqual([...maps[0].keys()], ['setosa', 'versicolor', 'virginica']);
  maps.forEach((map, i) => {
    const best = [...map.entries()].sort(([, a], [, b]) => b - a)[0][0];
    assert.equal(outputs[label.name].data[i], best);
    assert.ok(Math.abs([...map.values()].reduce((a, b) => a + b) - 1) < 1e-5);
  });
  const alone = await session.run({ x }, [label.name]);
  assert.deepEqual(Object.keys(alone), [label.name]);
  await session.release();
});

test('labels that are numbers are bigints in maps', async () => {
  const outputs = await outputsOf(modelOf('imputed'), CASES.imputed);
  assert.deepEqual([...Object.values(outputs)[1][0].keys()], [0n, 1n, 2n]);
});

test('a map is fed as a Map, and what is none is refused', async () => {
  const session = await InferenceSession.create(modelOf('dictionary'), ALONE);
  const [input] = session.inputs;
  assert.deepEqual([input.name, input.type, input.map, input.sequence], ['x', 'float32', 'string', undefined]);
  const full = await session.run({
    x: new Map([
      ['age', 1],
      ['height', 2],
      ['weight', 3],
    ]),
  });
  const turned = await session.run({
    x: new Map([
      ['weight', 3],
      ['unheard of', 9],
      ['height', 2],
      ['age', 1],
    ]),
  });
  assert.deepEqual(turned, full);
  const refused = /** @type {[any, RegExp][]} */ ([
    [{ age: 1 }, /input 'x' is a map: it must be a Map, not/],
    [new Tensor('float32', [1]), /input 'x' is a map: it must be a Map, not/],
    [new Map([[1, 2]]), /the keys of the map must each be a string \(string\), one is a number/],
    [new Map([['age', '2']]), /the values of the map must each be a number \(float32\), one is a string/],
  ]);
  for (const [x, words] of refused) await assert.rejects(session.run({ x }), is('invalid-feed', words));
  await assert.rejects(session.run({}), is('invalid-feed', /input 'x' \(a map of float32\) is missing/));
  await session.release();
});

test('CastMap and DictVectorizer of maps from numbers', async () => {
  const map = (/** @type {number} */ value) =>
    valueInfoProto({
      name: 'x',
      type: typeProto({
        mapType: mapTypeProto({
          keyType: INT64,
          valueType: typeProto({ tensorType: tensorTypeProto({ elemType: value }) }),
        }),
      }),
    });
  const run = async (/** @type {Uint8Array} */ one, /** @type {number} */ type, /** @type {any} */ x) => {
    const bytes = model([one], [map(type)], [info('y', FLOAT, [1, 'n'])], 1);
    const session = await InferenceSession.create(bytes, ALONE);
    const { y } = await session.run({ x });
    await session.release();
    return [y.type, [...y.data], y.dims];
  };
  const some = new Map([
    [5n, 1.5],
    [1n, -2],
    [3n, 4],
  ]);
  const text = new Map([
    [2n, '1.5'],
    [0n, '-3'],
  ]);
  assert.deepEqual(await run(own('CastMap', ['y'], []), FLOAT, some), ['float32', [-2, 4, 1.5], [1, 3]]);
  const sparse = [attribute('map_form', 'SPARSE'), attribute('max_map', 5), attribute('cast_to', 'TO_INT64')];
  assert.deepEqual(await run(own('CastMap', ['y'], sparse), FLOAT, some), ['int64', [0n, -2n, 0n, 4n, 0n], [1, 5]]);
  assert.deepEqual(await run(own('CastMap', ['y'], []), STRING, text), ['float32', [-3, 1.5], [1, 2]]);
  const asText = [attribute('cast_to', 'TO_STRING')];
  assert.deepEqual(await run(own('CastMap', ['y'], asText), STRING, text), ['string', ['-3', '1.5'], [1, 2]]);
  const vocabulary = [attribute('int64_vocabulary', [3, 4, 5])];
  assert.deepEqual(await run(own('DictVectorizer', ['y'], vocabulary), FLOAT, some), ['float32', [4, 0, 1.5], [1, 3]]);
});

test('words are encoded, mapped and counted as in onnxruntime-web', async () => {
  const colours = ['red', 'green', 'blue', 'grey', ''];
  const pairs = [
    words('keys_strings', ['red', 'blue']),
    attribute('values_int64s', [3, 5]),
    attribute('default_int64', -7),
  ];
  const back = [attribute('keys_int64s', [3, 5]), words('values_strings', ['red', 'blue'])];
  const halves = [floats('keys_floats', [0.5, Number.NaN]), words('values_strings', ['half', 'none'])];
  const cats = [words('cats_strings', ['red', 'blue', 'green'])];
  const both = [...cats, attribute('cats_int64s', [7, 8, 9])];
  const cases = /** @type {[string, Uint8Array[], number, any[], number, number, number[]?][]} */ ([
    ['LabelEncoder', pairs, STRING, colours, INT64, 2],
    ['LabelEncoder', back, INT64, [5n, 3n, 4n], STRING, 2],
    ['LabelEncoder', halves, FLOAT, [0.5, Number.NaN, 1], STRING, 4],
    ['LabelEncoder', [words('classes_strings', ['red', 'blue'])], STRING, colours, INT64, 1],
    ['LabelEncoder', [words('classes_strings', ['red', 'blue'])], INT64, [1n, 0n, 2n], STRING, 1],
    ['CategoryMapper', both, STRING, colours, INT64, 1],
    ['CategoryMapper', both, INT64, [9n, 1n, 7n], STRING, 1],
    ['OneHotEncoder', cats, STRING, colours, FLOAT, 1],
    ['OneHotEncoder', [attribute('cats_int64s', [2, 0])], FLOAT, [0.5, 2, 3], FLOAT, 1],
  ]);
  for (const [op, attributes, from, data, to, version] of cases) {
    const rank = op === 'OneHotEncoder' ? ['N', 'C'] : ['N'];
    const bytes = model([own(op, ['y'], attributes)], [info('x', from, ['N'])], [info('y', to, rank)], version);
    const type = from === STRING ? 'string' : from === INT64 ? 'int64' : 'float32';
    const session = await InferenceSession.create(bytes, ALONE);
    const { y } = await session.run({ x: new Tensor(/** @type {any} */ (type), data, [data.length]) });
    const theirs = await ort.InferenceSession.create(bytes);
    const typed = type === 'string' ? data : type === 'int64' ? BigInt64Array.from(data) : Float32Array.from(data);
    const wanted = (await theirs.run({ x: new ort.Tensor(type, typed, [data.length]) })).y;
    assert.deepEqual([[...y.data], [...y.dims]], [[...wanted.data], [...wanted.dims]], op);
    await session.release();
  }
});

// ---- trees ----

/**
 * Trees of depth 3, of which node k leads to 2k + 1 and 2k + 2.
 * @param {string} what @param {Record<string, any>} change
 */
function trees(what, change = {}) {
  const [TREES, SIZE, INNER] = [3, 15, 7];
  const modes = ['BRANCH_LEQ', 'BRANCH_LT', 'BRANCH_GTE', 'BRANCH_GT', 'BRANCH_EQ', 'BRANCH_NEQ'];
  const all = Array.from({ length: TREES * SIZE }, (_, i) => ({ tree: Math.floor(i / SIZE), id: i % SIZE, i }));
  const leaves = all.filter(({ id }) => id >= INNER);
  const child = (/** @type {number} */ id, /** @type {number} */ which) => (id < INNER ? 2 * id + which : 0);
  const values = {
    nodes_treeids: all.map(({ tree }) => tree),
    nodes_nodeids: all.map(({ id }) => id),
    nodes_featureids: all.map(({ i }) => i % 3),
    nodes_modes: all.map(({ id, i }) => (id < INNER ? modes[i % 6] : 'LEAF')),
    nodes_values: all.map(({ i }) => Math.round(batchUnit(5, i) * 8) / 4 - 1),
    nodes_truenodeids: all.map(({ id }) => child(id, 1)),
    nodes_falsenodeids: all.map(({ id }) => child(id, 2)),
    nodes_missing_value_tracks_true: all.map(({ i }) => (i >> 1) & 1),
    [`${what}_treeids`]: leaves.map(({ tree }) => tree),
    [`${what}_nodeids`]: leaves.map(({ id }) => id),
    [`${what}_ids`]: leaves.map(({ i }) => i % 3),
    [`${what}_weights`]: leaves.map(({ i }) => batchUnit(6, i) - 0.5),
    ...change,
  };
  return Object.entries(values).map(([name, list]) =>
    !Array.isArray(list)
      ? attribute(name, list)
      : typeof list[0] === 'string'
        ? words(name, list)
        : /values$|weights$/.test(name)
          ? floats(name, list)
          : attribute(name, list),
  );
}
const rows = Array.from({ length: 37 * 3 }, (_, i) => (i % 11 ? Math.round(batchUnit(7, i) * 8) / 4 - 1 : Number.NaN));
const regressor = (/** @type {Record<string, any>} */ change = {}) =>
  model(
    [own('TreeEnsembleRegressor', ['y'], trees('target', { n_targets: 3, ...change }))],
    [info('x', FLOAT, ['N', 3])],
    [info('y', FLOAT, ['N', 3])],
  );

test('every question of a node, missing values and aggregate is as in onnxruntime-web', async () => {
  const feed = { data: Float32Array.from(rows), dims: [37, 3] };
  const classes = { post_transform: 'SOFTMAX', classlabels_int64s: [2, 3, 5] };
  const models = [
    ...['SUM', 'AVERAGE', 'MIN', 'MAX'].map((aggregate_function) => regressor({ aggregate_function })),
    regressor({ base_values: [0.5, -1, 2], post_transform: 'LOGISTIC' }),
    regressor({ nodes_missing_value_tracks_true: [] }),
    model(
      [own('TreeEnsembleClassifier', ['label', 'y'], trees('class', classes))],
      [info('x', FLOAT, ['N', 3])],
      [info('label', INT64, ['N']), info('y', FLOAT, ['N', 3])],
    ),
  ];
  for (const [i, bytes] of models.entries()) {
    const session = await InferenceSession.create(bytes, ALONE);
    const ours = await session.run({ x: new Tensor('float32', feed.data, feed.dims) });
    const theirs = await (await ort.InferenceSession.create(bytes)).run({
      x: new ort.Tensor('float32', feed.data, feed.dims),
    });
    for (const name of Object.keys(ours))
      ours[name].data.forEach((value, k) => {
        const wanted = Number(theirs[name].data[k]);
        assert.ok(Math.abs(Number(value) - wanted) < 1e-6, `model ${i}, ${name}[${k}]: ${value}, wanted ${wanted}`);
      });
    await session.release();
  }
});

test('every number of threads, and rows one at a time, give the same bits', async () => {
  const [one, two] = await Promise.all(
    [1, 2].map((threads) => InferenceSession.create(regressor(), { worker: false, threads })),
  );
  const x = Float32Array.from({ length: 600 * 3 }, (_, i) => batchUnit(8, i) * 2 - 1);
  const { y } = await one.run({ x: new Tensor('float32', x, [600, 3]) });
  assert.deepEqual((await two.run({ x: new Tensor('float32', x, [600, 3]) })).y.data, y.data);
  for (const row of [0, 7, 599]) {
    const alone = await one.run({ x: new Tensor('float32', x.slice(row * 3, row * 3 + 3), [1, 3]) });
    assert.deepEqual([...alone.y.data], [...y.data.slice(row * 3, row * 3 + 3)]);
  }
  await Promise.all([one.release(), two.release()]);
});

test('trees that run in circles or lead nowhere are refused by a sentence', async () => {
  const ids = Array.from({ length: 45 }, (_, i) => (i % 15 < 7 ? 2 * (i % 15) + 1 : 0));
  const at = (/** @type {number} */ i, /** @type {any} */ value, list = ids) =>
    list.map((old, k) => (k === i ? value : old));
  const modes = ids.map((_, i) => (i % 15 < 7 ? 'BRANCH_LEQ' : 'LEAF'));
  const refused = /** @type {[Record<string, any>, RegExp][]} */ ([
    [{ nodes_truenodeids: at(1, 0) }, /entry 0 of its nodes is reached twice: trees have no circles/],
    [{ nodes_truenodeids: at(1, 1) }, /entry 1 of its nodes is reached twice/],
    [{ nodes_truenodeids: at(1, 2) }, /entry 2 of its nodes is reached twice/],
    [{ nodes_truenodeids: at(1, 99) }, /tree 0 has no node 99/],
    [{ nodes_truenodeids: at(1, -1) }, /tree 0 has no node -1/],
    [{ nodes_truenodeids: [1, 2] }, /nodes_truenodeids has 2 numbers, it must have 45/],
    [{ nodes_featureids: at(0, 3) }, /entry 0 of its nodes reads feature 3 of 3/],
    [{ nodes_featureids: at(0, -1) }, /entry 0 of its nodes reads feature -1 of 3/],
    [{ nodes_nodeids: at(2, 1) }, /tree 0 has (two nodes|no node)/],
    [{ nodes_modes: at(0, 'BRANCH_IF', /** @type {any} */ (modes)) }, /nodes_modes has 'BRANCH_IF'/],
    [{ nodes_modes: ['LEAF'] }, /nodes_modes has 1 words, it must have 45/],
    [{ nodes_values: [1, 2] }, /nodes_values has 2 numbers, it must have 45/],
    [{ target_ids: Array(24).fill(3) }, /a leaf adds to target 3 of 3/],
    [{ target_ids: [1] }, /target_ids has 1 numbers, it must have 24/],
    [{ target_nodeids: Array(24).fill(77) }, /tree 0 has no node 77/],
    [{ n_targets: 0 }, /n_targets is 0/],
    [{ aggregate_function: 'MEDIAN' }, /aggregate_function is 'MEDIAN'/],
  ]);
  for (const [change, words] of refused) {
    const code = change.aggregate_function ? 'unsupported-op' : 'invalid-model';
    await assert.rejects(InferenceSession.create(regressor(change), ALONE), is(code, words));
  }
  const session = await InferenceSession.create(regressor({ nodes_values: Array(45).fill(Number.NaN) }), ALONE);
  const { y } = await session.run({ x: new Tensor('float32', Float32Array.from(rows), [37, 3]) });
  assert.ok(y.data.every(Number.isFinite));
  await session.release();
});

// ---- what else makes no sense ----

test('attributes that do not fit are refused by a sentence', async () => {
  const labels = attribute('classlabels_ints', [0, 1]);
  const svm = [labels, floats('rho', [0]), attribute('vectors_per_class', [1, 1])];
  const refused = /** @type {[string, Uint8Array[], RegExp][]} */ ([
    ['LinearClassifier', [labels, floats('coefficients', [1, 2, 3])], /its 3 coefficients are no 2 rows/],
    ['LinearClassifier', [labels, floats('coefficients', [1, 2])], /coefficients for 1 features, 'x' has 3/],
    ['LinearClassifier', [floats('coefficients', [1, 2, 3])], /neither classlabels_strings and classlabels_ints/],
    ['LinearRegressor', [], /its 0 coefficients are no 1 rows/],
    ['Scaler', [floats('offset', [1, 2])], /offset has 2 numbers, 'x' has 3 features/],
    ['Scaler', [floats('offset', [1])], /its attribute 'scale' must be there/],
    ['Imputer', [], /it has no imputed_value_floats for an input of float32/],
    ['Normalizer', [attribute('norm', 'L3')], /norm is 'L3'/],
    [
      'SVMRegressor',
      [attribute('n_supports', 2), floats('rho', [0]), floats('support_vectors', [1, 2, 3])],
      /no 2 vectors/,
    ],
    ['SVMClassifier', [...svm, floats('support_vectors', [1, 2, 3, 4, 5, 6])], /0 coefficients and 1 rho are too few/],
    ['SVMClassifier', [...svm, floats('support_vectors', [1, 2])], /vectors have 1 features, 'x' has 3/],
    ['OneHotEncoder', [words('cats_strings', ['a'])], /is float32, the categories are string/],
    ['LabelEncoder', [attribute('keys_int64s', [1]), attribute('values_int64s', [1, 2])], /1 keys and 2 values/],
    ['FeatureVectorizer', [], /inputdimensions has 0 numbers for 1 inputs/],
  ]);
  for (const [op, attributes, pattern] of refused) {
    const outputs = /Classifier/.test(op) ? ['label', 'y'] : ['y'];
    const types = outputs.map((name) => info(name, FLOAT, ['N']));
    const bytes = model([own(op, outputs, attributes)], [info('x', FLOAT, ['N', 3])], types, 2);
    await assert.rejects(InferenceSession.create(bytes, ALONE), (error) => is(error.code, pattern)(error), op);
  }
});

// ---- training ----

test('the coefficients of a linear model are weights that train, behind what prepares its inputs', async () => {
  const [scale, offset] = [floats('scale', [2, 0.5, 1]), floats('offset', [1, 0, -1])];
  const coefficients = [0.5, -1, 0.25, 0, 1, -0.5];
  const bytes = model(
    [
      own(
        'Imputer',
        ['filled'],
        [floats('imputed_value_floats', [0]), attributeProto({ name: 'replaced_value_float', type: 1 })],
      ),
      own('Scaler', ['scaled'], [scale, offset], 'filled'),
      own('Normalizer', ['unit'], [attribute('norm', 'L2')], 'scaled'),
      own(
        'LinearRegressor',
        ['y'],
        [floats('coefficients', coefficients), attribute('targets', 2), floats('intercepts', [0.5, 0])],
        'unit',
      ),
    ],
    [info('x', FLOAT, ['N', 3])],
    [info('y', FLOAT, ['N', 2])],
    1,
  );
  const session = await TrainingSession.create(
    await generateArtifacts(bytes, { loss: 'mse', optimizer: 'sgd', ...ALONE }),
    ALONE,
  );
  assert.deepEqual(
    session.parameters.filter(({ trainable }) => trainable).map(({ name, dims }) => [name, [...dims]]),
    [
      ['LinearRegressory.coefficients', [2, 3]],
      ['LinearRegressory.intercepts', [2]],
    ],
  );
  const [xs, ys] = [
    [3, 1, 2, -1, 0, 0.5],
    [1, 0, 0, 1],
  ];
  const units = [0, 3].map((at) => {
    const scaled = [(xs[at] - 1) * 2, xs[at + 1] * 0.5, xs[at + 2] + 1];
    const length = Math.hypot(...scaled);
    return scaled.map((v) => v / length);
  });
  const before = (await session.getParameter('LinearRegressory.coefficients')).data;
  const feeds = {
    x: new Tensor('float32', xs, [2, 3]),
    [session.trainingInputNames[1]]: new Tensor('float32', ys, [2, 2]),
  };
  await session.runTrainStep(feeds);
  const gradient = (await session.getGradient('LinearRegressory.coefficients')).data;
  for (let t = 0; t < 2; t++)
    for (let f = 0; f < 3; f++) {
      const errors = units.map(
        (u, n) => u.reduce((sum, v, k) => sum + v * before[t * 3 + k], t === 0 ? 0.5 : 0) - ys[n * 2 + t],
      );
      const wanted = errors.reduce((sum, e, n) => sum + (2 * e * units[n][f]) / 4, 0);
      assert.ok(
        Math.abs(gradient[t * 3 + f] - wanted) < 1e-5,
        `gradient ${t}, ${f}: ${gradient[t * 3 + f]}, ${wanted}`,
      );
    }
  await session.release();
});
