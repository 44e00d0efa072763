/** docs/guides/pretrained.md: its program runs as pasted, and the card of the network says what is in the file. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { InferenceSession, parametersOf, Tensor } from '../../../js/index.js';
import { pictures } from '../../../models/index.js';
import { buildDist } from '../../../tools/dist.mjs';
import { root, THREADED } from '../../support/engines.js';

const page = await readFile(path.join(root, 'docs/guides/pretrained.md'), 'utf8');
const card = await readFile(path.join(root, 'models/pictures.md'), 'utf8');

test('its first program prints what its comment says', { timeout: 60_000 }, async () => {
  const [, program] = /^```js\n(.*?)^```/ms.exec(page) ?? [];
  await buildDist();
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-pretrained-'));
  try {
    await mkdir(path.join(folder, 'node_modules'));
    await symlink(root, path.join(folder, 'node_modules', 'trainlet'), 'junction');
    await writeFile(path.join(folder, 'example.mjs'), program);
    const printed = execFileSync(process.execPath, ['example.mjs'], { cwd: folder, encoding: 'utf8' });
    const [, said] = /console\.log\(.*\); \/\/ (.*)$/m.exec(program) ?? [];
    assert.equal(printed, `${said}\n`);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the card's figures are those of the file", async () => {
  const [, bytes] = /\| file \| ([\d,]+) bytes/.exec(card) ?? [];
  assert.equal(Number(bytes.replaceAll(',', '')), (await readFile(pictures)).length);
  const parameters = await parametersOf(pictures, THREADED);
  const weights = parameters.reduce((sum, { dims }) => sum + dims.reduce((a, b) => a * b, 1), 0);
  const [, thousands] = /([\d]+),000 weights/.exec(card) ?? [];
  assert.equal(Number(thousands), Math.round(weights / 1000));
  const session = await InferenceSession.create(pictures, THREADED);
  const { features } = await session.run({
    image: new Tensor('float32', new Float32Array(2 * 3 * 96 * 96), [2, 3, 96, 96]),
  });
  assert.deepEqual([session.inputNames, features.dims], [['image'], [2, 320]]);
  await session.release();
});
