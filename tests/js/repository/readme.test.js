/**
 * README's first example runs as it is pasted, in a fresh folder with the packed package; the model in it is this one.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { graphProto, info, modelProto, node, opsetId, tensor } from '../../support/onnx-file.js';
import { batchUnit } from '../../support/recipe.js';
import { installPacked } from '../../packed.js';
import { root } from '../../support/engines.js';

const HIDDEN = 8;

/** A number of eight bits and few digits, as weights are begun with. @param {number} seed @param {number} count */
const few = (seed, count) =>
  Float32Array.from({ length: count }, (_, i) => Math.round(64 * batchUnit(seed, i) - 32) / 32);

/**
 * point (N, 2) ─ Gemm ─ Relu ─ Gemm ─▶ scores (N, 2), in as few bytes as it takes; `last` makes the scores of `raw`.
 */
function model(last) {
  const weights = { A: [2, HIDDEN], B: [HIDDEN, 2] };
  const graph = graphProto({
    node: [
      node('MatMul', ['point', 'A'], 'a'),
      node('Relu', ['a'], 'b'),
      node('MatMul', ['b', 'B'], last ? 'raw' : 'scores'),
      ...(last ? [last] : []),
    ],
    name: 'inside',
    initializer: Object.entries(weights).map(([name, dims], i) =>
      tensor(name, { type: 'float32', dims, data: few(i + 3, dims[0] * dims[1]) }),
    ),
    input: info('point', 1, ['N', 2]),
    output: info('scores', 1, ['N', 2]),
  });
  return modelProto({ graph, opsetImport: opsetId(17) });
}

const readme = await readFile(path.join(root, 'README.md'), 'utf8');
const [, example] = /^```js\n(.*?)^```/ms.exec(readme) ?? [];
const encoded = [...example.matchAll(/^ {4}'([\w+/=]+)'/gm)].map(([, piece]) => piece).join('');

/** In a fresh folder with the package. */
let stranger;
before(async () => {
  stranger = await installPacked();
});
after(() => stranger?.remove());

/** @param {string} program */
async function runPasted(program) {
  await writeFile(path.join(stranger.folder, 'example.mjs'), program);
  return await new Promise((resolve) => {
    execFile(process.execPath, ['example.mjs'], { cwd: stranger.folder }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

test('the first example of README.md runs as pasted and learns', { timeout: 60_000 }, async () => {
  assert.equal(encoded, Buffer.from(model()).toString('base64'));
  const { code, stdout, stderr } = await runPasted(example);
  assert.deepEqual([code, stderr], [0, '']);
  const [before, after, length] =
    /^accuracy ([\d.]+) → ([\d.]+)\n.* (\d+) bytes/m.exec(stdout)?.slice(1).map(Number) ?? [];
  assert.ok(before < 0.8 && after > 0.9 && length > 300, stdout);
});

/** Wanted messages. @type {Record<string, [string, string, number, RegExp]>} */
const SLIPS = {
  'classes counted from 1': [
    '] > 0));',
    '] > 0) + 1);',
    1,
    new RegExp(
      "^TrainletError: data set: the labels 'labels' have 2 in row \\d+, but the scores have 2 classes, 0 to 1\\n" +
        '(.*\\n)*? +at .*example\\.mjs:\\d+',
      'm',
    ),
  ],
  "PyTorch's ignore index": [
    'Number(points',
    'i % 2 ? -100 : Number(points',
    1,
    new RegExp(
      '^TrainletError: data set: .* have -100 in row 1, ' +
        ".*make the artifacts with loss: \\{ type: 'cross-entropy', ignoreIndex: -100 \\}\\)$",
      'm',
    ),
  ],
  'a dim too many': [
    '[count, 2]',
    '[count, 2, 1]',
    1,
    /^TrainletError: input 'point' wants shape \(\?, 2\), \(32, 2, 1\) came$/m,
  ],
};

for (const [slip, [from, to, exit, words]] of Object.entries(SLIPS))
  test(`the same with ${slip}: one sentence says it`, { timeout: 60_000 }, async () => {
    const changed = example.replace(from, to);
    assert.notEqual(changed, example);
    const { code, stderr } = await runPasted(changed);
    assert.equal(code, exit, stderr);
    assert.match(stderr, words);
  });

test('the same with a Softmax at the end learns as well', { timeout: 60_000 }, async () => {
  const softmax = Buffer.from(model(node('Softmax', ['raw'], ['scores']))).toString('base64');
  const { code, stdout, stderr } = await runPasted(example.replace(/(?:^ {4}'[\w+/=]+'.*\n)+/m, `'${softmax}'\n`));
  assert.deepEqual([code, stderr], [0, '']);
  assert.ok(Number(/^accuracy [\d.]+ → ([\d.]+)/m.exec(stdout)?.[1]) > 0.9, stdout);
});
