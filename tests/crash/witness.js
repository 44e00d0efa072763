// Judges whether the store has kept what it acknowledged before a kill: nothing lost, torn or mixed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const WRITER = fileURLToPath(new URL('writer.js', import.meta.url));

/**
 * A process that saves until it is killed. `told`: what it has said so far.
 * @param {(string | number)[]} values of writer.js
 */
export const startWriter = (...values) => startProgram(WRITER, ...values);

/** @param {string} program @param {(string | number)[]} values */
export function startProgram(program, ...values) {
  const child = spawn(process.execPath, [program, ...values.map(String)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const told = [];
  let rest = '';
  child.stdout.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    told.push(...lines.map((line) => JSON.parse(line)));
  });
  const ended = once(child, 'close');
  const begun = Promise.race([once(child.stdout, 'data'), ended]);
  return {
    told,
    begun,
    ended,
    /** Holds the process still for some time. @param {number} ms */
    suspend: async (ms) => {
      child.kill('SIGSTOP');
      await new Promise((resolve) => {
        setTimeout(resolve, ms);
      });
      child.kill('SIGCONT');
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Each version that the store lists is whole and its bytes go with its meta; each one acknowledged is there, or `keep`
 * newer ones are.
 * @param {import('../../js/types.js').CheckpointStore} store
 * @param {string} name
 * @param {{ who: number, n: number, version: number }[]} acknowledged
 * @param {number} keep
 */
export async function assertKept(store, name, acknowledged, keep) {
  const versions = (await store.versions(name)).map(({ version }) => version);
  const found = new Map();
  for (const version of versions) {
    const { bytes, meta } = await store.load(name, { version });
    assert.ok(
      bytes.length > 0 && bytes.every((byte) => byte === (meta.who + meta.n) % 256),
      `version ${version} is mixed`,
    );
    found.set(version, meta);
  }
  for (const { version, ...meta } of acknowledged) {
    const newer = versions.filter((other) => other > version).length;
    if (newer < keep)
      assert.deepEqual(found.get(version), meta, `version ${version} was acknowledged, and there are ${versions}`);
  }
  const newest = await store.load(name);
  assert.deepEqual([newest?.version, newest?.skipped], [versions.at(-1), newest && []]);
}
