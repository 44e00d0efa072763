/**
 * README's examples run as they are pasted, in a fresh folder with the packed package; usual slips in the first are
 * told in a sentence. Its numbers are those of the measured pages.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { installPacked } from '../../packed.js';
import { ENGINES } from '../../../tools/programs.mjs';
import { GROWTH, readTable } from '../../sizes/weigh.js';
import { root } from '../../support/engines.js';

const read = (/** @type {string} */ file) => readFile(path.join(root, file), 'utf8');
const readme = await read('README.md');
const [example, pretrained] = [...readme.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);

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
  const { code, stdout, stderr } = await runPasted(example);
  assert.deepEqual([code, stderr], [0, '']);
  const [accuracy, length] = /^accuracy ([\d.]+); .* (\d+) bytes\n$/.exec(stdout)?.slice(1).map(Number) ?? [];
  assert.ok(accuracy > 0.9 && length > 300, stdout);
});

test('the second runs as pasted, and prints what its comment says', { timeout: 60_000 }, async () => {
  const { code, stdout, stderr } = await runPasted(pretrained);
  assert.deepEqual([code, stderr], [0, '']);
  const [, said] = /console\.log\(.*\); \/\/ (.*)$/m.exec(pretrained) ?? [];
  assert.equal(stdout, `${said}\n`);
});

/** Wanted messages. @type {Record<string, [string, string, number, RegExp]>} */
const SLIPS = {
  'classes counted from 1': [
    'y > 0));',
    'y > 0) + 1);',
    1,
    new RegExp(
      "^TrainletError: data set: the labels 'labels' have 2 in row \\d+, but the scores have 2 classes, 0 to 1\\n" +
        '(.*\\n)*? +at .*example\\.mjs:\\d+',
      'm',
    ),
  ],
  "PyTorch's ignore index": [
    '([x, y]) => Number(',
    '([x, y], i) => i % 2 ? -100 : Number(',
    1,
    new RegExp(
      '^TrainletError: data set: .* have -100 in row 1, ' +
        ".*make the artifacts with loss: \\{ type: 'cross-entropy', ignoreIndex: -100 \\}\\)$",
      'm',
    ),
  ],
  'a dim too many': [
    'tensor(points)',
    'tensor(points.map((point) => [point]))',
    1,
    /^TrainletError: input 'input_layer' wants shape \(\?, 2\), \(32, 1, 2\) came$/m,
  ],
};

for (const [slip, [from, to, exit, words]] of Object.entries(SLIPS))
  test(`the first with ${slip}: one sentence says it`, { timeout: 60_000 }, async () => {
    const changed = example.replace(from, to);
    assert.notEqual(changed, example);
    const { code, stderr } = await runPasted(changed);
    assert.equal(code, exit, stderr);
    assert.match(stderr, words);
  });

test('the first with a softmax at the end learns as well', { timeout: 60_000 }, async () => {
  const changed = example.replace('dense(2)', "dense(2, { activation: 'softmax' })");
  assert.notEqual(changed, example);
  const { code, stdout, stderr } = await runPasted(changed);
  assert.deepEqual([code, stderr], [0, '']);
  assert.ok(Number(/^accuracy ([\d.]+)/.exec(stdout)?.[1]) > 0.9, stdout);
});

/** The bold cells of the README's table, and the command beside each. */
const FIGURES = [...readme.matchAll(/^\| \*\*(.+?)\*\* \|.*\| `(npm run \S+)` \|$/gm)].map(([, ...cells]) => cells);
const floor = (/** @type {number} */ x, /** @type {number} */ step) => step * Math.floor(x / step + 1e-9);

/** The part of a page below a heading. @param {string} page @param {string} heading */
const section = (page, heading) => page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';

test('the figures of README.md are those of the measured pages, each with its command', async () => {
  const pageOf = (/** @type {string} */ name) => read(`docs/measured/${name}.md`);
  const [benchmarks, models, operators] = await Promise.all(['benchmarks', 'models', 'operators'].map(pageOf));
  const rows = section(benchmarks, 'Figures').matchAll(/^\| (?:W|ORT-)\d+ \|.* ×([\d.]+)[^|×]*(?:;[^|]*)?\|$/gm);
  const times = [...rows].map(([, factor]) => Number(factor));
  assert.equal(times.length, 6, 'six networks');
  const [, all] = /^\| \*\*all\*\* \|(.*)\|$/m.exec(models) ?? [];
  const [, exports, wrong, nothing, , right] = all.split('|').map(Number);
  const domains = ['ai.onnx', 'ai.onnx.ml', 'com.microsoft'].map((name) => section(operators, name));
  const count = domains.join('').match(/^\| (?!operator )/gm)?.length ?? 0;
  assert.deepEqual(FIGURES.slice(1), [
    [`${floor(Math.min(...times), 0.1)} to ${floor(Math.max(...times), 0.1)} times`, 'npm run bench'],
    [`${right} of ${exports - wrong - nothing} models`, 'npm run models'],
    [`over ${floor(count, 10)} operators`, 'npm run docs:operators'],
  ]);
});

test('the kilobytes are those of the largest engine with its JavaScript, but for what sizes may vary by', () => {
  const table = readTable();
  const engine = Math.max(...ENGINES.map((name) => table[`js/engine/${name}`].brotli));
  const [, script] = Object.entries(table).find(([name]) => /with a training session's methods/.test(name)) ?? [];
  const [claim, command] = FIGURES[0];
  assert.match(claim, /^\d+ KB$/);
  const share = (1000 * Number.parseInt(claim, 10)) / (engine + script.brotli);
  assert.ok(Math.abs(share - 1) < GROWTH && command === 'npm run sizes', `${engine + script.brotli} bytes`);
});

test('what README.md says of options holds', async () => {
  const types = await read('js/types/loss-and-optimizer.d.ts');
  const [, optimizers] = /^export type OptimizerType = (.*);$/m.exec(types) ?? [];
  assert.match(readme, /\bSGD to AdamW\b/);
  assert.ok(optimizers.includes("'sgd'") && optimizers.includes("'adamw'"), optimizers);
  const [, newest] = /OPSET_MAX = (\d+)/.exec(await read('src/graph/upgrade.h')) ?? [];
  assert.deepEqual(readme.match(/opsets 1 to \d+/g), [`opsets 1 to ${newest}`]);
  assert.doesNotMatch(readme, /\bnot yet\b|\bTODO\b|base64/i);
});
