/** `trainlet new`: networks that artifacts and train take, the same for the same seed; wrong options are refused. */

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import { THREADED } from '../../support/engines.js';
import { batchUnit } from '../../support/recipe.js';
import { runIn } from '../../support/run-cli.js';

let folder;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-new-'));
});
after(() => rm(folder, { recursive: true }));

/** @param {string[]} args */
const made = (...args) => runIn(folder, 'new', ...args);

/**
 * Learns one batch of examples by heart.
 * @param {Uint8Array} network
 * @param {number[]} dims
 * @param {number} [tokens]
 */
async function lossesOf(network, dims, tokens) {
  const artifacts = await generateArtifacts(network, {
    loss: 'cross-entropy',
    optimizer: { type: 'adam', lr: 1e-2 },
    ...THREADED,
  });
  assert.deepEqual(artifacts.warnings, []);
  const session = await TrainingSession.create(artifacts, THREADED);
  const size = 6 * dims.reduce((a, b) => a * b, 1);
  const numbers = Array.from({ length: size }, (_, i) => batchUnit(1, i));
  const input = tokens
    ? new Tensor(
        'int64',
        numbers.map((x) => Math.floor(tokens * x)),
        [6, ...dims],
      )
    : new Tensor('float32', numbers, [6, ...dims]);
  const feeds = { input, labels: new Tensor('int64', [0, 1, 2, 0, 1, 2]) };
  const losses = [];
  for (let i = 0; i < 30; i++) losses.push((await session.step(feeds)).loss);
  await session.release();
  return [losses[0], losses[29]];
}

/** @type {Record<string, [string[], number[], number?]>} */
const KINDS = {
  mlp: [['mlp', '--inputs', '13'], [13]],
  'cnn of pictures': [
    ['cnn', '--inputs', '3,16,16', '--units', '8,16'],
    [3, 16, 16],
  ],
  'cnn of signals': [
    ['cnn', '--inputs', '6,40', '--dropout', '0.1'],
    [6, 40],
  ],
  lstm: [
    ['lstm', '--inputs', '7,4', '--units', '16,16'],
    [7, 4],
  ],
  'lstm of tokens': [['lstm', '--inputs', '9', '--vocabulary', '50'], [9], 50],
  transformer: [
    ['transformer', '--inputs', '7,4', '--units', '16,32', '--heads', '2'],
    [7, 4],
  ],
  'transformer of tokens': [['transformer', '--inputs', '9', '--vocabulary', '50', '--units', '16'], [9], 50],
};

for (const [name, [args, dims, tokens]] of Object.entries(KINDS))
  test(`${name} is written, told and trains`, async () => {
    const options = [...args, '--classes', '3', '--seed', '1', '--force'];
    const { code, stdout, stderr } = await made(...options, '-o', 'a.onnx');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, new RegExp(`^Model: "${args[0]}"\\n.*\\(None, 3\\).*Trainable params: [1-9]`, 's'));
    await made(...options, '-o', 'b.onnx');
    const network = await readFile(path.join(folder, 'a.onnx'));
    assert.deepEqual(network, await readFile(path.join(folder, 'b.onnx')));
    const [first, last] = await lossesOf(network, dims, tokens);
    assert.ok(last < first / 2, `${first} → ${last}`);
  });

/** @type {[string[], RegExp][]} */
const REFUSED = [
  [['gan', '--inputs', '3'], /there is no network 'gan'; there are mlp, cnn, lstm, transformer/],
  [['mlp'], /--inputs is needed/],
  [['mlp', '--inputs', '3,4'], /--inputs of mlp are FEATURES, not 3,4/],
  [['cnn', '--inputs', '13'], /--inputs of cnn are CHANNELS,HEIGHT,WIDTH or CHANNELS,LENGTH, not 13/],
  [['mlp', '--inputs', '0'], /--inputs must be a whole number of at least 1, not '0'/],
  [['mlp', '--inputs', '3', '--classes', 'two'], /--classes must be a whole number of at least 1, not 'two'/],
  [['mlp', '--inputs', '3', '--vocabulary', '9'], /--vocabulary is for lstm and transformer/],
  [['lstm', '--inputs', '3,4', '--vocabulary', '9'], /--inputs with --vocabulary are the number of tokens, not 3,4/],
  [['transformer', '--inputs', '3,4', '--units', '18'], /--units: 18 is no multiple of the 4 heads/],
  [['mlp', '--inputs', '3', '--dropout', '1'], /--dropout must be a number of at least 0 and at most 0.99, not '1'/],
];

for (const [args, message] of REFUSED)
  test(`refused: new ${args.join(' ')}`, async () => {
    const { code, stderr } = await made(...args, '-o', 'c.onnx');
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  });

test('a file that is there stays, but with --force', async () => {
  await writeFile(path.join(folder, 'mine.onnx'), 'mine');
  const { code, stderr } = await made('mlp', '--inputs', '3', '-o', 'mine.onnx');
  assert.equal(code, 1);
  assert.match(stderr, /mine\.onnx is there already; --force overwrites it/);
});
