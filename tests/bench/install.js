// Installs the peers beside this file, once, at the versions of package.json; the main package depends on none of them.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** A package of package.json that is not installed, or not at its version. */
function isMissing([name, wanted]) {
  const path = join(folder, 'node_modules', name, 'package.json');
  return !existsSync(path) || !wanted.endsWith(JSON.parse(readFileSync(path, 'utf8')).version);
}

export async function installPeers() {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (Object.entries(dependencies).some(isMissing)) {
    console.log('Installing the peers into tests/bench/node_modules …');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'], {
      cwd: folder,
      stdio: 'inherit',
    });
  }
  await bundleTfjs();
}

/** TensorFlow.js comes as packages that import each other by name, which a worker cannot follow: one file of them. */
async function bundleTfjs() {
  const { build } = await import('esbuild');
  const entryPoints = [join(folder, 'contenders/tfjs_library.js')];
  await build({
    entryPoints,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    outfile: join(folder, '../../build/bench/tfjs.js'),
    logLevel: 'error',
    external: [
      'fs',
      'path',
      'worker_threads',
      'perf_hooks',
      'os',
      'url',
      'util',
      'string_decoder',
      'crypto',
      'node-fetch',
    ],
  });
}
