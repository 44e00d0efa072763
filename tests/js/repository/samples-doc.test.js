/**
 * docs/guides/samples.md: its program runs as pasted and prints what its comments say; its shorter examples run too.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Tensor } from '../../../js/index.js';
import { buildDist } from '../../../tools/dist.mjs';
import { root } from '../../support/engines.js';

const page = await readFile(path.join(root, 'docs/guides/samples.md'), 'utf8');
const [picture, sound, augmentation, program] = [...page.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);

/** Runs code that makes `input`. */
const made = (code, given) =>
  new Function('Tensor', 'photo', 'recording', `return (async () => { ${code} return input; })()`)(
    Tensor,
    given,
    given,
  );

test('the examples of a picture and a sound', async () => {
  const photo = { data: new Uint8ClampedArray(4 * 300 * 200), width: 300, height: 200 };
  assert.deepEqual((await made(picture, photo)).dims, [1, 3, 224, 224]);
  assert.deepEqual((await made(sound, new Float32Array(9000))).dims, [1, 40, 81]);
  const typesOf = async (subject) =>
    (await readFile(path.join(root, `js/types/${subject}.d.ts`), 'utf8')).replace(/^ +\* {5}/gm, '');
  const [tensor, fit] = await Promise.all(['tensor', 'fit'].map(typesOf));
  for (const code of [picture, sound]) assert.ok(tensor.includes(code.trim()), 'the same example is beside the method');
  assert.ok(fit.includes(augmentation.trim()), 'the same example is beside the option');
});

test('the program prints what it says', async () => {
  await buildDist();
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-docs-'));
  try {
    await mkdir(path.join(folder, 'node_modules'));
    await symlink(root, path.join(folder, 'node_modules', 'trainlet'), 'junction');
    await writeFile(path.join(folder, 'example.mjs'), program);
    const printed = execFileSync(process.execPath, ['example.mjs'], { cwd: folder, encoding: 'utf8' });
    const said = [...program.matchAll(/^console\.log\(.*\); \/\/ (.*?)(?:: .*)?$/gm)].map(([, words]) => words);
    assert.equal(said.length, 4);
    assert.deepEqual(printed.trim().split('\n'), said);
  } finally {
    await rm(folder, { recursive: true });
  }
});
