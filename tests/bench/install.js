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

export function installPeers() {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (!Object.entries(dependencies).some(isMissing)) return;
  console.log('Installing the peers into tests/bench/node_modules …');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'], { cwd: folder, stdio: 'inherit' });
}
