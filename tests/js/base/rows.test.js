/** Rows of tensors: views and copies of parts along the first dim. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concatBytes, concatRows, copyRows, rowOf, rowsOf, sliceRows, takeRows } from '../../../js/base/rows.js';
import { Tensor } from '../../../js/index.js';

const tensor = (from = 0) =>
  new Tensor(
    'int16',
    Int16Array.from({ length: 12 }, (_, i) => from + i),
    [3, 2, 2],
  );

test('a row, each row and a slice are views', () => {
  const { data, dims } = tensor();
  assert.deepEqual(rowOf(data, dims[0], 1), Int16Array.of(4, 5, 6, 7));
  assert.deepEqual(
    rowsOf(data, dims[0]).map(([first]) => first),
    [0, 4, 8],
  );
  const slice = sliceRows({ type: 'int16', data, dims }, 1, 3);
  assert.deepEqual([slice.type, slice.dims, [...slice.data]], ['int16', [2, 2, 2], [4, 5, 6, 7, 8, 9, 10, 11]]);
  slice.data[0] = -1;
  rowOf(data, 3, 2)[3] = -2;
  assert.deepEqual([...data], [0, 1, 2, 3, -1, 5, 6, 7, 8, 9, 10, -2]);
});

test('rows that are taken are a copy in the order of their numbers', () => {
  const whole = tensor();
  const taken = takeRows(whole, [2, 0, 2, 1]);
  assert.deepEqual([taken.type, taken.dims], ['int16', [4, 2, 2]]);
  assert.deepEqual([...taken.data], [8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7]);
  taken.data.fill(0);
  assert.deepEqual(whole, tensor());
  const target = new Int16Array(10);
  copyRows(whole.data, 3, Uint32Array.of(1, 0), target);
  assert.deepEqual([...target], [4, 5, 6, 7, 0, 1, 2, 3, 0, 0]);
});

test('rows of several tensors are copied one after the other', () => {
  const all = concatRows([tensor(), takeRows(tensor(100), [1])]);
  assert.deepEqual([all.type, all.dims], ['int16', [4, 2, 2]]);
  assert.deepEqual([...all.data], [...tensor().data, 104, 105, 106, 107]);
  assert.deepEqual(concatBytes([Buffer.of(1), Uint8Array.of(), Uint8Array.of(2, 3)]), Uint8Array.of(1, 2, 3));
  assert.deepEqual(concatBytes([]), new Uint8Array());
});

test('rows without elements stay rows', () => {
  const empty = new Tensor('float32', new Float32Array(), [3, 0]);
  assert.deepEqual(takeRows(empty, [1, 2]).dims, [2, 0]);
  assert.deepEqual(sliceRows(empty, 0, 2).dims, [2, 0]);
  assert.deepEqual(rowsOf(empty.data, 3), [new Float32Array(), new Float32Array(), new Float32Array()]);
});
