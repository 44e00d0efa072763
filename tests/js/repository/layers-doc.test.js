/** docs/guides/layers.md: its program runs as pasted and learns, its networks train, its table names every function. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { generateArtifacts, Tensor, TrainingSession } from '../../../js/index.js';
import * as layers from '../../../js/layers/index.js';
import { buildDist } from '../../../tools/dist.mjs';
import { root, THREADED } from '../../support/engines.js';

const page = await readFile(path.join(root, 'docs/guides/layers.md'), 'utf8');
const [program, ...others] = [...page.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);

let folder;
before(async () => {
  await buildDist();
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-layers-'));
  await mkdir(path.join(folder, 'node_modules'));
  await symlink(root, path.join(folder, 'node_modules', 'trainlet'), 'junction');
});
after(() => rm(folder, { recursive: true }));

/** @param {string} code of a program in the folder */
async function run(code) {
  await writeFile(path.join(folder, 'example.mjs'), code);
  return execFileSync(process.execPath, ['example.mjs'], { cwd: folder, encoding: 'utf8' });
}

test('the first program prints its layers, and learns', { timeout: 60_000 }, async () => {
  const printed = await run(program);
  assert.match(printed, /^Model: "sequential"\n.*│ price \(Dense\)/s);
  const [, loss] = /^mean squared error ([\d.e-]+)$/m.exec(printed) ?? [];
  assert.ok(Number(loss) < 1e-3, printed); // prices vary by 0.04
});

/** The loss before and after some steps on one batch. @param {Uint8Array} network */
async function lossesOf(network) {
  const artifacts = await generateArtifacts(network, {
    loss: 'mse',
    optimizer: { type: 'adam', lr: 0.01 },
    ...THREADED,
  });
  const isOtherOutput = (/** @type {string} */ warning) =>
    /^parameter 'kind\/.* the loss does not depend on it$/.test(warning);
  assert.deepEqual(
    artifacts.warnings.filter((warning) => !isOtherOutput(warning)),
    [],
  );
  const session = await TrainingSession.create(artifacts, THREADED);
  const feeds = Object.fromEntries(
    session.trainingInputs.map(({ name, type, dims }, k) => {
      const shape = dims.map((d) => (typeof d === 'number' ? d : 2));
      const count = shape.reduce((a, b) => a * b, 1);
      const data = Array.from({ length: count }, (_, i) => (type === 'float32' ? Math.sin(i + k) : i % 50));
      return [name, new Tensor(/** @type {any} */ (type), data, shape)];
    }),
  );
  const losses = [];
  for (let i = 0; i < 20; i++) losses.push((await session.step(feeds)).loss);
  await session.release();
  return [losses[0], Math.min(...losses)];
}

others.forEach((code, i) => {
  test(`the networks of example ${i + 2} are made as pasted, and train`, { timeout: 60_000 }, async () => {
    const names = [...code.matchAll(/^const (\w+) = await /gm)].map(([, name]) => name);
    assert.ok(names.length > 0);
    const written = names.map((name) => `writeFileSync('${name}.onnx', ${name});`).join('\n');
    await run(`import { writeFileSync } from 'node:fs';\n${code}\n${written}`);
    for (const name of names) {
      const [first, least] = await lossesOf(await readFile(path.join(folder, `${name}.onnx`)));
      assert.ok(least < first, `${name}: ${first} → ${least}`);
    }
  });
});

test('the table names every function', () => {
  const [, table] = /^## Layers\n(.*?)^`js/ms.exec(page) ?? [];
  const named = [...table.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  const alike = ['globalMaxPooling2d', 'globalAveragePooling1d', 'globalAveragePooling2d'];
  const networks = ['sequential', 'model', 'summary'];
  assert.deepEqual([...named, ...alike, ...networks].sort(), Object.keys(layers).sort());
});
