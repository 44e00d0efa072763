/** The package as npm ships it, in a stranger's folder: its files, its command line, and its types' entry. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { installPacked } from '../../packed.js';

const MODEL = fileURLToPath(new URL('../../golden/data/mlp_small.onnx', import.meta.url));
const execute = promisify(execFile);

let stranger;
let installed;
before(async () => {
  stranger = await installPacked();
  installed = path.join(stranger.folder, 'node_modules/trainlet');
  await copyFile(MODEL, path.join(stranger.folder, 'model.onnx'));
});
after(() => stranger?.remove());

/** @param {string[]} args */
const trainlet = (...args) => execute('npx', ['--no-install', 'trainlet', ...args], { cwd: stranger.folder });

test('it has dist/, types, models, the pages for users, and nothing that reads the repository', async () => {
  const files = await readdir(installed, { recursive: true });
  const expected = [
    /^(dist|models)\b|^js(\/types\b.*)?$/,
    /^web-demo(\/(pictures(\/[\w-]+\.(js|css|html|png))?|[\w-]+\.(js|css|html|svg|png|bin|compact|webmanifest)))?$/,
    /^docs$|^docs\/(demo\.webp|guides\b.*|measured(\/(benchmarks|first-hour|hosts|models|operators|webgpu)\.md)?)$/,
    /^examples(\/(hosts\b.*|federated(\/[\w-]+\.(mjs|py|toml|txt))?))?$/,
    /^schema(\/(VERSIONS\.md|checkpoint\.proto))?$/,
    /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|SECURITY\.md|THIRD-PARTY-NOTICES\.md)$/,
  ];
  assert.deepEqual(
    files.filter((file) => !expected.some((pattern) => pattern.test(file))),
    [],
  );
  assert.deepEqual(
    files.filter((file) => /start\.js|serve-demo/.test(file)),
    [],
  );
});

const NOT_MINIFIED = ['cli.js', 'node-federated.js', 'node-layers.js', 'node.js', 'worker-augment.js'];

test('every path of package.json is there, and a map beside each script that is minified', async () => {
  const { exports, main, browser, bin, types } = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'));
  const named = [main, types, bin.trainlet, browser];
  for (const target of Object.values(exports))
    named.push(...(typeof target === 'string' ? [target] : Object.values(target)));
  for (const file of named) assert.ok(existsSync(path.join(installed, file)), file);
  for (const file of await readdir(path.join(installed, 'dist')))
    if (file.endsWith('.js') && !/^node-chunk-/.test(file) && !NOT_MINIFIED.includes(file))
      assert.ok(existsSync(path.join(installed, `dist/${file}.map`)), file);
});

/** The most that all but the wasm files may take of a download, 0.6 MB of it the demo; sizes.test.js weighs those. */
const REST_MOST = 3e6;

test('trainlet.min.js refuses the backend of GPUs, which is in no file that every page loads', () => {
  const holdsKernels = (/** @type {string} */ name) =>
    readFileSync(path.join(installed, 'dist', name), 'utf8').includes('@compute');
  assert.deepEqual(['trainlet.min.js', 'index.js', 'worker.js', 'core.js'].map(holdsKernels), [
    false,
    false,
    false,
    true,
  ]);
  assert.match(readFileSync(path.join(installed, 'dist/trainlet.min.js'), 'utf8'), /is not in trainlet\.min\.js/);
});

test('the tarball is no larger than it was meant to be', async (t) => {
  const files = await readdir(installed, { recursive: true, withFileTypes: true });
  const rest = files.filter((file) => file.isFile() && !file.name.endsWith('.wasm'));
  const parts = rest.map((file) => gzipSync(readFileSync(path.join(file.parentPath ?? file.path, file.name))).length);
  const sum = parts.reduce((a, b) => a + b, 0);
  t.diagnostic(`the tarball has ${stranger.bytes} bytes, without the wasm files ${sum}`);
  assert.ok(sum > 1e6 && sum <= REST_MOST, `${sum} bytes without the wasm files; at most ${REST_MOST}`);
});

test('trainlet demo serves its pages with the package that they import', async () => {
  const server = spawn(process.execPath, ['dist/cli.js', 'demo', '--port', '0'], { cwd: installed });
  try {
    const [said] = await once(server.stdout, 'data');
    const [url] = /http:\/\/localhost:\d+\//.exec(String(said)) ?? [];
    const wanted = ['', 'app.js', 'lesson.js', 'digits.compact', 'replay.bin', 'pictures/', 'pictures/examples.png'];
    for (const file of [...wanted, 'js/index.js', 'js/worker.js', 'js/trainlet.wasm', 'models/pictures.onnx']) {
      const answer = await fetch(new URL(file, url), { method: 'HEAD' });
      assert.deepEqual([answer.status, Number(answer.headers.get('content-length')) > 500], [200, true], file);
      assert.equal(answer.headers.get('cross-origin-opener-policy'), 'same-origin');
    }
    for (const page of ['writer/', 'learn/pictures.html', 'play/', 'try/'])
      assert.match(await (await fetch(new URL(page, url))).text(), /not in the package/, page);
    for (const outside of ['package.json', 'js/..%2fpackage.json', '%2e%2e%2fpackage.json'])
      assert.equal((await fetch(new URL(outside, url))).status, 404, outside);
  } finally {
    server.kill();
  }
});

test('no relative link of a page in it is dead', async () => {
  const pages = (await readdir(installed, { recursive: true })).filter((file) => file.endsWith('.md'));
  const links = pages.flatMap((page) => {
    const text = readFileSync(path.join(installed, page), 'utf8').replaceAll(/^```.*?^```/gms, '');
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target.replace(/#.*/, ''));
    return targets.filter((target) => target && !/^\w+:/.test(target)).map((target) => ({ page, target }));
  });
  assert.ok(pages.length > 20 && links.length > 60, `${links.length} links in ${pages.length} pages`);
  assert.deepEqual(
    links.filter(({ page, target }) => !existsSync(path.join(installed, path.dirname(page), target))),
    [],
  );
});

test('the command line runs', async () => {
  assert.match((await trainlet('--help')).stdout, /^trainlet COMMAND …/);
  assert.match((await trainlet('--version')).stdout, /^\d+\.\d+\.\d+\n$/);
  assert.match((await trainlet('inspect', 'model.onnx')).stdout, /fc1/);
  const made = await trainlet('artifacts', 'model.onnx', '-o', 'artifacts', '--loss', 'cross-entropy');
  assert.equal(made.stderr, '');
  assert.match((await trainlet('inspect', 'artifacts')).stdout, /fc1/);
});

/** Trains a step where the engine is: in a thread, or with the caller. @param {string} options */
const program = (options) => `
import { readFile } from 'node:fs/promises';
import { CheckpointStore, generateArtifacts, InferenceSession, Tensor, TrainingSession } from 'trainlet';
const artifacts = await generateArtifacts('model.onnx', { loss: 'cross-entropy', optimizer: 'sgd' });
const session = await TrainingSession.create(artifacts, ${options});
const data = { inputs: { input: new Tensor('float32', new Float32Array(160).fill(0.5), [8, 20]) }, \
labels: { labels: new Tensor('int64', [0, 1, 2, 3, 4, 0, 1, 2]) } };
const store = await CheckpointStore.open({ directory: 'checkpoints' });
const { stopped } = await session.fit(data, { batchSize: 8, augment: [{ type: 'scale', by: 0.01 }] });
const version = await store.save('run', await session.saveCheckpoint());
const error = await session.step({}).catch((reason) => reason);
console.log(stopped, version, session instanceof TrainingSession, session instanceof InferenceSession, \
session.constructor.name, error.code);
await session.release();
`;

for (const options of ['{}', '{ worker: false, threads: 1 }'])
  test(`a session with ${options} trains in Node, augments in a thread and stores in a folder`, async () => {
    await writeFile(path.join(stranger.folder, 'program.mjs'), program(options));
    const { stdout, stderr } = await execute('node', ['program.mjs'], { cwd: stranger.folder });
    assert.deepEqual(
      [stdout, stderr],
      [`completed ${options === '{}' ? 1 : 2} true false TrainingSession invalid-feed\n`, ''],
    );
  });

test('the network of trainlet/models is in it, and its URL is loaded by whoever asks', async () => {
  const code = `
import { parametersOf } from 'trainlet';
import { pictures } from 'trainlet/models';
console.log((await parametersOf(pictures)).length > 20, import.meta.resolve('trainlet/models/pictures.onnx') === \
pictures.href);
`;
  await writeFile(path.join(stranger.folder, 'models.mjs'), code);
  const { stdout, stderr } = await execute('node', ['models.mjs'], { cwd: stranger.folder });
  assert.deepEqual([stdout, stderr], ['true true\n', '']);
});

test('trainlet/layers is in it, with the same class of errors', async () => {
  const code = `
import { generateArtifacts, TrainletError } from 'trainlet';
import { dense, input, sequential, summary } from 'trainlet/layers';
const network = await sequential([input([13]), dense(1)], { seed: 7 });
const error = await sequential([dense(1)]).catch((reason) => reason);
const { warnings } = await generateArtifacts(network, { loss: 'mse' });
console.log(warnings.length, error instanceof TrainletError, /Total params: 14/.test(await summary(network)));
`;
  await writeFile(path.join(stranger.folder, 'layers.mjs'), code);
  const { stdout, stderr } = await execute('node', ['layers.mjs'], { cwd: stranger.folder });
  assert.deepEqual([stdout, stderr], ['0 true true\n', '']);
});

test('trainlet/federated is in it, with the same class of errors', async () => {
  const code = `
import { TrainletError } from 'trainlet';
import { SuperNode } from 'trainlet/federated';
const error = await SuperNode.connect('http://127.0.0.1:9', {}).catch((reason) => reason);
console.log(error instanceof TrainletError, error.message, /^ecdsa-sha2/.test(await SuperNode.publicKey('node.pem')));
`;
  await writeFile(path.join(stranger.folder, 'federated.mjs'), code);
  const { stdout, stderr } = await execute('node', ['federated.mjs'], { cwd: stranger.folder });
  const message = 'SuperNode.connect: session must be a TrainingSession';
  assert.deepEqual([stdout, stderr], [`true ${message} true\n`, '']);
});
