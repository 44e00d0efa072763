/** Tensors: what is accepted, what is refused and in which words, and that packing leaves the user's arrays alone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as ort from 'onnxruntime-web';
import { bind } from '../../../js/base/feeds.js';
import { pack } from '../../../js/base/tensor.js';
import { Tensor } from '../../../js/index.js';

const INPUTS = [
  { name: 'input', type: 'float32', dims: ['N', 2] },
  { name: 'labels', type: 'int64', dims: ['N'] },
];
const refused = (work, message) =>
  assert.throws(work, (error) => {
    assert.equal(error.name, 'TrainletError');
    assert.equal(error.code, 'invalid-feed');
    assert.match(error.message, message);
    return true;
  });

test('a typed array is kept, an array is converted', () => {
  const data = new Float32Array(6);
  const tensor = new Tensor('float32', data, [2, 3]);
  assert.equal(tensor.data, data);
  assert.deepEqual([tensor.dims, tensor.size], [[2, 3], 6]);
  assert.deepEqual(new Tensor('int64', [1, -2n, 3]).data, new BigInt64Array([1n, -2n, 3n]));
  assert.deepEqual(new Tensor('bool', [true, false]).data, new Uint8Array([1, 0]));
  assert.deepEqual(new Tensor('float32', [0.1]).data, new Float32Array([0.1]));
  assert.deepEqual(new Tensor('float32', [7], []).dims, []);
});

test('the type may be left out where the class of the data tells it', () => {
  for (const data of [
    new Float32Array(2),
    new BigInt64Array(2),
    new Uint8Array(2),
    new Uint16Array(2),
    new Int32Array(2),
  ]) {
    const tensor = new Tensor(data, [1, 2]);
    assert.deepEqual([tensor.type, tensor.data, tensor.dims], [new ort.Tensor(data, [1, 2]).type, data, [1, 2]]);
  }
  assert.deepEqual(new Tensor([true, false]), new Tensor('bool', [1, 0]));
  assert.deepEqual(new Tensor(['a', 'b']), new Tensor('string', ['a', 'b'], [2]));
  refused(() => new Tensor([1, 2]), /a tensor of Array needs a type before its data: float32/);
  refused(() => new Tensor(undefined), /a tensor of undefined needs a type/);
});

test('what does not fit is refused in one sentence', () => {
  refused(() => new Tensor('float32', new Float32Array(5), [2, 3]), /dims \[2,3\] make 6 elements, but the data has 5/);
  refused(
    () => new Tensor('float32', new Float64Array(6), [2, 3]),
    /its data must be a Float32Array, not Float64Array/,
  );
  refused(() => new Tensor('float32', new Float32Array(6), [-2, -3]), /whole numbers/);
  refused(() => new Tensor('int32', [1.5]), /element 0 of the int32 tensor cannot be 1\.5/);
  refused(() => new Tensor('uint8', [256]), /cannot be 256/);
  refused(() => new Tensor('int64', [0.5]), /cannot be 0\.5/);
  refused(() => new Tensor('float32', ['1']), /the string '1'/);
  refused(() => new Tensor('float16', [1]), /bits/);
  refused(() => new Tensor('complex64', [1]), /no tensor type 'complex64'/);
  refused(() => new Tensor('complex64', new Uint8Array(1)), /no tensor type 'complex64'/);
  refused(() => new Tensor('string', ['a', 1]), /element 1 of the string tensor cannot be 1/);
  refused(
    () => new Tensor('string', ['a\0b']),
    /element 0 of the string tensor cannot be a string with a zero character/,
  );
  refused(() => new Tensor('string', new Uint8Array(2)), /its data must be an array, not Uint8Array/);
  refused(() => new Tensor('string', ['a'], [2]), /dims \[2\] make 2 elements, but the data has 1/);
});

test('a type of few bits is one of ONNX, or refused', () => {
  const real = 'uint2 int2 uint4 int4 float4e2m1 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0';
  for (const type of real.split(' ')) assert.equal(new Tensor(type, new Uint8Array(1)).type, type);
  for (const type of ['float8e9m9', 'float4e4m3fn', 'float8e5m2fn', 'float8e5m2uz', 'float8e8m0fn', 'xint4', 'uint40'])
    refused(() => new Tensor(type, new Uint8Array(1)), new RegExp(`the tensor: there is no tensor type '${type}'`));
});

test('feeds are bound by name', () => {
  const input = new Tensor('float32', new Float32Array(4), [2, 2]);
  refused(
    () => bind({ inptu: input }, INPUTS),
    /no input 'inptu'; wanted are 'input' \(float32 \[N, 2\]\), 'labels' \(int64 \[N\]\)/,
  );
  refused(() => bind({ input: [1, 2] }, INPUTS), /input 'input' must be a tensor/);
  refused(
    () => bind({ input: { type: 'string', data: ['a'], dims: [1] } }, INPUTS),
    /input 'input' wants float32, string came/,
  );
  refused(() => bind(null, INPUTS), /feeds must be an object/);
  const { type, data, dims } = input;
  assert.deepEqual(bind({ labels: null, input }, INPUTS), [['input', { type, data, dims }]]);
});

test('an input without dims takes a plain value', () => {
  const scalars = ['float32', 'int64', 'int32', 'bool', 'string'].map((type) => ({ name: type, type, dims: [] }));
  const bound = bind({ float32: 0.5, int64: 3, int32: -1, bool: true, string: 'a' }, scalars);
  assert.deepEqual(
    bound.map(([, { type, data, dims }]) => [type, [...data], dims]),
    [
      ['float32', [0.5], []],
      ['int64', [3n], []],
      ['int32', [-1], []],
      ['bool', [1], []],
      ['string', ['a'], []],
    ],
  );
  refused(() => bind({ int64: 3.5 }, scalars), /element 0 of the int64 tensor cannot be 3.5/);
  assert.throws(() => bind({ labels: 3 }, INPUTS), {
    code: 'invalid-feed',
    message: "input 'labels' must be a tensor, an object with type, data and dims, not 3",
  });
});

test("onnxruntime's own tensors are accepted", () => {
  const input = new ort.Tensor('float32', new Float32Array([1, 2]), [1, 2]);
  const labels = new ort.Tensor('int64', new BigInt64Array([3n]), [1]);
  const { tensors, buffer } = pack(bind({ labels, input }, INPUTS));
  assert.deepEqual(
    tensors.map(({ name, offset, bytes }) => [name, offset, bytes]),
    [
      ['labels', 0, 8],
      ['input', 8, 8],
    ],
  );
  assert.deepEqual(new Float32Array(buffer, 8, 2), new Float32Array([1, 2]));
  assert.equal(input.data.length, 2);
});

test('a view into a larger buffer is packed alone', () => {
  const view = new Float32Array([0, 1, 2, 3]).subarray(1, 3);
  const { buffer } = pack(bind({ input: new Tensor('float32', view, [1, 2]) }, INPUTS));
  assert.deepEqual(new Float32Array(buffer), new Float32Array([1, 2]));
});
