/** `--constant`: inputs that are always the same, in the model's types, in every command that reads a model. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { artifactsIn } from '../../../js/cli/files.js';
import { constantsIn } from '../../../js/cli/model-options.js';
import { TrainingSession } from '../../../js/index.js';
import { attribute, graphProto, info, modelProto, node, opsetId, weight } from '../../support/onnx-file.js';
import { run } from '../../support/run-cli.js';

let folder = '';
let model = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-constants-'));
  model = path.join(folder, 'switched.onnx');
  await writeFile(model, switched());
});
after(() => rm(folder, { recursive: true }));

/** y = on ? (x · w) · scale : x · w + shift. */
function switched() {
  const graph = graphProto({
    node: [
      node('MatMul', ['x', 'w'], 'h'),
      node('Mul', ['h', 'scale'], 'a'),
      node('Cast', ['shift'], 'f', attribute('to', 1)),
      node('Add', ['h', 'f'], 'b'),
      node('Where', ['on', 'a', 'b'], 'y'),
    ],
    name: 'g',
    initializer: weight('w', [4, 3], 4, 1),
    input: [info('x', 1, [2, 4]), info('scale', 1, []), info('shift', 6, [1]), info('on', 9, [])],
    output: info('y', 1, [2, 3]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

const bound = ['--constant', 'scale=2', '--constant', 'shift=-7', '--constant', 'on=true'];

test('what is bound is no input any more, and decides', async () => {
  const plain = await run('inspect', model);
  assert.deepEqual(plain.stdout.match(/^input .*/gm)?.length, 4, plain.stderr);
  const inspected = await run('inspect', model, ...bound);
  assert.deepEqual(inspected.stdout.match(/^input .*/gm), ['input             x  float32 [2, 4]'], inspected.stderr);
  assert.equal((await run('bench', model, ...bound, '--steps', '1')).code, 0);
  const out = path.join(folder, 'out');
  const made = await run('artifacts', model, '--loss', 'mse', '--batch', 'fixed', ...bound, '-o', out);
  assert.deepEqual([made.code, made.stderr], [0, '']);
  const session = await TrainingSession.create(artifactsIn(out));
  assert.deepEqual(session.trainingInputNames, ['x', 'target']);
  await session.release();
  assert.equal((await run('inspect', out)).code, 0);
});

test('values have the type of their input', () => {
  const of = (type, text) => constantsIn([`n=${text}`], [{ name: 'n', type, dims: [] }]).n;
  for (const [type, text, value] of [
    ['int64', '9007199254740993', 9007199254740993n],
    ['int32', '-5', -5],
    ['uint8', '255', 255],
    ['float32', '5', 5],
    ['float64', '-1.5e3', -1500],
    ['bool', 'true', 1],
    ['bool', 'false', 0],
  ]) {
    const { type: came, data, dims } = of(type, text);
    assert.deepEqual([came, [...data], dims], [type, [value], []], text);
  }
  for (const [type, text] of [
    ['int64', '1.5'],
    ['int32', '3000000000'],
    ['uint8', '-1'],
    ['bool', '1'],
    ['float32', 'true'],
    ['float32', 'big'],
    ['float16', '1'],
    ['string', 'x'],
  ])
    assert.throws(() => of(type, text), { message: `--constant n: the input is ${type}, which ${text} is not` });
});

test('wrong ones are a sentence each', async () => {
  const out = path.join(folder, 'never');
  for (const [args, sentence] of [
    [['inspect', model, '--constant', 'scale'], "--constant must be NAME=VALUE, as sr=16000, not 'scale'"],
    [
      ['artifacts', model, '--loss', 'mse', '--constant', 'rate=1', '-o', out],
      '--constant rate: there is no such input; there are x, scale, shift, on',
    ],
    [['bench', model, '--constant', 'on=2'], '--constant on: the input is bool, which 2 is not'],
    [
      ['shrink', model, '--constant', 'rate=1', '--list'],
      '--constant rate: there is no such input; there are x, scale, shift, on',
    ],
  ]) {
    const { code, stderr } = await run(...args);
    assert.deepEqual([code, stderr.includes(sentence)], [2, true], stderr);
  }
});
