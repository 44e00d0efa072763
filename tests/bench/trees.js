// Time of trees, ours and onnxruntime-web 1.30's, one thread each, in turn: `node tests/bench/trees.js [rows [trees
// [depth [features]]]]`. A TreeEnsembleRegressor of full trees, and a classifier of as many, with random splits.

import { createRequire } from 'node:module';
import { InferenceSession, Tensor } from '../../js/index.js';
import { batchUnit } from '../support/recipe.js';
import {
  attribute,
  attributeProto,
  graphProto,
  info,
  message,
  modelProto,
  node,
  opsetId,
} from '../support/onnx-file.js';

const [ROWS = 10_000, TREES = 200, DEPTH = 8, FEATURES = 30] = process.argv.slice(2).map(Number);
const ROUNDS = 9;
const CLASSES = 3;
const [FLOAT, INT64] = [1, 7];

const require = createRequire(import.meta.url);
const ort = require('onnxruntime-web-1.30');
ort.env.wasm.numThreads = 1;

const floats = (/** @type {string} */ name, /** @type {number[]} */ list) =>
  attributeProto({ name, floats: new Uint8Array(Float32Array.from(list).buffer), type: 6 });
const words = (/** @type {string} */ name, /** @type {string[]} */ list) =>
  attributeProto({ name, strings: list, type: 8 });

/** The attributes of full trees, whose leaves each add to the class that their tree is of. */
function nodes(/** @type {string} */ what, /** @type {number} */ classes) {
  const size = 2 ** (DEPTH + 1) - 1;
  const inner = 2 ** DEPTH - 1;
  const all = Array.from({ length: TREES * size }, (_, i) => ({ tree: Math.floor(i / size), id: i % size, i }));
  const leaves = all.filter(({ id }) => id >= inner);
  const ints = (/** @type {string} */ name, /** @type {number[]} */ list) => attribute(name, list);
  return [
    ints(
      'nodes_treeids',
      all.map(({ tree }) => tree),
    ),
    ints(
      'nodes_nodeids',
      all.map(({ id }) => id),
    ),
    ints(
      'nodes_featureids',
      all.map(({ i }) => Math.floor(batchUnit(1, i) * FEATURES)),
    ),
    words(
      'nodes_modes',
      all.map(({ id }) => (id < inner ? 'BRANCH_LEQ' : 'LEAF')),
    ),
    floats(
      'nodes_values',
      all.map(({ i }) => batchUnit(2, i)),
    ),
    ints(
      'nodes_truenodeids',
      all.map(({ id }) => (id < inner ? 2 * id + 1 : 0)),
    ),
    ints(
      'nodes_falsenodeids',
      all.map(({ id }) => (id < inner ? 2 * id + 2 : 0)),
    ),
    ints(
      `${what}_treeids`,
      leaves.map(({ tree }) => tree),
    ),
    ints(
      `${what}_nodeids`,
      leaves.map(({ id }) => id),
    ),
    ints(
      `${what}_ids`,
      leaves.map(({ tree }) => tree % classes),
    ),
    floats(
      `${what}_weights`,
      leaves.map(({ i }) => batchUnit(3, i) - 0.5),
    ),
  ];
}

function model(/** @type {boolean} */ classifies) {
  const outputs = classifies ? ['label', 'scores'] : ['y'];
  const own = classifies
    ? [...nodes('class', CLASSES), attribute('classlabels_int64s', [0, 1, 2]), attribute('post_transform', 'SOFTMAX')]
    : [...nodes('target', 1), attribute('n_targets', 1)];
  const trees = new Uint8Array([
    ...node(classifies ? 'TreeEnsembleClassifier' : 'TreeEnsembleRegressor', ['x'], outputs),
    ...message(...own.map((one) => /** @type {[number, Uint8Array]} */ ([5, one])), [7, 'ai.onnx.ml']),
  ]);
  const types = classifies
    ? [info('label', INT64, ['N']), info('scores', FLOAT, ['N', CLASSES])]
    : [info('y', FLOAT, ['N', 1])];
  const graph = graphProto({ node: trees, name: 'trees', input: info('x', FLOAT, ['N', FEATURES]), output: types });
  return modelProto({ graph, opsetImport: [opsetId(17), opsetId(3, 'ai.onnx.ml')] });
}

const median = (/** @type {number[]} */ list) => list.sort((a, b) => a - b)[list.length >> 1];
const data = Float32Array.from({ length: ROWS * FEATURES }, (_, i) => batchUnit(4, i));

for (const classifies of [false, true]) {
  const bytes = model(classifies);
  const ours = await InferenceSession.create(bytes, { worker: false, threads: 1 });
  const theirs = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] });
  const times = { ours: [], theirs: [] };
  let apart = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    const a = await ours.run({ x: new Tensor(data, [ROWS, FEATURES]) });
    const between = performance.now();
    const b = await theirs.run({ x: new ort.Tensor('float32', data, [ROWS, FEATURES]) });
    times.theirs.push(performance.now() - between);
    times.ours.push(between - started);
    const name = classifies ? 'scores' : 'y';
    a[name].data.forEach((v, i) => {
      apart = Math.max(apart, Math.abs(Number(v) - Number(b[name].data[i])));
    });
  }
  const [mine, other] = [median(times.ours), median(times.theirs)];
  console.log(
    `${classifies ? 'classifier' : 'regressor'}, ${ROWS} rows, ` +
      `${TREES} trees of depth ${DEPTH}, ${FEATURES} features: ` +
      `${mine.toFixed(1)} ms, onnxruntime-web 1.30 ${other.toFixed(1)} ms, ratio ${(mine / other).toFixed(2)}, ` +
      `apart by at most ${apart.toExponential(1)}`,
  );
  await ours.release();
}
