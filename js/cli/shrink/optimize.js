/** Removes functions that trap and data that is zeros, by binaryen, which whoever shrinks installs beside trainlet. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { TrainletError } from '../../base/errors.js';
import { joinSegments } from './segments.js';

const FEATURES =
  'simd relaxed-simd bulk-memory bulk-memory-opt nontrapping-float-to-int sign-ext mutable-globals threads'.split(' ');

/**
 * @param {Uint8Array} bytes
 * @param {boolean} [isFast] in a third of the time, to a file of about 1 % more
 * @returns {Uint8Array}
 */
export function optimize(bytes, isFast) {
  const program = programOf();
  const folder = mkdtempSync(join(tmpdir(), 'trainlet-shrink-'));
  try {
    const [from, to] = [join(folder, 'from.wasm'), join(folder, 'to.wasm')];
    writeFileSync(from, bytes);
    // Until nothing changes: a round inlines what the one before calls directly. As wasm/finish.mjs does, it inlines
    // only functions that are smaller than a call. Nothing lies below 1,024 but the end of the stack.
    const rounds = isFast ? ['-O1'] : ['-O3', '--converge', '--flexible-inline-max-function-size=6'];
    const options = [...rounds, '--low-memory-unused', '--mvp-features', ...FEATURES.map((it) => `--enable-${it}`)];
    const { status, stderr, error } = spawnSync(process.execPath, [program, ...options, from, '-o', to]);
    if (status !== 0)
      throw new TrainletError(
        'internal',
        `binaryen could not read the cut file: ${error?.message ?? stderr}`.slice(0, 500),
      );
    return joinSegments(readFileSync(to));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** binaryen's wasm-opt, or a sentence that it is not there. */
export function programOf() {
  for (const place of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return join(dirname(createRequire(place).resolve('binaryen/package.json')), 'bin/wasm-opt');
    } catch {
      // it may be beside whoever calls
    }
  }
  throw new TrainletError(
    'invalid-argument',
    "trainlet shrink needs the npm package binaryen: 'npm install --save-dev binaryen'",
  );
}
