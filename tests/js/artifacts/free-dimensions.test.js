/** `freeDimensionOverrides`: dims of a model's inputs as numbers, so that an operator trains which needs one. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { artifactsIn } from '../../../js/cli/files.js';
import { generateArtifacts, parametersOf, planMemory, Tensor, TrainingSession } from '../../../js/index.js';
import {
  attribute,
  graphProto,
  info,
  message,
  modelProto,
  node,
  opsetId,
  tensor,
  tensorTypeProto,
  typeProto,
  valueInfoProto,
  weight,
} from '../../support/onnx-file.js';
import { run } from '../../support/run-cli.js';

const FREE = ['B', 4];
const AT = ['picks', 'depth'];
/** Dims without a name: neither number nor text, or -1. */
const NAMELESS = message();
const MINUS = message([1, -1]);

/** y = GatherND(x · w, at): how many dims y has depends on the last dim of `at`, if the file does not say it of y. */
function picking(x = FREE, at = AT, y) {
  const graph = graphProto({
    node: [node('MatMul', ['x', 'w'], 'h'), node('GatherND', ['h', 'at'], 'y')],
    name: 'g',
    initializer: weight('w', [4, 3], 4, 1),
    input: [input('x', 1, x), input('at', 7, at)],
    output: y
      ? info('y', 1, y)
      : valueInfoProto({ name: 'y', type: typeProto({ tensorType: tensorTypeProto({ elemType: 1 }) }) }),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

function input(name, type, dims) {
  const parts = dims.map((d) => [1, typeof d === 'object' ? d : message(typeof d === 'string' ? [2, d] : [1, d])]);
  return valueInfoProto({
    name,
    type: typeProto({ tensorType: tensorTypeProto({ elemType: type, shape: message(...parts) }) }),
  });
}

const x = new Tensor(
  'float32',
  Float32Array.from({ length: 20 }, (_, i) => Math.sin(i)),
  [5, 4],
);
const at = new Tensor('int64', BigInt64Array.from([0n, 2n, 4n, 1n, 3n, 0n]), [3, 2]);
const target = new Tensor('float32', Float32Array.of(1, -1, 0.5), [3]);

async function losses(artifacts) {
  const session = await TrainingSession.create(artifacts);
  const all = [];
  for (let i = 0; i < 4; i++) all.push((await session.step({ x, at, target })).loss);
  await session.release();
  return all;
}

const make = (model, freeDimensionOverrides) => generateArtifacts(model, { loss: 'mse', freeDimensionOverrides });
const fixed = await losses(await make(picking(FREE, ['picks', 2])));

test('an operator that needs the number of a dim names it, and trains with it as if the file had it', async () => {
  const message =
    "GatherND 'GatherNDy': dimension 1 of input 1 ('depth') must be a number: freeDimensionOverrides can give one";
  await assert.rejects(make(picking()), { code: 'unsupported-op', message });
  assert.deepEqual(await losses(await make(picking(), { depth: 2 })), fixed);
  assert.ok(fixed.at(-1) < fixed[0]);
});

test('the rank that the file declares of a GatherND tells how many numbers name a slice', async () => {
  assert.deepEqual(await losses(await make(picking(FREE, AT, ['picks']))), fixed);
  await assert.rejects(make(picking(FREE, AT, ['picks', 1, 2, 3])), { message: /GatherND.*'depth'.*must be a number/ });
});

/** y = op(x · w, ints …), whose int vectors are fed and have these lengths. */
function withInts(op, ints, y, attributes, length) {
  const graph = graphProto({
    node: [node('MatMul', ['x', 'w'], 'h'), node(op, ['h', ...Object.keys(ints)], 'y', ...attributes)],
    name: 'g',
    initializer: weight('w', [4, 3], 4, 1),
    input: [
      input('x', 1, ['B', 4]),
      ...Object.entries(ints).map(([name, numbers]) => input(name, 7, [length ?? numbers.length])),
    ],
    output: info('y', 1, y),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

for (const [op, ints, y, ...attributes] of [
  ['Reshape', { shape: [3, 5] }, [3, 5]],
  ['Expand', { shape: [2, 5, 3] }, [2, 5, 3]],
  ['Slice', { starts: [1], ends: [4] }, [3, 3]],
  ['Slice', { starts: [1, 0], ends: [4, 9], axes: [1, 0] }, [5, 2]],
  ['ReduceSum', { axes: [0] }, [3], attribute('keepdims', 0)],
  ['ReduceSum', { axes: [0] }, [1, 3]],
])
  test(`${op} of fed ${Object.keys(ints)} trains while their length is free`, async () => {
    const feeds = { x, target: new Tensor('float32', new Float32Array(y.reduce((a, b) => a * b)).fill(0.5), y) };
    for (const [name, numbers] of Object.entries(ints))
      feeds[name] = new Tensor('int64', BigInt64Array.from(numbers, BigInt), [numbers.length]);
    const all = [undefined, 'length'].map(async (length) => {
      const free = y.map((_, i) => `y${i}`);
      const made = await generateArtifacts(withInts(op, ints, free, attributes, length), {
        loss: 'mse',
        batch: 'fixed',
      });
      const session = await TrainingSession.create(made);
      const losses = [];
      for (let i = 0; i < 3; i++) losses.push((await session.step(feeds)).loss);
      await session.release();
      return losses;
    });
    const [numbers, free] = await Promise.all(all);
    assert.deepEqual(free, numbers);
    assert.ok(free[2] < free[0]);
  });

test('a name means each dim of that name, the others stay free', async () => {
  const made = await make(picking(['B', 4], ['B', 'depth']), { depth: 2 });
  const free = await TrainingSession.create(made);
  assert.deepEqual(free.trainingInputs[0].dims, ['B', 4]);
  await free.release();
  const both = await TrainingSession.create(await make(picking(['B', 4], ['B', 'depth']), { depth: 2, B: 3 }));
  assert.deepEqual(
    both.trainingInputs.slice(0, 2).map(({ dims }) => dims),
    [
      [3, 4],
      [3, 2],
    ],
  );
  await both.release();
});

test('a dim without a name is called by its input and its place', async () => {
  for (const dim of [NAMELESS, MINUS])
    assert.deepEqual(await losses(await make(picking(FREE, ['picks', dim]), { 'at[1]': 2 })), fixed);
});

/** y = x · w padded behind to a multiple of 4 rows, as networks pad pictures of any size. */
function padding(mode, rows) {
  const int = (...data) => ({ type: 'int64', dims: [data.length], data: BigInt64Array.from(data, BigInt) });
  const ints = { zero: int(0), zeros: int(0, 0), four: int(4) };
  const graph = graphProto({
    node: [
      node('MatMul', ['x', 'w'], 'h'),
      node('Shape', ['h'], 'shape'),
      node('Gather', ['shape', 'zero'], 'rows'),
      node('Neg', ['rows'], 'less'),
      node('Mod', ['less', 'four'], 'more'),
      node('Concat', ['zeros', 'more', 'zero'], 'pads', attribute('axis', 0)),
      node('Pad', ['h', 'pads'], 'y', attribute('mode', mode)),
    ],
    name: 'g',
    initializer: [weight('w', [4, 3], 4, 1), ...Object.entries(ints).map(([name, value]) => tensor(name, value))],
    input: info('x', 1, [rows, 4]),
    output: info('y', 1, ['n', 3]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

test('pads computed from a free dim have the gradient that they have of a fixed one', async () => {
  const wanted = new Tensor(
    'float32',
    Float32Array.from({ length: 24 }, (_, i) => Math.cos(i)),
    [8, 3],
  );
  const lossesOf = async (mode, rows) => {
    const session = await TrainingSession.create(
      await generateArtifacts(padding(mode, rows), { loss: 'mse', batch: 'fixed' }),
    );
    const all = [];
    for (let i = 0; i < 4; i++) all.push((await session.step({ x, target: wanted })).loss);
    await session.release();
    return all;
  };
  for (const mode of ['constant', 'reflect', 'edge'])
    assert.deepEqual(await lossesOf(mode, 'rows'), await lossesOf(mode, 5), mode);
});

test('large numbers and large models keep their bytes', async () => {
  const made = await make(picking(['B', 4], AT), { depth: 2, B: 70_000 });
  const session = await TrainingSession.create(made);
  assert.deepEqual(session.trainingInputs[0].dims, [70_000, 4]);
  await session.release();
});

test('other questions about the model heed it', async () => {
  await assert.rejects(parametersOf(picking()), { message: /'depth'/ });
  const [w] = await parametersOf(picking(), { freeDimensionOverrides: { depth: 2 } });
  assert.deepEqual([w.name, w.trainable], ['w', true]);
  const dims = { x: [5, 4], at: [3, 2], target: [3] };
  const plan = await planMemory(picking(), { loss: 'mse', dims, freeDimensionOverrides: { depth: 2 } });
  assert.ok(plan.peakBytes > 0);
});

test('what is no free dim, or no number, is refused', async () => {
  const refused = (numbers, message, model = picking()) =>
    assert.rejects(make(model, numbers), { code: 'invalid-argument', message });
  const there = "freeDimensionOverrides: no input has a free dim 'Depth'; there are 'B', 'picks', 'depth'";
  await refused({ depth: 2, Depth: 2 }, there);
  await refused({ N: 2 }, /'N'; there are 'x\[0\]', 'x\[1\]'$/, picking([NAMELESS, MINUS], [3, 2]));
  await refused({ N: 2 }, /'N'; there are none$/, picking([5, 4], [3, 2]));
  await refused({ w: 2 }, /no input has a free dim 'w'/);
  for (const number of [0, -1, 1.5, Number.NaN, 2 ** 31, '2', 2n])
    await refused(
      { depth: number },
      `freeDimensionOverrides: 'depth' must be a whole number of at least 1, not ${number}`,
    );
  await refused([2], /freeDimensionOverrides: wanted an object, not/);
  const { evalModel } = await generateArtifacts(picking(FREE, ['picks', 2]), { loss: 'mse', ortFormat: true });
  await refused({ depth: 2 }, /the model is in ORT format/, evalModel);
});

test('bytes that are no ONNX file are refused as without it', async () => {
  const model = picking();
  for (const bytes of [
    new TextEncoder().encode('<!doctype html>'),
    model.slice(0, -20),
    model.slice(0, -60),
    model.slice(0, 5),
  ]) {
    const plain = await make(bytes).catch((error) => error);
    await assert.rejects(make(bytes, { depth: 2 }), { code: plain.code, message: plain.message });
  }
});

test('at the command line, --dim', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-dims-'));
  try {
    const file = path.join(folder, 'picking.onnx');
    await writeFile(file, picking());
    const out = path.join(folder, 'out');
    const made = await run('artifacts', file, '--loss', 'mse', '--dim', 'depth=2', '-o', out);
    assert.deepEqual([made.code, made.stderr], [0, '']);
    assert.deepEqual(await losses(artifactsIn(out)), fixed);
    const wrong = await run('artifacts', file, '--loss', 'mse', '--dim', 'depth', '-o', out, '--force');
    assert.match(wrong.stderr, /--dim must be NAME=NUMBER, as height=224, not 'depth'/);
    assert.match(
      (await run('artifacts', out, '--format', 'compact', '--dim', 'a=2', '-o', `${out}.c`)).stderr,
      /--dim/,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
