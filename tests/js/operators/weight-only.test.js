/** Rows times weights of 4, 8 and 16 bits, read as they are: as in double, and the same on two threads. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InferenceSession, Tensor } from '../../../js/index.js';
import { attribute, graphProto, info, message, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { batchBits, batchUnit } from '../../support/recipe.js';
import { HERE } from '../../support/engines.js';

/** Over the 4 MB of float32 that are widened once; enough columns for two threads, and some left over. */
const [DEPTH, COLUMNS, BLOCK] = [544, 2051, 32];
const BLOCKS = DEPTH / BLOCK;
const WIDE = 4 * DEPTH * COLUMNS;

const floats = (seed, count, size = 1) =>
  Float32Array.from({ length: count }, (_, i) => size * (batchUnit(seed, i) - 0.5));
const bytes = (seed, count) => Uint8Array.from({ length: count }, (_, i) => batchBits(seed, i));
const signed = (seed, count) => new Int8Array(bytes(seed, count).buffer);
/** float16 from 2^-24 to 2: subnormal ones too. */
const halves = Uint16Array.from({ length: DEPTH * COLUMNS }, (_, i) => batchBits(1, i) & 0xbfff);
const ofHalf = (bits) => {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return bits & 0x8000 ? -size : size;
};

const plain = (k, n) => k * COLUMNS + n;
const turned = (k, n) => n * DEPTH + k;
const q = signed(2, DEPTH * COLUMNS);
const u = bytes(3, DEPTH * COLUMNS);
const points = bytes(4, COLUMNS);
const blockPoints = bytes(5, COLUMNS * BLOCKS);
const scales = floats(6, COLUMNS, 0.02);
const blockScales = floats(7, COLUMNS * BLOCKS, 0.02);
const bias = floats(8, COLUMNS);
const nibbles = bytes(9, (DEPTH * COLUMNS) / 2);
const nibble = (data, i) => (data[i >> 1] >> ((i % 2) * 4)) & 15;
const nibblePoints = bytes(10, COLUMNS * Math.ceil(BLOCKS / 2));
const weight = (name, type, dims, data) => tensor(name, { type, dims, data });
const dequantize = (inputs, axis, block) =>
  node('DequantizeLinear', inputs, 'wide', attribute('axis', axis), ...(block ? [attribute('block_size', block)] : []));
const contrib = (one) => new Uint8Array([...one, ...message([7, 'com.microsoft'])]);
const bits = (inputs, count) =>
  contrib(
    node(
      'MatMulNBits',
      inputs,
      'y',
      attribute('K', DEPTH),
      attribute('N', COLUMNS),
      attribute('bits', count),
      attribute('block_size', BLOCK),
    ),
  );
const product = node('MatMul', ['x', 'wide'], 'y');
const gemm = node('Gemm', ['x', 'wide', 'bias'], 'y', attribute('transB', 1));
const cast = node('Cast', ['w'], 'wide', attribute('to', 1));
const transposed = [COLUMNS, DEPTH];
const matrix = [DEPTH, COLUMNS];
const ofBias = weight('bias', 'float32', [COLUMNS], bias);

/** `rounded`: a few rows of x are rounded to 16 bits, 32 numbers to a scale. */
const KINDS = {
  'int8 with one scale': {
    rounded: true,
    nodes: [dequantize(['w', 's'], 1), product],
    weights: [weight('w', 'int8', matrix, q), weight('s', 'float32', [], Float32Array.of(0.02))],
    at: (k, n) => q[plain(k, n)] * Math.fround(0.02),
  },
  'uint8 with a scale and a zero point for each column': {
    rounded: true,
    nodes: [dequantize(['w', 's', 'z'], -1), product],
    weights: [
      weight('w', 'uint8', matrix, u),
      weight('s', 'float32', [COLUMNS], scales),
      weight('z', 'uint8', [COLUMNS], points),
    ],
    at: (k, n) => (u[plain(k, n)] - points[n]) * scales[n],
  },
  'uint8 in blocks': {
    rounded: true,
    nodes: [dequantize(['w', 's', 'z'], 0, BLOCK), product],
    weights: [
      weight('w', 'uint8', matrix, u),
      weight('s', 'float32', [BLOCKS, COLUMNS], blockScales),
      weight('z', 'uint8', [BLOCKS, COLUMNS], blockPoints),
    ],
    at: (k, n) => {
      const block = Math.floor(k / BLOCK) * COLUMNS + n;
      return (u[plain(k, n)] - blockPoints[block]) * blockScales[block];
    },
  },
  'a transposed int8 with a scale for each column and a bias': {
    rounded: true,
    nodes: [dequantize(['w', 's'], 0), gemm],
    weights: [weight('w', 'int8', transposed, q), weight('s', 'float32', [COLUMNS], scales), ofBias],
    at: (k, n) => q[turned(k, n)] * scales[n],
    more: (n) => bias[n],
  },
  float16: {
    nodes: [cast, product],
    weights: [weight('w', 'float16', matrix, halves)],
    at: (k, n) => ofHalf(halves[plain(k, n)]),
  },
  'a transposed float16 with a bias': {
    nodes: [cast, gemm],
    weights: [weight('w', 'float16', transposed, halves), ofBias],
    at: (k, n) => ofHalf(halves[turned(k, n)]),
    more: (n) => bias[n],
  },
  'MatMulNBits of 4 bits with zero points': {
    rounded: true,
    nodes: [bits(['x', 'w', 's', 'z'], 4)],
    weights: [
      weight('w', 'uint8', [COLUMNS, BLOCKS, BLOCK / 2], nibbles),
      weight('s', 'float32', [COLUMNS * BLOCKS], blockScales),
      weight('z', 'uint8', [nibblePoints.length], nibblePoints),
    ],
    at: (k, n) => {
      const block = Math.floor(k / BLOCK);
      const point = nibble(nibblePoints, n * 2 * Math.ceil(BLOCKS / 2) + block);
      return (nibble(nibbles, turned(k, n)) - point) * blockScales[n * BLOCKS + block];
    },
  },
  'MatMulNBits of 8 bits': {
    rounded: true,
    nodes: [bits(['x', 'w', 's'], 8)],
    weights: [
      weight('w', 'uint8', [COLUMNS, BLOCKS, BLOCK], u),
      weight('s', 'float32', [COLUMNS * BLOCKS], blockScales),
    ],
    at: (k, n) => (u[turned(k, n)] - 128) * blockScales[n * BLOCKS + Math.floor(k / BLOCK)],
  },
};

const modelOf = ({ nodes, weights }, type = 1, made = 1) =>
  modelProto({
    irVersion: 10,
    graph: graphProto({
      node: nodes,
      name: 'rows',
      initializer: weights,
      input: info('x', type, ['N', DEPTH]),
      output: info('y', made, ['N', COLUMNS]),
    }),
    opsetImport: [opsetId(21), opsetId(1, 'com.microsoft')],
  });

/** The products in double, and the sizes of what was added up. */
function expected(x, rows, { at, more = () => 0 }) {
  const sums = Array.from({ length: rows * COLUMNS }, (_, i) => more(i % COLUMNS));
  const sizes = sums.map(Math.abs);
  for (let n = 0; n < COLUMNS; n++)
    for (let k = 0; k < DEPTH; k++) {
      const w = at(k, n);
      for (let i = 0; i < rows; i++) {
        sums[i * COLUMNS + n] += x[i * DEPTH + k] * w;
        sizes[i * COLUMNS + n] += Math.abs(x[i * DEPTH + k] * w);
      }
    }
  return { sums, sizes };
}

for (const [name, kind] of Object.entries(KINDS))
  test(`${name}: a few rows, and nine`, async () => {
    const model = modelOf(kind);
    const session = await InferenceSession.create(model, HERE);
    const two = await InferenceSession.create(model, { threads: 2 });
    for (const rows of [1, 3, 8]) {
      const x = floats(rows + 20, rows * DEPTH);
      const feeds = { x: new Tensor('float32', x, [rows, DEPTH]) };
      const { y } = await session.run(feeds);
      const { sums, sizes } = expected(x, rows, kind);
      const worst = y.data.reduce((most, v, i) => Math.max(most, Math.abs(v - sums[i]) / sizes[i]), 0);
      assert.ok(worst < (kind.rounded ? 8e-6 : 4e-7), `${rows} rows are off by ${worst} of what is added up`);
      assert.deepEqual((await two.run(feeds)).y.data, y.data, `${rows} rows on two threads`);
    }
    assert.ok((await session.getMemoryPlan()).arenaBytes < WIDE / 8, 'the weights are not widened');
    const x = floats(30, 9 * DEPTH);
    const feeds = { x: new Tensor('float32', x, [9, DEPTH]) };
    const { y } = await session.run(feeds);
    const { sums, sizes } = expected(x, 9, kind);
    const worst = y.data.reduce((most, v, i) => Math.max(most, Math.abs(v - sums[i]) / sizes[i]), 0);
    assert.ok(worst < 4e-7, `nine rows are off by ${worst} of what is added up`);
    assert.deepEqual((await two.run(feeds)).y.data, y.data, 'nine rows on two threads');
    assert.ok((await session.getMemoryPlan()).arenaBytes < WIDE / 2, 'for nine rows a panel at a time is widened');
    const plain = await InferenceSession.create(model, { ...HERE, passes: 'none' });
    assert.deepEqual((await plain.run(feeds)).y.data, y.data, 'the bits of the widened matrix');
    await Promise.all([session.release(), two.release(), plain.release()]);
  });

test('float16 with an infinity is computed as before', async () => {
  const data = halves.slice();
  data[plain(5, 7)] = 0x7c00;
  const session = await InferenceSession.create(
    modelOf({ nodes: [cast, product], weights: [weight('w', 'float16', matrix, data)] }),
    HERE,
  );
  const { y } = await session.run({ x: new Tensor('float32', new Float32Array(DEPTH).fill(1), [1, DEPTH]) });
  assert.equal(y.data[7], Number.POSITIVE_INFINITY);
  assert.ok(Number.isFinite(y.data[8]));
  await session.release();
});

test('MatMulInteger: bytes of each kind, exactly', async () => {
  for (const [type, code, w, wType, point] of [
    ['uint8', 2, q, 'int8', Int8Array.of(-3)],
    ['uint8', 2, u, 'uint8', points],
    ['int8', 3, u, 'uint8', Uint8Array.of(255)],
  ]) {
    const model = modelOf(
      {
        nodes: [node('MatMulInteger', ['x', 'w', 'a', 'b'], 'y')],
        weights: [
          weight('w', wType, matrix, w),
          weight('a', type, [], type === 'int8' ? Int8Array.of(-9) : Uint8Array.of(130)),
          weight('b', wType, point.length > 1 ? [COLUMNS] : [], point),
        ],
      },
      code,
      6,
    );
    const session = await InferenceSession.create(model, HERE);
    for (const rows of [1, 2, 13]) {
      const x = (type === 'int8' ? signed : bytes)(rows, rows * DEPTH);
      const { y } = await session.run({ x: new Tensor(type, x, [rows, DEPTH]) });
      const at = (k, n) => w[plain(k, n)] - point[point.length > 1 ? n : 0];
      const centered = Float64Array.from(x, (v) => v - (type === 'int8' ? -9 : 130));
      assert.deepEqual([...y.data], expected(centered, rows, { at }).sums, `${rows} rows of ${type}`);
    }
    await session.release();
  }
});
