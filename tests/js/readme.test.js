/** README's first example runs as it is pasted, in a fresh folder with the package, and the model in it is this one. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { info, message, node, tensor } from '../bench/models/onnx_file.js';
import { batchUnit } from '../golden/recipe.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HIDDEN = 8;

/** A number of eight bits and few digits, as weights are begun with. @param {number} seed @param {number} count */
const few = (seed, count) =>
  Float32Array.from({ length: count }, (_, i) => Math.round(64 * batchUnit(seed, i) - 32) / 32);

/** point (N, 2) ─ Gemm ─ Relu ─ Gemm ─▶ scores (N, 2), in as few bytes as it takes. */
function model() {
  const weights = { A: [2, HIDDEN], B: [HIDDEN, 2] };
  const graph = message(
    [1, node('MatMul', ['point', 'A'], 'a')],
    [1, node('Relu', ['a'], 'b')],
    [1, node('MatMul', ['b', 'B'], 'scores')],
    [2, 'inside'],
    ...Object.entries(weights).map(([name, dims], i) => [
      5,
      tensor(name, { type: 'float32', dims, data: few(i + 3, dims[0] * dims[1]) }),
    ]),
    [11, info('point', 1, ['N', 2])],
    [12, info('scores', 1, ['N', 2])],
  );
  return message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]);
}

test('the first example of README.md runs as pasted and learns', { timeout: 60_000 }, async () => {
  const readme = await readFile(path.join(ROOT, 'README.md'), 'utf8');
  const [, example] = /^```js\n(.*?)^```/ms.exec(readme) ?? [];
  const encoded = [...example.matchAll(/^ {4}'([\w+/=]+)'/gm)].map(([, piece]) => piece).join('');
  assert.equal(encoded, Buffer.from(model()).toString('base64'));
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-readme-'));
  try {
    await mkdir(path.join(folder, 'node_modules'));
    await symlink(ROOT, path.join(folder, 'node_modules', 'trainlet'), 'junction');
    await writeFile(path.join(folder, 'example.mjs'), example);
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['example.mjs'], { cwd: folder });
    assert.equal(stderr, '');
    const [before, after, length] =
      /^accuracy ([\d.]+) → ([\d.]+)\n.* (\d+) bytes/m.exec(stdout)?.slice(1).map(Number) ?? [];
    assert.ok(before < 0.8 && after > 0.9 && length > 300, stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
});
