/** The command line: help and errors without the engine, and the demo's server. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readArrays } from '../../js/cli/arrays.js';
import { COMMANDS } from '../../js/cli/commands.js';
import { startServer } from '../../js/cli/serve-demo.js';

const CLI = fileURLToPath(new URL('../../js/cli/index.js', import.meta.url));
const run = (...args) => new Promise((resolve) => {
  execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
});

let folder = '';
before(async () => { folder = await mkdtemp(path.join(tmpdir(), 'trainlet-cli-')); });
after(() => rm(folder, { recursive: true }));

test('every command has help', async () => {
  const { code, stdout } = await run('--help');
  assert.equal(code, 0);
  await Promise.all(Object.keys(COMMANDS).map(async (name) => {
    assert.match(stdout, new RegExp(`^  ${name} `, 'm'));
    const help = await run(name, '--help');
    assert.deepEqual([help.code, help.stderr], [0, '']);
    assert.match(help.stdout, new RegExp(`^trainlet ${name} `));
    for (const option of Object.keys(COMMANDS[name].options)) assert.match(help.stdout, new RegExp(`--${option}|-o\\b`));
  }));
});

test('wrong usage is one sentence and exit code 2', async () => {
  const wrong = [[], ['trian'], ['train'], ['train', 'a', 'b'], ['train', '.', '--epoch', '3'], ['train', '.'], ['train', '.', '--data', 'mnist', '--epochs', '0']];
  for (const { code, stderr } of await Promise.all(wrong.map((args) => run(...args)))) {
    assert.equal(code, 2);
    assert.match(stderr, /^trainlet: .+ \(see trainlet --help\)\n$/);
  }
});

test('what fails is one sentence and exit code 1', async () => {
  const { code, stderr, stdout } = await run('inspect', path.join(folder, 'none.onnx'));
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^trainlet: .*none\.onnx'?\n$/);
});

/** A .npy file. @param {string} name @param {string} descr @param {string} shape @param {ArrayBufferView} data */
async function npy(name, descr, shape, data) {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(118);
  const file = path.join(folder, name);
  await writeFile(file, Buffer.concat([Buffer.from('\x93NUMPY\x01\x00v\x00', 'latin1'), Buffer.from(header), Buffer.from(data.buffer)]));
  return file;
}

test('data are read from .npy, IDX and MNIST, in the shape and type of the model', async () => {
  const wanted = [{ name: 'x', type: 'float32', dims: ['N', 1, 2] }, { name: 'labels', type: 'int64', dims: ['N'] }];
  const x = await npy('x.npy', '<f8', '(2, 2)', new Float64Array([1, 2, 3, 4]));
  const y = await npy('y.npy', '<i4', '(2,)', new Int32Array([5, 6]));
  const data = await readArrays(`${x},${y}`, 'train', wanted);
  assert.deepEqual([data.inputs.x.dims, data.inputs.x.data], [[2, 1, 2], new Float32Array([1, 2, 3, 4])]);
  assert.deepEqual([data.labels.labels.dims, data.labels.labels.data], [[2], new BigInt64Array([5n, 6n])]);
  await assert.rejects(readArrays(`${x}`, 'train', wanted), /two files INPUTS,LABELS/);
  await assert.rejects(readArrays(`${x},${x}.none`, 'train', wanted), /could not be read/);
  await writeFile(`${x}.cut`, 'hello, world');
  await assert.rejects(readArrays(`${x}.cut,${y}`, 'train', wanted), /neither \.npy nor an IDX file/);

  const mnist = await readArrays('mnist', 'test', [{ name: 'x', type: 'float32', dims: ['N', 1, 28, 28] }, wanted[1]]);
  assert.deepEqual(mnist.inputs.x.dims, [10_000, 1, 28, 28]);
  assert.deepEqual([...mnist.labels.labels.data.subarray(0, 4)], [7n, 2n, 1n, 0n]);
  assert.equal(mnist.inputs.x.data.reduce((a, b) => Math.max(a, b), 0), 1);
});

/** A request whose path is sent as it is. @param {string} url @param {string} place */
const get = (url, place, method = 'GET') => new Promise((resolve, reject) => {
  const { hostname, port } = new URL(url);
  request({ hostname, port, path: place, method }, (response) => {
    let bytes = 0;
    response.on('data', (chunk) => { bytes += chunk.length; });
    response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, bytes }));
  }).on('error', reject).end();
});

test('the demo is served with types and a strict policy, and nothing outside its folders', async () => {
  const { url, close } = await startServer();
  try {
    const page = await get(url, '/');
    assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8']);
    assert.match(page.headers['content-security-policy'], /script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'/);
    assert.equal((await get(url, '/js/index.js')).headers['content-type'], 'text/javascript; charset=utf-8');
    assert.equal((await get(url, '/mnist/t10k-labels-idx1-ubyte')).bytes, 10_008);
    assert.equal((await get(url, '/js/index.js', 'HEAD')).bytes, 0);
    assert.equal((await get(url, '/', 'POST')).status, 405);
    const outside = ['/../package.json', '/js/../package.json', '/%2e%2e/package.json', '/js/%2e%2e%2fpackage.json', '/..%5cpackage.json',
      '/js', '/js/', '/%00', '/%', '/none', '//etc/passwd', '/js//etc/passwd', '/mnist/%2fetc%2fpasswd'];
    for (const place of outside) assert.equal((await get(url, place)).status, 404, place);
  } finally {
    await close();
  }
});
