/** The build's command line, and the workflow that runs the tests on a clean machine. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../../tools/programs.mjs';

/** @param {string[]} args */
function build(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['tools/build.mjs', ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test('the build lists its options, and refuses others in a sentence before it builds', () => {
  const help = build('--help');
  assert.equal(help.status, 0);
  const [usage, ...lines] = help.stdout.trimEnd().split('\n');
  assert.match(usage, /^node tools\/build\.mjs \[--fast\] \[--test/);
  const listed = lines.flatMap((line) => /^ {2}(--\w+)/.exec(line)?.[1] ?? []);
  assert.deepEqual([...new Set(listed)], ['--fast', '--test']);
  const refused = {
    '--fats': /^\[trainlet\] there is no option --fats; there are -h, --help, --fast, --test \(see [^\n]+\)\n$/,
    '--fast=yes': /^\[trainlet\] --fast takes no value, not 'yes' \(see [^\n]+\)\n$/,
    test_harness: /^\[trainlet\] the target 'test_harness' needs --test before it \(see [^\n]+\)\n$/,
  };
  for (const [arg, sentence] of Object.entries(refused)) {
    const { status, stdout, stderr } = build(arg);
    assert.deepEqual({ status, stdout }, { status: 1, stdout: '' }, arg);
    assert.match(stderr, sentence);
  }
});

test("GitHub's workflow runs .ci/run, with no action but GitHub's own", () => {
  const workflow = readFileSync(path.join(root, '.github/workflows/ci.yml'), 'utf8');
  assert.match(workflow, /^ +- run: \.ci\/run$/m);
  assert.ok(statSync(path.join(root, '.ci/run')).mode & 0o100, '.ci/run can be run');
  const actions = [...workflow.matchAll(/\buses: (\S+)/g)].map(([, action]) => action);
  assert.ok(actions.length && actions.every((action) => /^actions\/(checkout|setup-node)@v\d+$/.test(action)), actions);
  const [, image] = /^ +image: (\S+)$/m.exec(workflow) ?? [];
  assert.match(image, /^node:2\d-bookworm$/, 'the set-up wants Node 20 or newer, and Debian with its packages');
});

test('the tests list their options, and refuse others before anything is set up', () => {
  const run = (/** @type {string} */ arg) =>
    spawnSync(process.execPath, ['tests/run.js', arg], { cwd: root, encoding: 'utf8' });
  assert.match(run('--help').stdout, /^npm test [^\n]*\n(.|\n)*\n {2}--fuzz {2}/);
  const { status, stdout, stderr } = run('--fuz');
  assert.deepEqual({ status, stdout }, { status: 1, stdout: '' });
  assert.match(stderr, /^\[trainlet\] Unknown option '--fuz'[^\n]* \(see npm test -- --help\)\n$/);
});
