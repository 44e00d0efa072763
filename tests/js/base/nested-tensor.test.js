/** Tensors of nested arrays: dims and types, and that what is refused is named by its path. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tensor, tensor } from '../../../js/index.js';

test('the dims are those of the arrays, the type that of the first value', () => {
  const wanted = [
    [
      tensor([
        [1, 2],
        [3, 4],
        [5, 6],
      ]),
      'float32',
      [3, 2],
      new Float32Array([1, 2, 3, 4, 5, 6]),
    ],
    [tensor([[[1], [2]]]), 'float32', [1, 2, 1], new Float32Array([1, 2])],
    [tensor(0.5), 'float32', [], new Float32Array([0.5])],
    [tensor([0, 1, 2], 'int64'), 'int64', [3], new BigInt64Array([0n, 1n, 2n])],
    [tensor([[1n], [-2n]]), 'int64', [2, 1], new BigInt64Array([1n, -2n])],
    [tensor([[true, false]]), 'bool', [1, 2], new Uint8Array([1, 0])],
    [tensor([true, false], 'float32'), 'float32', [2], new Float32Array([1, 0])],
    [tensor([['a'], ['b']]), 'string', [2, 1], ['a', 'b']],
    [tensor(Uint8Array.of(1, 2)), 'uint8', [2], new Uint8Array([1, 2])],
    [tensor(Uint8Array.of(1, 2), 'int32'), 'int32', [2], new Int32Array([1, 2])],
    [tensor([Float64Array.of(1, 2), [3, 4]]), 'float32', [2, 2], new Float32Array([1, 2, 3, 4])],
  ];
  for (const [made, type, dims, data] of wanted) {
    assert.ok(made instanceof Tensor);
    assert.deepEqual([made.type, made.dims, made.data], [type, dims, data]);
  }
});

test('the data is a copy', () => {
  const mine = Float32Array.of(1, 2);
  for (const made of [tensor(mine), tensor([mine])]) {
    mine[0] = 7;
    assert.deepEqual(made.data, new Float32Array([1, 2]));
    mine[0] = 1;
  }
});

test('what is refused has the path of its index', () => {
  const endless = [];
  endless.push(endless);
  /** @type {[unknown[], string][]} */
  const refused = [
    [[[[1, 2], [3]]], 'tensor: data[1] is an array of 1, not an array of 2'],
    [
      [
        [
          [
            [1, 2],
            [3, 4],
          ],
          [[5, 6], 7],
        ],
      ],
      'tensor: data[1][1] is 7, not an array of 2',
    ],
    [
      [
        [
          [1, 2],
          [3, [4]],
        ],
      ],
      'tensor: data[1][1] is an array of 1, not a number',
    ],
    // biome-ignore lint/suspicious/noSparseArray: the hole is the point
    [[[1, , 3]], 'tensor: data[1] is undefined, not a number'],
    [
      [
        [
          [1, 2],
          [3, 'x'],
        ],
      ],
      "tensor: data[1][1] is 'x', not a number",
    ],
    [[[[true], [1]]], 'tensor: data[1][0] is 1, not a boolean'],
    [[[1, null]], 'tensor: data[1] is null, not a number'],
    [[[]], 'tensor: data is an array of 0, not a number'],
    [[[[], []]], 'tensor: data[0] is an array of 0, not a number'],
    [[], 'tensor: data is undefined, not a number'],
    [[[{}]], 'tensor: data[0] is an Object, not a number'],
    [[[Promise.resolve(1)]], 'tensor: data[0] is a promise: await it, not a number'],
    [[[[1], [0.5]], 'int64'], 'element 1 of the int64 tensor cannot be 0.5'],
    [[[['1']], 'float32'], "element 0 of the float32 tensor cannot be the string '1'"],
    [[[1], 'float'], "there is no tensor type 'float'; there are float32, "],
    [[endless], `tensor: data${'[0]'.repeat(9)} is an array of 1, not a number`],
  ];
  for (const [args, message] of refused)
    assert.throws(
      () => tensor(...args),
      (error) => {
        assert.equal(error.message.slice(0, message.length), message);
        return error.code === 'invalid-feed';
      },
    );
});
