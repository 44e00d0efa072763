/** `trainlet extend`: classes are added to what was trained, with examples and without, and train goes on with all. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { TrainingSession } from '../../../js/index.js';
import { clusters, FEATURES, golden } from '../../support/clusters.js';
import { run } from '../../support/run-cli.js';

const NAMES = ['ant', 'bee', 'cat', 'dog', 'eel'];
let folder;
const at = (name) => path.join(folder, name);

/** Points of the classes of these names. */
async function writeTable(name, count, names) {
  const { inputs, labels } = clusters(count, 3);
  const rows = [...labels.labels.data].flatMap((label, i) => {
    const point = inputs.input.data.subarray(i * FEATURES, (i + 1) * FEATURES);
    return names.includes(NAMES[Number(label)]) ? [[...point, NAMES[Number(label)]].join(',')] : [];
  });
  const head = [...Array.from({ length: FEATURES }, (_, i) => `input.${i}`), 'label'].join(',');
  await writeFile(at(name), [head, ...rows, ''].join('\n'));
}
const done = async (...args) => {
  const { code, stdout, stderr } = await run(...args);
  assert.equal(code, 0, stderr);
  return stdout;
};
const accuracyOf = async (place, table, names) =>
  Number(/accuracy ([\d.]+)/.exec(await done('eval', at(place), '--data', at(table), '--classes', names.join()))?.[1]);

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-cli-extend-'));
  await writeFile(at('model.onnx'), golden('mlp_small.onnx'));
  await writeTable('two.csv', 100, ['ant', 'bee']);
  await writeTable('three.csv', 100, ['ant', 'bee', 'cat']);
  const heads = ['--head', 'ant', '--head', 'bee'];
  await done('artifacts', at('model.onnx'), '--loss', 'cross-entropy', ...heads, '--train', '*', '-o', at('two'));
  await done('train', at('two'), '--data', at('two.csv'), '--classes', 'ant,bee', '--epochs', '30', '--lr', '0.01');
});
after(() => rm(folder, { recursive: true }));

test('a class is added, answers at once by examples, and what was known stays', async () => {
  const told = await done('extend', at('two'), '--add', 'cat', '--data', at('three.csv'), '-o', at('three'));
  assert.match(told, /three: ant, bee, cat\n$/);
  const session = await TrainingSession.create(
    {
      trainModel: at('three/training_model.onnx'),
      evalModel: at('three/eval_model.onnx'),
      checkpointState: at('three/checkpoint'),
    },
    { worker: false },
  );
  assert.deepEqual(session.classNames, ['ant', 'bee', 'cat']);
  await session.release();
  const names = ['ant', 'bee', 'cat'];
  assert.ok((await accuracyOf('three', 'three.csv', names)) > 0.8);
  await done('train', at('three'), '--data', at('three.csv'), '--classes', names.join(), '--epochs', '5');
  assert.ok((await accuracyOf('three', 'three.csv', names)) > 0.9);
});

test('without examples the old classes are told as before', async () => {
  await done('extend', at('two'), '--add', 'cat', '--add', 'dog', '-o', at('four'));
  const [was, is] = [
    await accuracyOf('two', 'two.csv', ['ant', 'bee']),
    await accuracyOf('four', 'two.csv', ['ant', 'bee', 'cat', 'dog']),
  ];
  assert.equal(is, was);
});

test('what is missing or wrong is one sentence', async () => {
  for (const [args, message, wanted] of [
    [['--add', 'cat'], /--out/, 2],
    [['-o', at('x')], /--add CLASS is needed/, 2],
    [['--add', 'bee', '-o', at('x')], /'bee' is not a name of one class alone/, 2],
    [['--add', 'cat', '--output', 'loss', '-o', at('x')], /loss/, 2],
    [['--add', 'cat', '-o', at('two')], /is there already; --force/, 1],
  ]) {
    const { code, stderr } = await run('extend', at('two'), ...args);
    assert.match(stderr, message);
    assert.equal(code, wanted, stderr);
  }
  assert.match(await done('extend', '--help'), /^trainlet extend DIR\|COMPACT --add CLASS -o OUT/);
});
