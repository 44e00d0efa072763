/** `trainlet fine-tune`: labels by name in a table, a model that is written only where nothing is worse than before. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { InferenceSession } from '../../../js/index.js';
import { clusters, FEATURES, golden } from '../../support/clusters.js';
import { run } from '../../support/run-cli.js';

const NAMES = ['ant', 'bee', 'cat', 'dog', 'eel'];
let folder, model, table;
const at = (name) => path.join(folder, name);
const fineTune = (...more) => run('fine-tune', model, '--data', table, ...more);

/** Points of five classes; `turn`: how far each label is from the right one. */
async function writeTable(name, count, seed, turn = 0) {
  const { inputs, labels } = clusters(count, seed);
  const rows = [...labels.labels.data].map((label, i) => {
    const point = inputs.input.data.subarray(i * FEATURES, (i + 1) * FEATURES);
    return [...point, NAMES[(Number(label) + turn) % 5]].join(',');
  });
  const head = [...Array.from({ length: FEATURES }, (_, i) => `input.${i}`), 'label'].join(',');
  await writeFile(at(name), [head, ...rows, ''].join('\n'));
  return at(name);
}

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-cli-fine-tune-'));
  model = at('model.onnx');
  await writeFile(model, golden('mlp_small.onnx'));
  table = await writeTable('mine.csv', 60, 3);
});
after(() => rm(folder, { recursive: true }));

test('a model is written, with the names of its classes', async () => {
  const { code, stdout, stderr } = await fineTune('-o', at('mine.onnx'), '--epochs', '5', '--lr', '0.01');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^.*mine\.csv: labels: 60 examples of 5 classes: 0 ant \(12\)/m);
  assert.match(
    stdout,
    /^before: held out loss .*\nafter: {2}held out loss .*\n.*mine\.onnx: ant, bee, cat, dog, eel\n$/m,
  );
  const session = await InferenceSession.create(at('mine.onnx'), { worker: false });
  assert.deepEqual([session.classNames, session.outputNames], [NAMES, ['scores']]);
  const again = await fineTune('-o', at('mine.onnx'));
  assert.deepEqual([again.code, /is there already; --force/.test(again.stderr)], [1, true]);
});

test('--json is JSON alone, and a model of ours learns on, beside what it knew', async () => {
  const options = ['--keep-outputs', '--replay', table, '--epochs', '2', '--json', '-o', at('on.onnx')];
  const { code, stdout, stderr } = await run('fine-tune', at('mine.onnx'), '--data', table, ...options);
  assert.equal(code, 0, stderr);
  const report = JSON.parse(stdout);
  assert.deepEqual([report.accepted, report.classes, report.examples], [true, NAMES, { trained: 50, heldOut: 10 }]);
  assert.ok(report.after.replay.accuracy >= report.before.replay.accuracy - 0.01);
});

test('what has become worse is not written', async () => {
  const wrong = await writeTable('wrong.csv', 60, 5, 2);
  const options = ['--keep-outputs', '--replay', table, '--lr', '0.05', '-o', at('wrong.onnx')];
  const { code, stderr } = await run('fine-tune', at('mine.onnx'), '--data', wrong, ...options);
  assert.match(stderr, /nothing is written: of the replay samples .* are right, .* were before\n$/);
  assert.deepEqual([code, existsSync(at('wrong.onnx'))], [1, false]);
});

test("--augment and --anchor are fineTune's", async () => {
  const options = ['--keep-outputs', '--epochs', '4', '--json', '--force', '-o', at('far.onnx')];
  const lossOf = async (...more) => {
    const { stdout, stderr } = await run('fine-tune', at('mine.onnx'), '--data', table, ...options, ...more);
    return stdout ? JSON.parse(stdout).phases[0].history.epochs.at(-1).metrics.loss : stderr;
  };
  const [plain, same, drawn] = [
    await lossOf('--anchor', '0'),
    await lossOf('--anchor', '0', '--augment', 'none'),
    await lossOf('--anchor', '100'),
  ];
  assert.ok(plain === same && drawn !== plain, `${plain}, ${same}, ${drawn}`);
  assert.match(await lossOf('--augment', 'spin'), /there is no step 'spin'/);
});

test('wrong usage is told before anything is read', async () => {
  const wrong = [
    [['-o', at('x.onnx'), '--epochs', 'many'], /--epochs must be a whole number/],
    [['-o', at('x.onnx'), '--keep-outputs', '--head-at', 'h'], /--head-at: with --keep-outputs there is no new head/],
    [['-o', at('x.onnx'), '--replay-ratio', '0.5'], /--replay-ratio: it is for --replay/],
    [['-o', at('x.onnx'), '--anchor', '-1'], /--anchor must be a number of at least 0/],
    [[], /--out is needed/],
  ];
  for (const [args, message] of wrong) {
    const { code, stderr } = await fineTune(...args);
    assert.match(stderr, message);
    assert.equal(code, 2, stderr);
  }
});

test('--cache-features keeps what is computed for the next time', async () => {
  const options = ['--cache-features', at('features'), '--epochs', '2', '--force'];
  const [first, second] = [
    await fineTune(...options, '-o', at('first.onnx')),
    await fineTune(...options, '-o', at('second.onnx')),
  ];
  assert.match(first.stdout, /^features: 60 computed, 0 there before$/m);
  assert.match(second.stdout, /^features: 0 computed, 60 there before$/m);
  assert.deepEqual(await readFile(at('first.onnx')), await readFile(at('second.onnx')));
});
