/**
 * Sizes computed from constants, beside a batch that is free: every operator that computes one runs while the graph is
 * built, so that shapes are known and the model trains.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';

const FLOAT = 1;
const INT = 7;
const BOOL = 9;

/** Constants that the chains read. Floats have names with a point. */
const INTS = {
  0: [0n],
  1: [1n],
  2: [2n],
  3: [3n],
  4: [4n],
  11: [11n],
  '-3': [-3n],
  '0,1': [0n, 1n],
  '1,2': [1n, 2n],
  '3,1': [3n, 1n],
  '1,3,2': [1n, 3n, 2n],
  '0,1,1,1': [0n, 1n, 1n, 1n],
};
const FLOATS = { 'f3.2': [3.2], 'f2.1': [2.1], 'f9.0': [9], 'f3.0': [3] };
const to = (type) => attribute('to', type);
const bool = (op, ...inputs) => [
  node(op, inputs, 'b'),
  node('Cast', ['b'], 'c', to(INT)),
  node('Add', ['c', '2'], 'v'),
];
const float = (op, ...inputs) => [node(op, inputs, 'f'), node('Cast', ['f'], 'v', to(INT))];
const second = (from) => node('Gather', [from, '1'], 'v');
const truth = (name, of) => node('Cast', [of], name, to(BOOL));

/** Each gives v = [3]. */
const CHAINS = {
  Abs: [node('Abs', ['-3'], 'v')],
  Add: [node('Add', ['1', '2'], 'v')],
  And: [truth('x1', '1'), ...bool('And', 'x1', 'x1')],
  ArgMax: [node('ArgMax', ['1,3,2'], 'a', attribute('axis', 0)), node('Add', ['a', '2'], 'v')],
  BitwiseAnd: [node('BitwiseAnd', ['11', '3'], 'v')],
  Ceil: float('Ceil', 'f2.1'),
  Clip: [node('Clip', ['4', 'zero', 'three'], 'v')],
  Compress: [truth('keep', '0,1'), node('Compress', ['1,3,2', 'keep'], 'v', attribute('axis', 0))],
  ConstantOfShape: [node('ConstantOfShape', ['1'], 'a', attribute('value', one(3n)))].concat(
    node('Identity', ['a'], 'v'),
  ),
  CumSum: [node('CumSum', ['1,2', 'zero'], 'a'), second('a')],
  Div: [node('Div', ['11', '3'], 'v')],
  Equal: bool('Equal', '1', '1'),
  Expand: [node('Expand', ['3', '1'], 'v')],
  Floor: float('Floor', 'f3.2'),
  GatherElements: [node('GatherElements', ['1,3,2', '1'], 'v')],
  GatherND: [node('Unsqueeze', ['1', '0'], 'at'), node('GatherND', ['1,3,2', 'at'], 'v')],
  Greater: bool('Greater', '2', '1'),
  GreaterOrEqual: bool('GreaterOrEqual', '2', '1'),
  Less: bool('Less', '1', '2'),
  LessOrEqual: bool('LessOrEqual', '1', '2'),
  Max: [node('Max', ['3', '1'], 'v')],
  Min: [node('Min', ['3', '4'], 'v')],
  Mod: [node('Mod', ['11', '4'], 'v')],
  Mul: [node('Mul', ['3', '1'], 'v')],
  Neg: [node('Neg', ['-3'], 'v')],
  NonZero: [node('NonZero', ['0,1,1,1'], 'a'), node('Shape', ['a'], 's'), second('s')],
  Not: [truth('x0', '0'), ...bool('Not', 'x0')],
  OneHot: [node('OneHot', ['1', 'three', '0,1'], 'a'), node('Shape', ['a'], 's'), second('s')],
  Or: [truth('x1', '1'), truth('x0', '0'), ...bool('Or', 'x0', 'x1')],
  Pow: [node('Pow', ['3', '1'], 'v')],
  Range: [node('Range', ['zero', 'three', 'one'], 'a'), node('Shape', ['a'], 'v')],
  ReduceMax: [node('ReduceMax', ['1,3,2', '0'], 'v')],
  ReduceMin: [node('Neg', ['1,3,2'], 'n'), node('ReduceMin', ['n', '0'], 'm'), node('Neg', ['m'], 'v')],
  ReduceProd: [node('ReduceProd', ['3,1', '0'], 'v')],
  ReduceSum: [node('ReduceSum', ['1,2', '0'], 'v')],
  Round: float('Round', 'f3.2'),
  ScatterElements: [node('ScatterElements', ['1', '0', '3'], 'v')],
  ScatterND: [node('Unsqueeze', ['0', '0'], 'at'), node('ScatterND', ['1', 'at', '3'], 'v')],
  Sign: [node('Sign', ['11'], 'a'), node('Add', ['a', '2'], 'v')],
  Size: [node('Size', ['1,3,2'], 'a'), node('Reshape', ['a', '1'], 'v')],
  Slice: [node('Slice', ['1,3,2', '1', '2'], 'v')],
  Split: [node('Split', ['1,3,2', 'parts'], ['l', 'v', 'r'])],
  Sqrt: float('Sqrt', 'f9.0'),
  Sub: [node('Sub', ['4', '1'], 'v')],
  Tile: [node('Tile', ['3', '1'], 'v')],
  TopK: [node('TopK', ['1,3,2', '1'], ['v', 'at'])],
  Trilu: [node('Unsqueeze', ['3', '0'], 'a'), node('Trilu', ['a'], 't'), node('Reshape', ['t', '1'], 'v')],
  Trunc: [node('Cast', ['f3.2'], 'v', to(INT))],
  Unique: [node('Unique', ['3,1'], 'u'), second('u')],
  Where: [truth('x1', '1'), node('Where', ['x1', '3', '1'], 'v')],
  Xor: [truth('x1', '1'), truth('x0', '0'), ...bool('Xor', 'x0', 'x1')],
};

function one(value) {
  return { type: 'int64', dims: [1], data: BigInt64Array.of(value) };
}

const fileOf = (nodes, weights, input, output) =>
  modelProto({
    graph: graphProto({
      node: nodes,
      name: 'g',
      initializer: weights,
      input: info('x', FLOAT, input),
      output: info('y', FLOAT, output),
    }),
    opsetImport: opsetId(18),
  });
const ints = (name, data, dims = [data.length]) =>
  tensor(name, { type: 'int64', dims, data: BigInt64Array.from(data) });

/** x·w resized to (N, 1, v, v): Resize needs each size before the run, but for the batch. */
function model(chain) {
  const constants = Object.entries(INTS).map(([name, data]) => ints(name, data));
  const scalars = Object.entries({ zero: 0n, one: 1n, three: 3n }).map(([name, data]) => ints(name, [data], []));
  const floats = Object.entries(FLOATS).map(([name, data]) =>
    tensor(name, { type: 'float32', dims: [1], data: Float32Array.from(data) }),
  );
  const weight = tensor('w', { type: 'float32', dims: [1, 1, 1, 1], data: Float32Array.of(0.5) });
  const nodes = [
    node('Conv', ['x', 'w'], 'h'),
    ...chain,
    node('Shape', ['h'], 'shape'),
    node('Gather', ['shape', '0'], 'batch'),
    node('Concat', ['batch', '1', 'v', 'v'], 'sizes', attribute('axis', 0)),
    node('Resize', ['h', '', '', 'sizes'], 'y', attribute('mode', 'linear')),
  ];
  const weights = [...constants, ...scalars, ...floats, ints('parts', [1n, 1n, 1n]), weight];
  return fileOf(nodes, weights, ['N', 1, 2, 2], ['N', 1, 'H', 'W']);
}

async function lossesOf(file, x, target) {
  const artifacts = await generateArtifacts(file, {
    loss: 'mse',
    optimizer: { type: 'sgd', lr: 0.1 },
    requiresGrad: ['w'],
  });
  const session = await TrainingSession.create(artifacts, { worker: false, threads: 1 });
  const losses = [];
  for (let i = 0; i < 2; i++) losses.push((await session.step({ x, target })).loss);
  await session.release();
  return losses;
}

const eight = [1, 2, 3, 4, 5, 6, 7, 8];
const pictures = (chain) =>
  lossesOf(
    model(chain),
    new Tensor('float32', eight, [2, 1, 2, 2]),
    new Tensor('float32', new Array(18).fill(1), [2, 1, 3, 3]),
  );
const wanted = await pictures([node('Identity', ['3'], 'v')]);

for (const [op, chain] of Object.entries(CHAINS))
  test(`a size by ${op}`, async () => assert.deepEqual(await pictures(chain), wanted));

/** A free size by `op`, and 2 beside it: SplitToSequence cuts the 2 into parts of 1. */
function split(op, by, dims) {
  const nodes = [
    node('Mul', ['x', 'w'], 'h'),
    node('Shape', ['h'], 'shape'),
    node('Gather', ['shape', 'zero'], 'batch'),
    node(op, ['batch', by], 'rows'),
    node('Concat', ['rows', 'two'], 'sizes', attribute('axis', 0)),
    node('Reshape', ['h', 'sizes'], 'r'),
    node('SplitToSequence', ['r', 'part'], 's', attribute('axis', 1)),
    node('SequenceAt', ['s', 'first'], 'y'),
  ];
  const weight = tensor('w', { type: 'float32', dims: [1], data: Float32Array.of(0.5) });
  const weights = [ints('zero', [0n]), ints('two', [2n]), ints('part', [1n], []), ints('first', [0n], []), weight];
  return fileOf(nodes, weights, ['N', ...dims], ['M', 1]);
}

for (const [op, by, dims] of [
  ['Mul', 'two', [2, 2]],
  ['Add', 'batch', [2, 2]],
  ['Div', 'two', [1]],
])
  test(`${op} of a free size leaves the other sizes known`, async () => {
    const count = dims.reduce((a, b) => a * b, 2);
    const x = new Tensor('float32', eight.slice(0, count), [2, ...dims]);
    const target = new Tensor('float32', new Array(count / 2).fill(1), [count / 2, 1]);
    const first = eight.slice(0, count).filter((_, i) => i % 2 === 0);
    const [loss] = await lossesOf(split(op, by, dims), x, target);
    const want = first.reduce((sum, v) => sum + (v / 2 - 1) ** 2, 0) / first.length;
    assert.ok(Math.abs(loss - want) < 1e-6, `${loss}, wanted ${want}`);
  });
