// Two nodes that compute the same: whose outputs are read says which of them may stand for the other.

import assert from 'node:assert/strict';
import test from 'node:test';
import { InferenceSession, Tensor } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, node, opsetId } from '../../support/onnx-file.js';

const pool = (outputs) => node('MaxPool', ['x'], outputs, attribute('kernel_shape', [2, 2]));

test('of two MaxPool the second alone has its indices read', async () => {
  const nodes = [
    pool(['a', 'unread']),
    pool(['b', 'places']),
    node('Add', ['a', 'b'], ['y']),
    node('Neg', ['places'], ['back']),
  ];
  const model = modelProto({
    graph: graphProto({
      node: nodes,
      input: info('x', 1, [1, 1, 2, 2]),
      output: [info('y', 1, [1, 1, 1, 1]), info('back', 7, [1, 1, 1, 1])],
    }),
    opsetImport: opsetId(17),
  });
  const session = await InferenceSession.create(model, { worker: false });
  const { y, back } = await session.run({ x: new Tensor('float32', Float32Array.of(1, 2, 9, 3), [1, 1, 2, 2]) });
  assert.deepEqual([...y.data, ...back.data], [18, -2n]);
  await session.release();
});
