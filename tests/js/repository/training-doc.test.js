/** docs/guides/training.md: its blocks, pasted one after the other, train, resume, stop early and run elsewhere. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { buildDist } from '../../../tools/dist.mjs';
import { root } from '../../support/engines.js';

const page = await readFile(path.join(root, 'docs/guides/training.md'), 'utf8');
/** Blocks by the heading that they stand under. */
const sections = page.split(/^(?=##? |### )/m).map((section) => ({
  title: /^#+ (.*)/.exec(section)[1],
  code: [...section.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code).join('\n'),
}));
const codeOf = (title) => sections.find((section) => section.title === title).code;

/** The page's names for what a reader has: pictures of bars, across or down. */
const GIVEN = `
const count = 640;
const digits = Array.from({ length: count }, (_, i) => (i + Number(Math.sin(91 * i) > 0.8)) % 2); // some are wrong
const pixels = Float32Array.from({ length: count * 784 }, (_, at) => {
  const [i, x, y] = [Math.floor(at / 784), at % 28, Math.floor((at % 784) / 28)];
  return Number((i % 2 ? x + i : y + i) % 14 < 4 + (i % 5));
});
const show = () => {};
let oneDrawing;
`;
const DRAWING = "oneDrawing = new Tensor('float32', pixels.slice(784, 1568), [1, 1, 28, 28]);\n";

const NETWORK = `
import { writeFile } from 'node:fs/promises';
import { conv2d, dense, flatten, input, maxPooling2d, sequential } from 'trainlet/layers';
const layers = [input([1, 28, 28], { name: 'input' }), conv2d(4, 5, { activation: 'relu' }), maxPooling2d(4)];
await writeFile('digits.onnx', await sequential([...layers, flatten(), dense(2, { name: 'logits' })], { seed: 1 }));
`;

let folder;
before(async () => {
  await buildDist();
  folder = await mkdtemp(path.join(tmpdir(), 'trainlet-training-'));
  await mkdir(path.join(folder, 'node_modules'));
  await symlink(root, path.join(folder, 'node_modules', 'trainlet'), 'junction');
  const ort = path.join(root, 'node_modules/onnxruntime-web-1.30');
  await symlink(ort, path.join(folder, 'node_modules', 'onnxruntime-web'), 'junction');
  await writeFile(path.join(folder, 'network.mjs'), NETWORK);
  await promisify(execFile)(process.execPath, ['network.mjs'], { cwd: folder });
});
after(() => rm(folder, { recursive: true }));

/** @param {string[]} parts @returns {Promise<string[]>} the lines that they print */
async function pasted(parts) {
  const code = parts.join('\n');
  const imports = code.match(/^import .*;$/gm).join('\n');
  await writeFile(path.join(folder, 'example.mjs'), imports + GIVEN + code.replace(/^import .*;$/gm, ''));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['example.mjs'], { cwd: folder });
  assert.equal(stderr, '');
  return stdout.trim().split('\n');
}
const shown = codeOf('Training a model').replace('const { logits } =', `${DRAWING}$&`);
const first = shown.replace('lr: 1e-3', 'lr: 1e-2'); // few pictures, so larger steps

test('a model trains, and onnxruntime-web gives its scores', { timeout: 60_000 }, async () => {
  const told = 'console.log(JSON.stringify([[...logits.data], [...scores.logits.data]])); await session.release();';
  const [line] = await pasted([first, codeOf('The model in onnxruntime-web'), told]);
  const [ours, theirs] = JSON.parse(line);
  assert.ok(ours[1] > ours[0], 'the second class');
  ours.forEach((score, i) => assert.ok(Math.abs(score - theirs[i]) < 1e-4, line));
});

test('a fit that is killed goes on, and one that is complete does not', { timeout: 60_000 }, async () => {
  const block = codeOf('Resuming after a closed tab');
  const killing = "onEpoch: ({ epoch }) => epoch === 7 && process.kill(process.pid, 'SIGKILL'), $&";
  const kill = block.replace('checkpoint, resume', killing);
  await assert.rejects(pasted([first, kill]), { signal: 'SIGKILL' });
  const epochs = 'let epochs = 0;';
  const counted = block.replace('checkpoint, resume', 'onEpoch: () => void epochs++, $&');
  const told = 'console.log(epochs, stopped); await session.release(); await resumed.release();';
  const [line] = await pasted([epochs, first, counted, told]);
  assert.match(line, /^1[23] completed$/, 'of 20 epochs');
  assert.deepEqual(await pasted([epochs, first, counted, told]), ['0 completed']);
});

test('early stopping ends a fit', { timeout: 60_000 }, async () => {
  const told = 'console.log(reason); await session.release();';
  const lines = await pasted([first, codeOf('Overfitting and early stopping'), told]);
  assert.ok(lines.length < 100, `${lines.length} epochs`);
  assert.equal(lines.at(-1), 'early-stopping');
});
