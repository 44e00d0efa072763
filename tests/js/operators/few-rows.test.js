/** A few rows times a large matrix that no step changes: packed once, to the same bits, and again when it is set. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { HERE } from '../../support/engines.js';

const FLOAT = 1;
/** More than caches hold, in blocks of depth that are not whole, in columns of which some are left over. */
const [DEPTH, COLUMNS] = [901, 605];
const PACKED = 4 * DEPTH * 608;

const floats = (seed, count) => Float32Array.from({ length: count }, (_, i) => batchUnit(seed, i) - 0.5);
const weights = floats(1, DEPTH * COLUMNS);
const bias = floats(2, COLUMNS);
const ours = (data, dims) => new Tensor('float32', data, dims);
const initializer = (name, dims, data) => tensor(name, { type: 'float32', dims, data });

/** @param {Uint8Array[]} nodes @param {Uint8Array[]} initializers @param {number} outputs */
const model = (nodes, initializers, outputs) =>
  modelProto({
    graph: graphProto({
      node: nodes,
      name: 'rows',
      initializer: initializers,
      input: info('x', FLOAT, ['N', DEPTH]),
      output: info('y', FLOAT, ['N', outputs]),
    }),
    opsetImport: opsetId(17),
  });

/** Row by row in double. `at`: where element k of column j is. */
function expected(x, rows, w, at, more = () => 0) {
  return Array.from({ length: rows * COLUMNS }, (_, i) => {
    const [row, j] = [Math.floor(i / COLUMNS), i % COLUMNS];
    let sum = more(j);
    for (let k = 0; k < DEPTH; k++) sum += x[row * DEPTH + k] * w[at(k, j)];
    return sum;
  });
}

const largest = (a, b) => a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i])), 0);

const plain = (k, j) => k * COLUMNS + j;
const turned = (k, j) => j * DEPTH + k;
const KINDS = [
  {
    name: 'MatMul',
    bytes: model([node('MatMul', ['x', 'w'], 'y')], [initializer('w', [DEPTH, COLUMNS], weights)], COLUMNS),
    at: plain,
    more: () => 0,
  },
  {
    name: 'Gemm of a transposed matrix with a bias',
    bytes: model(
      [node('Gemm', ['x', 'w', 'b'], 'y', attribute('transB', 1))],
      [initializer('w', [COLUMNS, DEPTH], weights), initializer('b', [COLUMNS], bias)],
      COLUMNS,
    ),
    at: turned,
    more: (j) => bias[j],
  },
];

for (const { name, bytes, at, more } of KINDS)
  test(`${name}: one to nine rows, packed and not`, async () => {
    const packed = await InferenceSession.create(bytes, HERE);
    const bare = await InferenceSession.create(bytes, { ...HERE, passes: [] });
    for (const rows of [1, 2, 3, 4, 5, 9]) {
      const x = floats(rows + 2, rows * DEPTH);
      const [{ y }, { y: again }] = [
        await packed.run({ x: ours(x, [rows, DEPTH]) }),
        await bare.run({ x: ours(x, [rows, DEPTH]) }),
      ];
      const apart = largest(y.data, expected(x, rows, weights, at, more));
      assert.ok(apart < 2e-5, `${rows} rows are off by ${apart}`);
      assert.deepEqual(y.data, again.data, `${rows} rows have other bits when nothing is packed`);
    }
    assert.equal((await packed.getMemoryPlan()).packedBytes, PACKED, 'once for all numbers of rows');
    assert.equal((await bare.getMemoryPlan()).packedBytes, 0);
    await packed.release();
    await bare.release();
  });

test('a frozen matrix that is set is packed again', async () => {
  const bytes = model(
    [node('MatMul', ['x', 'w'], 'h'), node('MatMul', ['h', 'head'], 'y')],
    [initializer('w', [DEPTH, COLUMNS], weights), initializer('head', [COLUMNS, 2], floats(9, 2 * COLUMNS))],
    2,
  );
  const artifacts = await generateArtifacts(bytes, { ...HERE, loss: 'mse', optimizer: 'sgd', requiresGrad: ['head'] });
  const session = await TrainingSession.create(artifacts, HERE);
  const x = floats(3, 2 * DEPTH);
  const feeds = { x: ours(x, [2, DEPTH]) };
  const head = floats(9, 2 * COLUMNS);
  const scores = (w) => {
    const h = expected(x, 2, w, plain);
    return [0, 1].flatMap((row) =>
      [0, 1].map((c) =>
        h.slice(row * COLUMNS, (row + 1) * COLUMNS).reduce((sum, v, j) => sum + v * head[2 * j + c], 0),
      ),
    );
  };
  const before = (await session.predict(feeds)).y.data;
  assert.ok((await session.getMemoryPlan()).packedBytes >= PACKED, 'it is packed');
  assert.ok(largest(before, scores(weights)) < 1e-4);
  const others = floats(10, DEPTH * COLUMNS);
  await session.setParameter('w', ours(others, [DEPTH, COLUMNS]));
  assert.ok(largest((await session.predict(feeds)).y.data, scores(others)) < 1e-4);
  await session.release();
});
