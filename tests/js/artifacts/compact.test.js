/** Compact files: the same session from one file as from four, by the package and on the command line. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { artifactsIn } from '../../../js/cli/files.js';
import { compactArtifacts, generateArtifacts, TrainingSession } from '../../../js/index.js';
import { artifactsOf } from '../../bench/contenders/trainlet.js';
import { task, taskNames } from '../../bench/tasks.js';
import { artifactOptions, batchFeeds } from '../../support/recipe.js';
import { clusters } from '../../support/clusters.js';
import { HERE } from '../../support/engines.js';

const golden = (name) => readFile(new URL(`../../golden/data/${name}`, import.meta.url));
const CLI = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
const run = (...args) =>
  new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });

let folder = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-compact-'));
});
after(() => rm(folder, { recursive: true }));

const artifacts = async (name = 'mlp_momentum', more = {}) => {
  const recipe = JSON.parse(await golden(`${name}.json`));
  const made = await generateArtifacts(await golden(recipe.model), { ...artifactOptions(recipe), ...more, ...HERE });
  return { recipe, made };
};

async function losses(session, feeds) {
  const all = [];
  for (const one of feeds) all.push((await session.step(one)).loss);
  return all;
}

/** Both sessions do the same, to the bit. */
async function assertSame(four, compact, feeds) {
  const a = await TrainingSession.create(four, HERE);
  const b = await TrainingSession.create({ compact }, HERE);
  assert.equal(await b.getGraphText(), await a.getGraphText());
  assert.deepEqual(await losses(b, feeds), await losses(a, feeds));
  assert.equal(await b.getGraphText('eval'), await a.getGraphText('eval'));
  assert.deepEqual(b.trainingInputs, a.trainingInputs);
  assert.deepEqual(b.parameters, a.parameters);
  assert.deepEqual(await b.exportModel(), await a.exportModel());
  assert.deepEqual(await b.saveCheckpoint(), await a.saveCheckpoint());
  await Promise.all([a.release(), b.release()]);
}

// the golden networks: tests/c/compact.c
for (const name of taskNames.filter((name) => !/^(W4-|UNET|C1D)/.test(name)))
  test(`${name} of the benchmark is the same from a compact file`, async () => {
    const { graph, feeds, ...rest } = task(name);
    const four = await artifactsOf({ graph, ...rest });
    const compact = await compactArtifacts(four, HERE);
    const bytes = Object.values(four).reduce((sum, part) => sum + (part.byteLength ?? 0), 0);
    assert.ok(compact.length < bytes, `${compact.length} bytes of ${bytes}`);
    await assertSame(four, compact, [feeds]);
  });

test('it works in a worker, is checked by its hash, and takes a later checkpoint', async () => {
  const { recipe, made } = await artifacts();
  const compact = await compactArtifacts(made);
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', compact)).toString('base64');
  const integrity = { compact: `sha256-${digest}` };
  const a = await TrainingSession.create({ compact }, { integrity });
  const feeds = [0, 1, 2, 3].map((step) => batchFeeds(recipe, step));
  await losses(a, feeds.slice(0, 3));
  const checkpointState = await a.saveCheckpoint();
  const b = await TrainingSession.create({ compact, checkpointState });
  assert.deepEqual(await losses(b, feeds.slice(3)), await losses(a, feeds.slice(3)));
  const again = await compactArtifacts({ compact, checkpointState });
  const c = await TrainingSession.create({ compact: again }, HERE);
  assert.deepEqual(await c.saveCheckpoint(), checkpointState);
  await Promise.all([a.release(), b.release(), c.release()]);
  await assert.rejects(TrainingSession.create({ compact: again }, { integrity }), { code: 'integrity-mismatch' });
});

test('smaller weights are smaller, and train to about the same loss', async () => {
  const { recipe, made } = await artifacts('w2');
  const feeds = [0, 1, 2].map((step) => batchFeeds(recipe, step));
  const rows = {};
  for (const weights of ['exact', 'float16', 'int8']) {
    const compact = await compactArtifacts(made, { ...HERE, weights });
    const session = await TrainingSession.create({ compact }, HERE);
    rows[weights] = { bytes: compact.length, losses: await losses(session, feeds) };
    await session.release();
  }
  assert.ok(rows.float16.bytes < 0.51 * rows.exact.bytes && rows.int8.bytes < 0.26 * rows.exact.bytes);
  for (const [weights, most] of Object.entries({ float16: 4e-3, int8: 3e-2 }))
    rows[weights].losses.forEach((loss, i) => {
      assert.ok(Math.abs(loss - rows.exact.losses[i]) < most, `${weights}: ${loss}, exactly ${rows.exact.losses[i]}`);
    });
});

test('a constant that no input has is refused', async () => {
  const four = { ...(await artifacts('scripted')).made };
  await assert.rejects(compactArtifacts(four, { ...HERE, constants: { nothing: 1 } }), {
    code: 'invalid-argument',
    message: /constants/,
  });
});

test('what is wrong is one sentence', async () => {
  const { made } = await artifacts();
  const compact = await compactArtifacts(made, HERE);
  const flipped = compact.slice();
  flipped[compact.length >> 1] ^= 1;
  const newer = compact.slice();
  newer[5] = 2;
  const cases = [
    [() => TrainingSession.create({ compact: flipped }, HERE), 'invalid-model', /damaged or cut off/],
    [() => TrainingSession.create({ compact: compact.slice(0, 1000) }, HERE), 'invalid-model', /damaged or cut off/],
    [() => TrainingSession.create({ compact: made.trainModel }, HERE), 'invalid-model', /are no compact file/],
    [() => TrainingSession.create({ compact: newer }, HERE), 'unsupported-version', /version 2 .* we read version 1/],
    [() => compactArtifacts({ ...made, checkpointState: undefined }, HERE), 'invalid-argument', /checkpointState/],
    [() => compactArtifacts(made, { ...HERE, weights: 'float8' }), 'invalid-argument', /not 'float8'/],
    [() => compactArtifacts(made, { ...HERE, weight: 'int8' }), 'invalid-argument', /weight/],
  ];
  for (const [call, code, message] of cases) await assert.rejects(call, { code, message });
});

test('on the command line, of a model and of a directory', async () => {
  const model = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
  const file = (name) => path.join(folder, name);
  const made = ['--loss', 'cross-entropy', '--optimizer', 'sgd', '--lr', '0.1'];
  const [a, b] = [
    await run('artifacts', model, ...made, '-o', file('dir')),
    await run('artifacts', model, ...made, '--format', 'compact', '-o', file('of-model')),
  ];
  assert.deepEqual([a.code, b.code], [0, 0], a.stderr + b.stderr);
  const c = await run('artifacts', file('dir'), '--format', 'compact', '-o', file('of-dir'));
  assert.equal(c.code, 0, c.stderr);
  assert.deepEqual(await readFile(file('of-dir')), await readFile(file('of-model')));
  const { recipe } = await artifacts();
  await assertSame(artifactsIn(file('dir')), await readFile(file('of-dir')), [batchFeeds(recipe, 0)]);
  const small = await run('artifacts', file('dir'), '--format', 'compact', '--weights', 'int8', '-o', file('small'));
  assert.equal(small.code, 0, small.stderr);
  assert.ok((await readFile(file('small'))).length < (await readFile(file('of-dir'))).length);
  const wrong = [
    [['artifacts', file('dir'), '--format', 'compact', '-o', file('x'), '--loss', 'mse'], /--loss: .* as it is/],
    [['artifacts', model, ...made, '-o', file('x'), '--weights', 'int8'], /--weights: it is for --format compact/],
    [['artifacts', model, ...made, '-o', file('x'), '--format', 'zip'], /--format must be ort, trainlet, compact/],
  ];
  for (const [args, sentence] of wrong) {
    const { code, stderr } = await run(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, sentence);
  }
  const there = await run('artifacts', file('dir'), '--format', 'compact', '-o', file('small'));
  assert.deepEqual([there.code, /--force/.test(there.stderr)], [1, true]);
});

/** A .npy file of numbers. */
async function npy(name, descr, shape, data) {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(118);
  const file = path.join(folder, name);
  const head = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00v\x00', 'latin1'), Buffer.from(header)]);
  await writeFile(file, Buffer.concat([head, Buffer.from(data.buffer)]));
  return file;
}

test('commands take a compact file where they take a directory, with the same bits', async () => {
  const model = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
  const [dir, one, again] = ['a-dir', 'one.trainlet', 'again.trainlet'].map((name) => path.join(folder, name));
  const { inputs, labels } = clusters(40, 1);
  const data = [
    await npy('in.npy', '<f4', '(40, 20)', inputs.input.data),
    await npy('labels.npy', '<i8', '(40,)', labels.labels.data),
  ].join();
  const done = async (...args) => {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    return stdout;
  };
  await done('artifacts', model, '--loss', 'cross-entropy', '-o', dir);
  await done('artifacts', dir, '--format', 'compact', '-o', one);
  const before = await readFile(one);
  for (const epochs of ['1', '2']) {
    for (const place of [dir, one])
      assert.match(
        await done('train', place, '--data', data, '--epochs', epochs, '--seed', '1'),
        /holds the checkpoint/,
      );
    assert.deepEqual(await readFile(`${one}.checkpoint`), await readFile(path.join(dir, 'checkpoint')), epochs);
  }
  assert.deepEqual(await readFile(one), before, 'the compact file stays as it is');
  const fresh = path.join(folder, 'fresh.trainlet');
  await writeFile(fresh, before);
  const losses = [];
  for (const place of [dir, one, fresh]) losses.push(await done('eval', place, '--data', data));
  assert.equal(losses[1], losses[0]);
  assert.notEqual(losses[2], losses[0], 'which was trained');
  for (const place of [dir, one]) await done('export', place, '-o', `${place}.onnx`);
  assert.deepEqual(await readFile(`${one}.onnx`), await readFile(`${dir}.onnx`));
  assert.match(await done('bench', one, '--steps', '2'), /^training step at batch 64/);
  assert.match(await done('inspect', one), /^optimizer +adamw\n/);

  await done('artifacts', one, '--format', 'compact', '-o', again);
  assert.equal(await done('eval', again, '--data', data), losses[0], 'a new compact file has what was trained');
  const refused = await run('artifacts', model, '--loss', 'mse', '--format', 'compact', '-o', one);
  assert.deepEqual([refused.code, /is there already/.test(refused.stderr)], [1, true]);
  await done('artifacts', dir, '--format', 'compact', '-o', one, '--force');
  await assert.rejects(readFile(`${one}.checkpoint`), { code: 'ENOENT' }, 'that of the file before is gone');
});

test('a place without training is refused in a sentence', async () => {
  const model = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
  for (const args of [
    ['train', model, '--data', 'mnist'],
    ['eval', model, '--data', 'mnist'],
    ['export', model, '-o', path.join(folder, 'nothing')],
  ]) {
    const { code, stderr } = await run(...args);
    assert.deepEqual([code, /is neither a training directory nor a compact file/.test(stderr)], [2, true], stderr);
  }
});
