// Files of safetensors beside Hugging Face's own reader and writer, and numbers of 16 bits beside PyTorch's
// (tests/golden/scripts/make_safetensors.py).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { TrainletError } from '../../../js/base/errors.js';
import {
  openSafetensors,
  readSafetensors,
  toBrain,
  toHalf,
  writeSafetensors,
} from '../../../js/formats/safetensors.js';

const golden = JSON.parse(readFileSync(new URL('../../golden/data/safetensors.json', import.meta.url), 'utf8'));
const read = (bytes) => readSafetensors(bytes, 'file');
const bytesOf = (text) => new Uint8Array(Buffer.from(text, 'base64'));
const ranges = (bytes) => ({ bytes: bytes.length, read: async (at, count) => bytes.slice(at, at + count) });
const open = (bytes) => openSafetensors(ranges(bytes), 'file');
const floats = Float32Array.from(golden.rounded.float32, (bits) => new Float32Array(Uint32Array.of(bits).buffer)[0]);
const numbersOf = (texts) => Float32Array.from(texts, (text) => Number(text.replace('inf', 'Infinity')));

/** A file of this header. */
function fileOf(header, bytes = 8) {
  const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const whole = new Uint8Array(8 + text.length + bytes);
  new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
  whole.set(text, 8);
  return whole;
}

for (const [type, { bytes, a, b }] of Object.entries(golden.files))
  test(`${type}: the numbers, sizes and notes that were written, also from the middle of a buffer`, () => {
    const file = bytesOf(bytes);
    const within = new Uint8Array(file.length + 9);
    within.set(file, 3);
    for (const place of [file, within.subarray(3, 3 + file.length)]) {
      const { tensors, notes } = read(place);
      assert.deepEqual(notes, { note: 'é' });
      assert.deepEqual(tensors.get('b'), { dims: [2, 5], data: numbersOf(b) });
      assert.deepEqual(tensors.get('a'), { dims: [], data: numbersOf(a) });
      assert.equal(tensors.size, 2);
    }
  });

test('what is read by ranges has the same places', async () => {
  const file = bytesOf(golden.files.F32.bytes);
  const { places, start } = await open(file);
  const found = new Map(places.map((place) => [place.name, place]));
  const [a, b] = [found.get('a'), found.get('b')];
  assert.deepEqual([a.dtype, a.dims, a.count, a.isFloat, a.to - a.from], ['F32', [], 1, true, 4]);
  assert.deepEqual([b.dims, b.count, b.to - b.from], [[2, 5], 10, 40]);
  const view = new DataView(file.buffer, start);
  assert.deepEqual([view.getFloat32(a.from, true), view.getFloat32(b.from, true)], [7, 1.5]);
  const odd = await open(fileOf({ n: { dtype: 'I64', shape: [1], data_offsets: [0, 8] } }));
  assert.deepEqual(odd.places[0].isFloat, false);
});

test('each of the 65,536 numbers of 16 bits comes back, and float32 is rounded as PyTorch rounds', () => {
  for (const [type, to] of [
    ['float16', toHalf],
    ['bfloat16', toBrain],
  ]) {
    const bits = Uint16Array.from({ length: 2 ** 16 }, (_, i) => i);
    const file = writeSafetensors(new Map([['x', { dims: [2 ** 16], data: new Float32Array(2 ** 16) }]]), type);
    file.set(new Uint8Array(bits.buffer), file.length - bits.byteLength);
    const { data } = read(file).tensors.get('x');
    const names = { float16: 'F16', bfloat16: 'BF16' };
    const isNumber = data.map((x) => !Number.isNaN(x));
    assert.equal(data.filter(Number.isNaN).length, type === 'float16' ? 2046 : 254);
    assert.deepEqual(
      bits.filter((i) => isNumber[i] && to(data[i]) !== i),
      new Uint16Array(0),
    );
    const wanted = golden.rounded[names[type]];
    for (const [i, x] of floats.entries()) {
      const [back] = data.subarray(to(x));
      if (Number.isNaN(x)) assert.ok(Number.isNaN(back), `${type}: ${x}`);
      else assert.equal(to(x), wanted[i], `${type} of ${x}, number ${i}`);
    }
  }
  assert.equal(toBrain(NaN) & 0x7fff, 0x7fc0);
  assert.equal(toHalf(NaN), 0x7e00);
});

test('what is written is what safetensors writes: sorted names, a header of whole words, little-endian numbers', () => {
  const tensors = new Map([
    ['b', { dims: [2, 2], data: Float32Array.of(1.5, -2, 0.5, 65504) }],
    ['a', { dims: [1], data: Float32Array.of(7) }],
  ]);
  for (const [type, dtype, each] of [
    ['float32', 'F32', 4],
    ['float16', 'F16', 2],
    ['bfloat16', 'BF16', 2],
  ]) {
    const file = writeSafetensors(tensors, type);
    const length = Number(new DataView(file.buffer).getBigUint64(0, true));
    const text = Buffer.from(file).toString('utf8', 8, 8 + length);
    assert.equal(length % 8, 0);
    assert.match(text, /^\{"__metadata__":\{"format":"pt"\},"a":.*\} *$/);
    assert.ok(length - text.trimEnd().length < 8);
    assert.deepEqual(JSON.parse(text), {
      __metadata__: { format: 'pt' },
      a: { dtype, shape: [1], data_offsets: [0, each] },
      b: { dtype, shape: [2, 2], data_offsets: [each, 5 * each] },
    });
    assert.equal(file.length, 8 + length + 5 * each);
    const back = read(file).tensors;
    assert.deepEqual([...back.get('a').data, ...back.get('b').data.subarray(0, 3)], [7, 1.5, -2, 0.5]);
  }
  assert.deepEqual(read(writeSafetensors(tensors, 'float32', { r: '2' })).notes, { r: '2' });
  assert.deepEqual(read(writeSafetensors(new Map(), 'float32', {})), { tensors: new Map(), notes: {} });
});

test('what safetensors refuses is refused', async () => {
  const stricter = [];
  for (const [name, [bytes, isTaken]] of Object.entries(golden.taken)) {
    const file = bytesOf(bytes);
    const results = await Promise.all([
      (async () => read(file))().then(
        () => true,
        (error) => assert.ok(error instanceof TrainletError, error.stack),
      ),
      open(file).then(
        () => true,
        (error) => assert.ok(error instanceof TrainletError, error.stack),
      ),
    ]);
    const [whole, ranged] = results.map(Boolean);
    assert.equal(ranged, whole, name);
    if (whole !== isTaken) stricter.push(name);
    assert.ok(isTaken || !whole, name);
  }
  assert.deepEqual(stricter, []);
});

test('a refusal says what is wrong', () => {
  const T = { dtype: 'F32', shape: [2], data_offsets: [0, 8] };
  const noted = { __metadata__: { note: '2.5: "-1e9"' }, a: T };
  assert.deepEqual([...read(fileOf(noted)).tensors.get('a').data], [0, 0]);
  const huge = fileOf(`{"a":${' '.repeat(2 ** 24)}1}`);
  const atMost = fileOf(`{}${' '.repeat(2 ** 24 - 2)}`, 0);
  assert.deepEqual(read(atMost).tensors, new Map());
  const rows = [
    [new Uint8Array(7), 'has 7 bytes, too few for a safetensors file'],
    [Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0), 'says that its header has 1 bytes, and has 8: it is no safetensors file'],
    [huge, 'has a header of 16777223 bytes; at most 16777216 are read'],
    [fileOf('{}'), 'its tensors have 0 bytes, and 8 follow the header: was it cut off?'],
    [fileOf({ a: T }, 9), 'its tensors have 8 bytes, and 9 follow the header: was it cut off?'],
    [fileOf({ a: null }), "tensor 'a' has no type, no shape, or no place"],
    [fileOf({ a: { ...T, shape: [2, 'x'] } }), "tensor 'a' has no type, no shape, or no place"],
    [fileOf({ a: { ...T, shape: ['2'] } }), "tensor 'a' has no type, no shape, or no place"],
    [fileOf({ a: { ...T, data_offsets: [0, 'x'] } }), "tensor 'a' has no type, no shape, or no place"],
    [fileOf({ a: { ...T, shape: [2, 3] } }), "tensor 'a' of [2,3] has 8 bytes, and needs 24"],
    [fileOf({ a: { ...T, dtype: 'I32' } }), "tensor 'a' is I32; floats are F32, F16, BF16 or F64"],
    [fileOf({ a: { ...T, dtype: 'toString' } }), "tensor 'a' is toString; floats are F32, F16, BF16 or F64"],
    [fileOf({ b: { ...T, data_offsets: [4, 12] }, a: T }, 12), "tensor 'b' begins at byte 4, where 8 is wanted"],
    [fileOf({ a: { ...T, data_offsets: [1, 9] } }, 9), "tensor 'a' begins at byte 1, where 0 is wanted"],
    [
      fileOf({ b: T, odd: { dtype: 'U8', shape: [3], data_offsets: [8, 3] } }, 3),
      "tensor 'odd' ends at byte 3, and begins at 8",
    ],
    [fileOf([1]), 'its header is no JSON object: it is no safetensors file'],
  ];
  for (const [file, sentence] of rows)
    assert.throws(() => read(file), { code: 'source-unreadable', message: `file: ${sentence}` }, sentence);
});
