// Makes a linked wasm file smaller, in place, by binaryen's wasm-opt from npm; the CMake build calls it after it links
// a relaxed build. Those are linked without emcc, and the wasm-opt that came with it may be too old for them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, runMain, say } from './tools.mjs';

const FEATURES =
  'simd relaxed-simd bulk-memory bulk-memory-opt nontrapping-float-to-int sign-ext mutable-globals threads'.split(' ');

runMain(() => {
  const [file] = process.argv.slice(2);
  const program = join(root, 'node_modules/binaryen/bin/wasm-opt');
  if (!existsSync(program)) return say(`binaryen is not among the npm packages: ${file} stays as it was linked.`);
  // As emcc does. Nothing lies below 1,024 but the end of the stack.
  const options = ['-O3', '--low-memory-unused', '--mvp-features'];
  options.push(...FEATURES.map((feature) => `--enable-${feature}`));
  run('wasm-opt', `wasm-opt could not read ${file}`, process.execPath, [program, ...options, file, '-o', file]);
});
