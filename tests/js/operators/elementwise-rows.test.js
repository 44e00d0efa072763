/**
 * Elementwise operators give the bits of float32 arithmetic, and of whole numbers and booleans what JavaScript gives,
 * at every length of a row, for operands that move along it, that stay, and that come again with each row.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { InferenceSession, Tensor } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, nodeProto, opsetId, tensor, TYPES } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';

const f = Math.fround;
const ALPHA = f(0.3);
const PAIRS = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  Sum: (a, b) => a + b,
  Max: (a, b) => Math.max(a, b),
  Min: (a, b) => Math.min(a, b),
  Div: (a, b) => a / b,
};
const GRADIENTS = {
  ReluGrad: (a, b) => (b > 0 ? a : 0),
  SigmoidGrad: (a, b) => f(a * b) * f(1 - b),
  TanhGrad: (a, b) => a * f(1 - f(b * b)),
  LeakyReluGrad: (a, b) => (b > 0 ? a : a * ALPHA),
  ClipGrad: (a, b) => (b > -0.5 && b < 0.25 ? a : 0),
};
const SINGLES = {
  Relu: (x) => (x < 0 ? 0 : x),
  Neg: (x) => -x,
  Abs: (x) => Math.abs(x),
  LeakyRelu: (x) => (x > 0 ? x : x * ALPHA),
  Clip: (x) => (x < -0.5 ? -0.5 : x > 0.25 ? 0.25 : x),
};
const DOMAINS = { ReluGrad: 'com.microsoft', SigmoidGrad: 'com.microsoft', TanhGrad: 'com.microsoft' };
Object.assign(DOMAINS, { LeakyReluGrad: 'com.microsoft', ClipGrad: 'com.trainlet' });
const ATTRIBUTES = {
  LeakyRelu: [attribute('alpha', { float: ALPHA })],
  LeakyReluGrad: [attribute('alpha', { float: ALPHA })],
  'BitShift left': [attribute('direction', 'LEFT')],
  'BitShift right': [attribute('direction', 'RIGHT')],
  ClipGrad: [attribute('min', { float: -0.5 }), attribute('max', { float: 0.25 })],
};
const BOUNDS = [-0.5, 0.25].map((x, i) => tensor(`bound${i}`, { type: 'float32', dims: [], data: Float32Array.of(x) }));

const BOOLEANS = {
  And: (a, b) => a !== 0 && b !== 0,
  Or: (a, b) => a !== 0 || b !== 0,
  Xor: (a, b) => (a !== 0) !== (b !== 0),
};
const BITS = {
  BitwiseAnd: (a, b) => a & b,
  BitwiseOr: (a, b) => a | b,
  BitwiseXor: (a, b) => a ^ b,
  'BitShift left': (a, b) => (b < 8 ? (a << b) & 255 : 0),
  'BitShift right': (a, b) => (b < 8 ? a >> b : 0),
};
const INTS = { Add: (a, b) => a + b, Sub: (a, b) => a - b, Mul: (a, b) => a * b };

/** One node of the inputs named, matrices whose sizes are symbols of their own. */
function model(op, names, type = 'float32') {
  const bounds = op === 'Clip' ? ['bound0', 'bound1'] : [];
  const node = nodeProto({
    input: [...names, ...bounds],
    output: 'y',
    opType: op.split(' ')[0],
    attribute: ATTRIBUTES[op] ?? [],
    domain: DOMAINS[op] ?? '',
  });
  const graph = graphProto({
    node,
    name: 'g',
    initializer: BOUNDS.slice(0, bounds.length),
    input: names.map((name) => info(name, TYPES[type], [`${name}_rows`, `${name}_length`])),
    output: info('y', TYPES[type], ['rows', 'length']),
  });
  const opsets = [['', 18], ...['com.microsoft', 'com.trainlet'].map((domain) => [domain, 1])];
  return modelProto({ graph, opsetImport: opsets.map(([domain, version]) => opsetId(version, domain)) });
}

const numbers = (length, seed) => Float32Array.from({ length }, (_, i) => 2 * batchUnit(seed, i) - 1);
/** Random, with many zeros and small bytes; a byte that is true need not be 1. */
const KINDS = {
  float32: numbers,
  bool: (length, seed) => Uint8Array.from(numbers(length, seed), (x) => (x < 0 ? 0 : 255 * x)),
  uint8: (length, seed) => Uint8Array.from(numbers(length, seed), (x) => (x < 0 ? -12 * x : 255 * x)),
  int64: (length, seed) => BigInt64Array.from(numbers(length, seed), (x) => BigInt(Math.round(2 ** 40 * x))),
};
/** The bits, without the sign of a zero: of two zeros, either may be the larger. */
const bits = (data) => [...new Uint32Array(Float32Array.from(data, (x) => (x === 0 ? 0 : x)).buffer)];
const most = (each, axis) => Math.max(...each.map((dims) => dims[axis]));

/** Each case: the rows and the length of every input; 1 is stretched. */
async function check(op, compute, cases, type = 'float32') {
  const names = cases[0].map((_, i) => `x${i}`);
  const session = await InferenceSession.create(model(op, names, type), { worker: false, threads: 1 });
  for (const each of cases) {
    const inputs = each.map(([rows, length], i) => KINDS[type](rows * length, 7 * length + i));
    const feeds = Object.fromEntries(inputs.map((data, i) => [names[i], new Tensor(type, data, each[i])]));
    const at = (i, row, column) => inputs[i][(each[i][0] > 1 ? row * each[i][1] : 0) + (each[i][1] > 1 ? column : 0)];
    const wanted = Array.from({ length: most(each, 0) * most(each, 1) }, (_, k) => {
      const [row, column] = [Math.floor(k / most(each, 1)), k % most(each, 1)];
      return compute(...inputs.map((_, i) => at(i, row, column)));
    });
    const { y } = await session.run(feeds);
    const asBits = type === 'float32' ? bits : (data) => [...y.data.constructor.from(data)];
    assert.deepEqual(asBits(y.data), asBits(wanted), `${op} of ${each.map((dims) => dims.join('×')).join(' and ')}`);
  }
  await session.release();
}

const LENGTHS = [1, 3, 4, 15, 16, 17, 20, 31, 32, 37, 1003];
const SHORT = [2, 3, 4, 10, 16, 33, 63, 64, 65];
/** A row for all, a number for each row, one number, and each of both sides. */
const stretched = (length) =>
  [
    [1, length],
    [7, 1],
    [1, 1],
  ].flatMap((other) => [
    [[7, length], other],
    [other, [7, length]],
  ]);
const PAIRS_OF_ROWS = [
  ...LENGTHS.map((n) => [
    [1, n],
    [1, n],
  ]),
  ...SHORT.flatMap(stretched),
  [
    [5, 1],
    [1, 18],
  ],
];
for (const [op, compute] of Object.entries(PAIRS)) test(op, () => check(op, compute, PAIRS_OF_ROWS));
for (const [type, operators] of Object.entries({ bool: BOOLEANS, uint8: BITS, int64: INTS }))
  for (const [op, compute] of Object.entries(operators))
    test(`${op} of ${type}`, () => check(op, compute, PAIRS_OF_ROWS, type));
for (const [op, compute] of Object.entries(GRADIENTS))
  test(op, () =>
    check(
      op,
      compute,
      LENGTHS.map((n) => [
        [1, n],
        [1, n],
      ]),
    ),
  );
for (const [op, compute] of Object.entries(SINGLES))
  test(op, () =>
    check(
      op,
      compute,
      LENGTHS.map((n) => [[1, n]]),
    ),
  );

test('Max and Min keep what is not a number, in every lane', async () => {
  for (const op of ['Max', 'Min']) {
    const session = await InferenceSession.create(model(op, ['x0', 'x1']), { worker: false, threads: 1 });
    for (let at = 0; at < 20; at++) {
      const [a, b] = [numbers(20, 1), numbers(20, 2)];
      (at % 2 ? a : b)[at] = NaN;
      const { y } = await session.run({ x0: new Tensor(a, [1, 20]), x1: new Tensor(b, [1, 20]) });
      assert.equal(y.data.findIndex(Number.isNaN), at, op);
    }
    await session.release();
  }
});
