/** The command line on training directories whose models are in ONNX Runtime's own format alone. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusters } from '../../support/clusters.js';

const CLI = fileURLToPath(new URL('../../../js/cli/index.js', import.meta.url));
const MODEL = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));

let folder = '';
const at = (name) => path.join(folder, name);
const run = (...args) =>
  new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
/** The output of a command that succeeds. */
async function done(...args) {
  const { code, stdout, stderr } = await run(...args);
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** A file of an array, as NumPy writes it. */
async function npy(name, descr, shape, data) {
  const header = `${`{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117)}\n`;
  const head = Buffer.from(`\x93NUMPY\x01\x00v\x00${header}`, 'latin1');
  await writeFile(at(name), Buffer.concat([head, Buffer.from(data.buffer)]));
  return at(name);
}

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-ort-'));
  await done('artifacts', MODEL, '--loss', 'cross-entropy', '--ort-format', '-o', at('both'));
  for (const [name, others] of [
    ['onnx', '.ort'],
    ['ort', '.onnx'],
  ]) {
    await cp(at('both'), at(name), { recursive: true });
    for (const file of await readdir(at(name))) if (file.endsWith(others)) await rm(path.join(at(name), file));
  }
});
after(() => rm(folder, { recursive: true }));

test('train, eval and export do the same as in a directory with ONNX models', async () => {
  const { inputs, labels } = clusters(64, 1);
  const x = await npy('x.npy', '<f4', '(64, 20)', inputs.input.data);
  const data = ['--data', [x, await npy('y.npy', '<i8', '(64,)', labels.labels.data)].join()];
  const results = {};
  for (const name of ['onnx', 'ort']) {
    const before = await done('eval', at(name), ...data);
    await done('train', at(name), ...data, '--epochs', '2', '--seed', '1');
    const after = await done('eval', at(name), ...data);
    assert.notEqual(after, before);
    await done('export', at(name), '-o', at(`${name}.exported`));
    results[name] = [before, after, await readFile(path.join(at(name), 'checkpoint'))];
    assert.equal((await readdir(at(name))).length, 4);
  }
  assert.deepEqual(results.ort, results.onnx);
});

test('inspect, bench, artifacts and generate find them, and what lacks is named', async () => {
  assert.match(await done('inspect', at('ort')), /^optimizer +adamw\n.*^parameter +\S+ +float32 \[/ms);
  assert.match(await done('inspect', at('ort'), '--graph'), /Gemm|MatMul/);
  assert.match(await done('bench', at('ort'), '--steps', '2', '--batch-size', '2'), /ms/);
  await done('artifacts', at('ort'), '--format', 'compact', '-o', at('compact'));
  assert.match(await done('inspect', at('compact')), /^optimizer +adamw\n/);
  await cp(at('ort'), at('less'), { recursive: true });
  await rm(path.join(at('less'), 'eval_model.ort'));
  const { code, stderr } = await run('inspect', at('less'));
  assert.deepEqual([code, /less has no eval_model\.ort: /.test(stderr)], [1, true], stderr);
});

test('where both are, the ONNX models are taken', async () => {
  await cp(at('both'), at('mixed'), { recursive: true });
  await cp(path.join(at('mixed'), 'training_model.onnx'), path.join(at('mixed'), 'training_model.ort'));
  assert.match(await done('inspect', at('mixed')), /^optimizer +adamw\n/);
});
