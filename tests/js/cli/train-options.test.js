/** `trainlet train --accumulate --schedule --patience`: the same bits as fit with the options of these names. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { artifactsIn } from '../../../js/cli/files.js';
import { TrainingSession } from '../../../js/index.js';
import { clusters } from '../../support/clusters.js';

const CLI = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
const MODEL = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
const run = (...args) =>
  new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });

const DATA = clusters(80, 1);
let folder = '';
let spec = '';
const at = (name) => path.join(folder, name);

/** A file of an array, as NumPy writes it. */
async function npy(name, descr, shape, data) {
  const header = `${`{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117)}\n`;
  const head = Buffer.from(`\x93NUMPY\x01\x00v\x00${header}`, 'latin1');
  await writeFile(at(name), Buffer.concat([head, Buffer.from(data.buffer)]));
  return at(name);
}

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-train-'));
  const { code, stderr } = await run('artifacts', MODEL, '--loss', 'cross-entropy', '-o', at('new'));
  assert.equal(code, 0, stderr);
  const { inputs, labels } = DATA;
  const files = [
    await npy('x.npy', '<f4', '(80, 20)', inputs.input.data),
    await npy('y.npy', '<i8', '(80,)', labels.labels.data),
  ];
  spec = files.join();
});
after(() => rm(folder, { recursive: true }));

/** Parameters and rate of a session after the same fit. */
async function stateOf(parts) {
  const session = await TrainingSession.create(parts);
  const state = [(await session.getContiguousParameters()).data, await session.getLearningRate()];
  await session.release();
  return state;
}

test('each is what fit does', async () => {
  for (const [args, options] of [
    [['--accumulate', '3'], { accumulate: 3 }],
    [['--schedule', 'cosine', '--lr', '0.01'], { schedule: { type: 'cosine', lr: 0.01 } }],
    [
      ['--schedule', 'linear,lr=0.02,warmup=4,end=1e-3'],
      { schedule: { type: 'linear', lr: 0.02, warmup: 4, end: 1e-3 } },
    ],
    [
      ['--schedule', 'step,every=4,factor=0.5', '--lr', '0.01'],
      { schedule: { type: 'step', lr: 0.01, every: 4, factor: 0.5 } },
    ],
    [
      ['--schedule', 'one-cycle,lr=0.1,pctStart=0.5,annealStrategy=linear'],
      { schedule: { type: 'one-cycle', lr: 0.1, pctStart: 0.5, annealStrategy: 'linear' } },
    ],
    [
      ['--schedule', 'plateau,monitor=loss,patience=1,factor=0.5', '--lr', '1'],
      { schedule: { type: 'plateau', lr: 1, monitor: 'loss', patience: 1, factor: 0.5 } },
    ],
    [
      ['--patience', '1', '--validation', '0.25', '--lr', '0.5'],
      { earlyStopping: { patience: 1, restoreBest: true }, validation: 0.25, lr: 0.5 },
    ],
  ]) {
    await cp(at('new'), at('dir'), { recursive: true });
    const usual = ['--data', spec, '--epochs', '6', '--batch-size', '16', '--seed', '7'];
    const { code, stderr } = await run('train', at('dir'), ...usual, ...args);
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    const session = await TrainingSession.create(artifactsIn(at('new')));
    const { lr, ...wanted } = options;
    if (lr) await session.setLearningRate(lr);
    const { steps } = await session.fit(DATA, { epochs: 6, batchSize: 16, seed: 7, ...wanted });
    const state = [(await session.getContiguousParameters()).data, await session.getLearningRate()];
    await session.release();
    assert.deepEqual(await stateOf(artifactsIn(at('dir'))), state, args.join(' '));
    if (args[0] !== '--schedule') assert.ok(steps < 30, `${args.join(' ')}: ${steps} steps`);
    await rm(at('dir'), { recursive: true });
  }
});

test('what cannot be is one sentence, and exit code 2', async () => {
  for (const [args, message] of [
    [['--schedule', 'cosin', '--lr', '1'], /^trainlet: --schedule must begin with constant, linear, .*, not 'cosin'/],
    [['--schedule', 'cosine'], /^trainlet: --schedule needs the rate that it begins at: --lr RATE/],
    [['--schedule', 'cosine,warm=3', '--lr', '1'], /cosine has settings lr=, warmup=, steps=, end=, not 'warm=3'/],
    [['--schedule', 'cosine,warmup=x', '--lr', '1'], /--schedule must be a number, not 'x'/],
    [['--patience', '0'], /--patience must be a whole number of at least 1, not '0'/],
    [['--accumulate', '1.5'], /--accumulate must be a whole number of at least 1, not '1.5'/],
  ]) {
    const { code, stderr } = await run('train', at('new'), '--data', spec, ...args);
    assert.deepEqual([code, message.test(stderr)], [2, true], stderr);
  }
});
