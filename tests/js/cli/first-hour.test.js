/** The command line in the hands of someone new: wrong values, missing files, what a checkpoint holds, the bar. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { artifactsIn } from '../../../js/cli/files.js';
import { Progress } from '../../../js/cli/progress.js';
import { CheckpointStore, generateArtifacts, TrainingSession } from '../../../js/index.js';
import { clusters } from '../../support/clusters.js';

const CLI = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
const MODEL = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
const run = (...args) =>
  new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });

let folder = '';
const trained = () => path.join(folder, 'trained');
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-first-'));
  await run('artifacts', MODEL, '--loss', 'cross-entropy', '-o', trained());
});
after(() => rm(folder, { recursive: true }));

test('--version is the package', async () => {
  const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'));
  assert.deepEqual(await run('--version'), { code: 0, stdout: `${version}\n`, stderr: '' });
});

test('a wrong value is a sentence of ours, names the help that tells more, and exits with 2', async () => {
  const train = (...args) => ['train', trained(), '--data', 'mnist', ...args];
  const make = (...args) => ['artifacts', MODEL, '--loss', 'mse', '-o', path.join(folder, 'never'), ...args];
  /** @type {[string[], string][]} */
  const wrong = [
    [train('--epoch', '3'), 'there is no option --epoch; there are --data, --classes, '],
    [train('--lr', '-1'), "--lr must be a number of at least 0, not '-1'"],
    [train('--lr', 'fast'), "--lr must be a number of at least 0, not 'fast'"],
    [train('--seed', '-1'), "--seed must be a whole number of at least 0, not '-1'"],
    [train('--validation', '4'), "--validation must be a number of at least 0 and at most 1, not '4'"],
    [train('--format', 'zip'), "--format must be ort or trainlet, not 'zip'"],
    [train('--epochs'), '--epochs needs a value'],
    [train('--epochs', '--force'), '--epochs needs a value, and the option --force came'],
    [train('--epochs='), '--epochs needs a value'],
    [train('--force=3'), "--force takes no value, not '3'"],
    [
      ['train', trained(), '--data', 'images'],
      '--data must be mnist, a folder of pictures, a file .npz, .csv or .jsonl, ' +
        "or a file .npy for each of input, labels, not 'images'",
    ],
    [
      ['train', MODEL, '--data', 'mnist'],
      `${MODEL} is neither a training directory nor a compact file, as trainlet artifacts makes them`,
    ],
    [make('--loss', 'crossentropy'), "option loss.type: 'crossentropy' is not cross-entropy, mse, "],
    [make('--optimizer', 'lion'), "option optimizer.type: 'lion' is not adamw, adam, "],
    [
      make('--optimizer', 'sgd', '--momentum', '2'),
      "option optimizer.momentum: '2' is not a number of at least 0 and below 1",
    ],
    [make('--train', 'head*'), "requiresGrad 'head*' matches no parameter"],
    [['inspect', MODEL, '--passes', 'fuse'], "there is no pass 'fuse'; there are "],
  ];
  const told = await Promise.all(wrong.map(([args]) => run(...args)));
  for (const [i, { code, stdout, stderr }] of told.entries()) {
    const [[command], sentence] = wrong[i];
    assert.deepEqual([code, stdout, stderr.slice(0, 10 + sentence.length)], [2, '', `trainlet: ${sentence}`]);
    assert.ok(stderr.endsWith(` (see trainlet ${command} --help)\n`) && !stderr.slice(0, -1).includes('\n'), stderr);
  }
});

test('what is not there is told in words, with the place that was looked at', async () => {
  const none = path.join(folder, 'none'),
    relative = path.relative(process.cwd(), path.join(folder, 'none.onnx'));
  for (const [args, words] of /** @type {[string[], string][]} */ ([
    [['inspect', none], `${none} could not be read: there is no such file, ${none}`],
    [['train', none, '--data', 'mnist'], `${none} could not be read: there is no such file, ${none}`],
    [
      ['artifacts', relative, '--loss', 'mse', '-o', none],
      `model could not be loaded from ${relative}: there is no such file, ${path.resolve(relative)}`,
    ],
    [['train', trained(), '--data', `${none},${none}`], `${none} could not be read: there is no such file, ${none}`],
    [
      ['eval', folder, '--data', 'mnist'],
      `${folder} has no training_model.onnx: a directory to train in is made by trainlet artifacts`,
    ],
    [['bench', folder], `${folder} has no training_model.onnx: a directory to train in is made by trainlet artifacts`],
  ]))
    assert.deepEqual(await run(...args), { code: 1, stdout: '', stderr: `trainlet: ${words}\n` });
});

test('inspect tells what is in a checkpoint, of both formats, nominal ones and those of a store', async () => {
  const session = await TrainingSession.create(artifactsIn(trained()));
  await session.fit(clusters(64), { batchSize: 16, epochs: 3, maxSteps: 6 });
  await session.setLearningRate(0.25);
  session.properties.set('classes', 'a b');
  session.properties.set('best', 0.5);
  session.properties.set('count', 9_007_199_254_740_993n);
  const [trainlet, ort] = [await session.saveCheckpoint(), await session.saveCheckpoint({ format: 'ort' })];
  const store = await CheckpointStore.open({ directory: path.join(folder, 'store') });
  await store.save('mine', trainlet);
  await session.release();
  const { checkpointState: nominal } = await generateArtifacts(MODEL, { loss: 'mse', frozen: ['fc1*'], nominal: true });
  const { checkpointState: frozen } = await generateArtifacts(MODEL, { loss: 'mse', frozen: ['fc1*'] });
  const inspect = async (/** @type {string} */ name, /** @type {Uint8Array} */ bytes) => {
    const file = path.join(folder, name);
    await writeFile(file, bytes);
    const { code, stdout, stderr } = await run('inspect', file);
    assert.deepEqual([code, stderr], [0, '']);
    return stdout;
  };
  const all = `parameter         fc1.weight  float32 [33, 20]
parameter         fc1.bias  float32 [33]
parameter         fc2.weight  float32 [17, 33]
parameter         fc2.bias  float32 [17]
parameter         fc3.weight  float32 [5, 17]
parameter         fc3.bias  float32 [5]
parameters        1,361, of which 1,361 are trained
optimizer         adamw, 6 steps done, learning rate 0.25, 0.001 at first, 12 moments
`;
  const byMoments = 'adamw by its two moments a parameter';
  const properties = `property          classes  "a b"
property          best  0.5
property          count  9007199254740993
`;
  const place = 'data              epoch 2, 2 batches of 16 done, of 64 examples\n';
  const head = (/** @type {string} */ writer, /** @type {Uint8Array} */ { length }) =>
    `checkpoint        ${writer}'s format, ${length.toLocaleString('en')} bytes\n`;
  const sorted = (/** @type {string} */ text) => text.split('\n').sort();
  assert.deepEqual(
    sorted(await inspect('ours', trainlet)),
    sorted(head('Trainlet', trainlet) + all + place + properties),
  );
  assert.deepEqual(
    sorted(await inspect('theirs', ort)),
    sorted(head('ONNX Runtime', ort) + all.replace(', 0.001 at first', '').replace('adamw', byMoments) + properties),
  );
  const stored = await run('inspect', path.join(folder, 'store', 'mine.00000001.trainlet'));
  assert.equal(stored.stdout, await inspect('ours', trainlet));
  assert.match(
    await inspect('nominal', nominal),
    /^parameter +fc1\.weight {2}float32\n.*\nparameters +6 by name alone: it is nominal\n/ms,
  );
  assert.match(await inspect('frozen', frozen), /^parameter +fc1\.weight {2}float32 \[33, 20\] {2}frozen$/m);
  await writeFile(path.join(folder, 'cut'), trainlet.subarray(0, 300));
  const { code, stderr } = await run('inspect', path.join(folder, 'cut'));
  assert.deepEqual([code, /^trainlet: the checkpoint is cut off/.test(stderr)], [1, true]);
});

test('unsigned bytes of .npy files are pixels, as those of IDX files are, and that is said', async () => {
  const array = (/** @type {string} */ descr, /** @type {string} */ shape, /** @type {Uint8Array} */ data) => {
    const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117).concat('\n');
    return Buffer.concat([Buffer.from('\x93NUMPY\x01\x00v\x00', 'latin1'), Buffer.from(header), data]);
  };
  const bytes = Uint8Array.from({ length: 160 }, (_, i) => (i * 37) % 256),
    labels = Uint8Array.from({ length: 8 }, (_, i) => i % 5);
  const floats = new Uint8Array(Float32Array.from(bytes, (byte) => byte / 255).buffer);
  await mkdir(path.join(folder, 'data'));
  const write = async (/** @type {string} */ name, /** @type {Buffer} */ content) => {
    await writeFile(path.join(folder, 'data', name), content);
    return path.join(folder, 'data', name);
  };
  const y = await write('y.npy', array('|u1', '(8,)', labels));
  const pixels = await write('x.npy', array('|u1', '(8, 20)', bytes));
  const plain = await write('f.npy', array('<f4', '(8, 20)', floats));
  const idx = await write('x.idx', Buffer.concat([Buffer.from([0, 0, 8, 2, 0, 0, 0, 8, 0, 0, 0, 20]), bytes]));
  const told = (/** @type {string} */ file) => run('eval', trained(), '--data', `${file},${y}`);
  const { stdout: loss } = await told(plain);
  assert.match(loss, /^loss \d\.\d{4} {2}accuracy [\d.]+ %\n$/);
  for (const file of [pixels, idx])
    assert.equal((await told(file)).stdout, `${file}: its unsigned bytes are divided by 255, to be 0 … 1\n${loss}`);
});

test('in 80 columns the bar has room for the ETA, in fewer the speed and then the bar go first', () => {
  const line = (/** @type {number | undefined} */ columns, event = {}) => {
    let written = '';
    const write = (/** @type {string} */ text) => {
      written = text;
    };
    const { onBatch } = new Progress(/** @type {any} */ ({ isTTY: columns !== undefined, columns, write }));
    const metrics = { loss: 1.2345678, accuracy: 0.97125 };
    const given = { epoch: 0, epochs: 3, batch: 469, batches: 938, samplesPerSecond: 12_345.6, etaMs: 754_000 };
    onBatch(/** @type {any} */ ({ step: 1, loss: 1, lr: 1, metrics, ...given, ...event }));
    return written.replace('\r', '').replace('\x1b[K', '');
  };
  const metrics = 'loss 1.2346  accuracy 97.13 %';
  assert.equal(line(80), `epoch 1/3  ${'█'.repeat(9)}${'░'.repeat(9)} 469/938  ${metrics}  ETA 12:34`);
  assert.equal(line(0), line(80));
  assert.equal(
    line(100),
    `epoch 1/3  ${'█'.repeat(10)}${'░'.repeat(10)} 469/938  ${metrics}  12,346 samples/s  ETA 12:34`,
  );
  assert.equal(line(62), `epoch 1/3  469/938  ${metrics}  ETA 12:34`);
  assert.equal(line(60), `epoch 1/3  ${'█'.repeat(12)}${'░'.repeat(12)} 469/938  ETA 12:34`);
  assert.equal(
    line(undefined, { batch: 938 }), // the last: others wait until some time has gone by
    `epoch 1/3  ${'█'.repeat(24)} 938/938  ${metrics}  12,346 samples/s  ETA 12:34\n`,
  );
  assert.equal(
    line(80, { batches: undefined, etaMs: undefined }),
    `epoch 1/3  batch 469  ${metrics}  12,346 samples/s`,
  );
  for (let columns = 50; columns < 200; columns++) assert.ok(line(columns).length < columns);
});
