// Lays the code out: JavaScript and CSS by biome, C by clang-format. With `--check` it changes nothing and tells what
// is not laid out.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, findProgram, root, runMain, say } from './programs.mjs';

const FOLDERS = ['src', 'wasm', 'tests', 'examples'];

runMain(() => {
  const check = process.argv.includes('--check');
  const good = [biome(check), clangFormat(check)];
  if (good.includes(false))
    throw new Failure(
      check ? "Some files are not laid out: run 'npm run format'." : 'Not all files could be laid out.',
    );
});

function biome(check) {
  return runs(process.execPath, [
    join(root, 'node_modules/@biomejs/biome/bin/biome'),
    'format',
    ...(check ? [] : ['--write']),
  ]);
}

/** Versions differ in what they make of the same code, so it is one version or none. */
function clangFormat(check) {
  const program = findProgram('clang-format-19');
  if (!program) {
    say('clang-format-19 is not here: C is not looked at.');
    return true;
  }
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)),
  ).filter((name) => /\.[ch]$/.test(name));
  return runs(program, [...(check ? ['--dry-run', '-Werror'] : ['-i']), ...files]);
}

function runs(program, args) {
  return spawnSync(program, args, { cwd: root, stdio: 'inherit' }).status === 0;
}
