// The package as npm would get it, installed in a fresh folder.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { buildDist } from '../tools/dist.mjs';
import { root } from './support/engines.js';

const execute = promisify(execFile);
const QUIET = ['--no-audit', '--no-fund', '--loglevel', 'error'];

/** Builds dist/ and packs it. @param {string} folder @returns {Promise<string>} the tarball in it */
export async function pack(folder) {
  await buildDist();
  const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: root,
    maxBuffer: 1 << 26,
  });
  return path.join(folder, JSON.parse(stdout)[0].filename);
}

/** A folder in which the packed package is installed, as a stranger has it, and the tarball's bytes. */
export async function installPacked() {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainlet-packed-'));
  await writeFile(path.join(folder, 'package.json'), '{ "name": "stranger", "private": true, "type": "module" }\n');
  const tarball = await pack(folder);
  await execute('npm', ['install', '--offline', '--omit=optional', ...QUIET, tarball], { cwd: folder });
  const { size } = await stat(tarball);
  return { folder, bytes: size, remove: () => rm(folder, { recursive: true, maxRetries: 3 }) };
}
