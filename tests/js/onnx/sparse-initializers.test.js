/**
 * Sparse weights (sparse_initializer) are dense once read; a file whose indices make no sense is refused in a sentence.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InferenceSession, Tensor } from '../../../js/index.js';
import { info, message, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';

const FLOAT = 1;

/** x + w, where w is sparse. */
function model(dims, values, indices, indexDims = [indices.length]) {
  const sparse = message(
    [1, tensor('w', { type: 'float32', dims: [values.length], data: Float32Array.from(values) })],
    [2, tensor('at', { type: 'int64', dims: indexDims, data: BigInt64Array.from(indices, BigInt) })],
    ...dims.map((d) => [3, d]),
  );
  const parts = [
    [1, node('Add', ['x', 'w'], 'y')],
    [2, 'g'],
    [15, sparse],
  ];
  const graph = message(...parts, [11, info('x', FLOAT, [1])], [12, info('y', FLOAT, [])]);
  return modelProto({ graph, opsetImport: opsetId(18) });
}

async function sum(...args) {
  const session = await InferenceSession.create(model(...args), { worker: false, threads: 1 });
  const { y } = await session.run({ x: new Tensor('float32', [1], [1]) });
  return [[...y.dims], [...y.data]];
}

test('sparse weights by element, by coordinates, and none at all', async () => {
  assert.deepEqual(await sum([2, 2], [5, 7], [1, 2]), [
    [2, 2],
    [1, 6, 8, 1],
  ]);
  assert.deepEqual(await sum([2, 2], [5, 7], [0, 1, 1, 0], [2, 2]), [
    [2, 2],
    [1, 6, 8, 1],
  ]);
  assert.deepEqual(await sum([3], [], []), [[3], [1, 1, 1]]);
});

for (const [what, args, words] of [
  ['an index past the end', [[2, 2], [5], [4]], /'w' is a sparse tensor whose indices do not ascend, or lie outside/],
  ['a negative index', [[2, 2], [5], [-1]], /outside of its dims/],
  ['a coordinate past its dim', [[2, 2], [5], [0, 2], [1, 2]], /outside of its dims/],
  [
    'indices that descend',
    [
      [2, 2],
      [5, 7],
      [2, 1],
    ],
    /do not ascend/,
  ],
  [
    'an index twice',
    [
      [2, 2],
      [5, 7],
      [1, 1],
    ],
    /do not ascend/,
  ],
  ['fewer indices than values', [[2, 2], [5, 7], [1]], /indices do not fit its values and dims/],
  ['dims beyond all memory', [[2 ** 40, 2 ** 40], [5], [1]], /'w' does not fit this machine's memory/],
])
  test(`sparse weights with ${what} are refused`, async () => {
    await assert.rejects(sum(...args), words);
  });
