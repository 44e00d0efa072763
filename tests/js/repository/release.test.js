/** A release: the package is published with its addresses or not at all, and nothing else in it changes. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { addressesOf, packWith } from '../../../tools/release.mjs';
import { pack } from '../../packed.js';
import { root } from '../../support/engines.js';

/** @param {string} program @param {string[]} args */
function run(program, ...args) {
  const { status, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' });
  return { status, stderr };
}

const MISSING =
  /^\[trainlet\] package\.json has no repository: publish by node tools\/release\.mjs --repository URL .*$/m;

test('a release without a repository is refused, and so is npm publish by hand, before anything is built', () => {
  const refused = [
    [MISSING, 'node', 'tools/release.mjs'],
    [MISSING, 'node', 'tools/release.mjs', '--publish', '--homepage', 'https://example.org'],
    [MISSING, 'npm', 'publish', '--dry-run', '--offline'],
    [/^\[trainlet\] --repository must be an address that begins with https:\/\/, not 'x\/y'\.$/m, 'x/y'],
    [
      /^\[trainlet\] --bugs must be an address .* not 'me@example\.org'\.$/m,
      'https://a.org/b',
      '--bugs',
      'me@example.org',
    ],
    [/^\[trainlet\] there is no option --repo; /m, '--repo', 'x'],
  ];
  for (const [sentence, ...words] of refused) {
    const isWhole = words[0] === 'node' || words[0] === 'npm';
    const line = words[0].startsWith('--') ? words : ['--repository', ...words];
    const [program, ...args] = isWhole ? words : ['node', 'tools/release.mjs', ...line];
    const { status, stderr } = run(program, ...args);
    assert.equal(status, 1, words.join(' '));
    assert.match(stderr, sentence);
  }
});

test('homepage and bugs follow from the repository, where nothing else is said', () => {
  const wanted = {
    repository: { type: 'git', url: 'git+https://example.org/a/b.git' },
    homepage: 'https://example.org/a/b#readme',
    bugs: { url: 'https://example.org/a/b/issues' },
  };
  for (const repository of ['https://example.org/a/b', 'https://example.org/a/b.git', 'https://example.org/a/b/'])
    assert.deepEqual(addressesOf({ repository }), wanted);
  const named = { repository: 'https://example.org/a/b', homepage: 'https://a.org/', bugs: 'https://b.org/' };
  const { homepage, bugs } = addressesOf(named);
  assert.deepEqual([homepage, bugs], ['https://a.org/', { url: 'https://b.org/' }]);
});

test('the tarball of a release differs by these fields alone', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-release-'));
  try {
    const plain = await pack(folder);
    const fields = addressesOf({ repository: 'https://example.org/a/b' });
    const made = packWith(plain, fields, path.join(folder, 'made'));
    const tar = (/** @type {string[]} */ ...args) =>
      execFileSync('tar', args, { encoding: 'utf8', maxBuffer: 1 << 26 });
    const filesOf = (/** @type {string} */ tarball) => tar('-tzf', tarball).trim().split('\n').sort();
    assert.deepEqual(filesOf(made), filesOf(plain));
    const jsonOf = (/** @type {string} */ tarball) => JSON.parse(tar('-xzOf', tarball, 'package/package.json'));
    assert.deepEqual(jsonOf(made), { ...jsonOf(plain), ...fields });
  } finally {
    await rm(folder, { recursive: true });
  }
});
