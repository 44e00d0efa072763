// Finishes a linked wasm file in place: notes where its constants lie (FILE.layout.json, for `trainlet shrink`), makes it
// smaller with binaryen's wasm-opt from npm, and orders its functions. The CMake build calls it after each link.
//
// FILE.named.wasm is the same with the names of its functions, for whoever wants to know what weighs.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { joinSegments } from '../js/cli/shrink/segments.js';
import { SECTION, sectionsOf, withSections } from '../js/cli/shrink/wasm-file.js';
import { layoutOf } from './layout.mjs';
import { withoutPlaces, withPlaces } from './order.mjs';
import { root, run, runMain, say } from '../tools/programs.mjs';

const FEATURES =
  'simd relaxed-simd bulk-memory bulk-memory-opt nontrapping-float-to-int sign-ext mutable-globals threads'.split(' ');

runMain(() => {
  const [file] = process.argv.slice(2);
  const linked = readFileSync(file);
  const layout = layoutOf(linked);
  writeFileSync(
    file,
    withCustom(linked, (name) => name === 'name'),
  );
  optimize(file, `${file}.named.wasm`);
  const finished = joinSegments(withCustom(readFileSync(`${file}.named.wasm`), () => false));
  writeFileSync(file, finished);
  const sha256 = createHash('sha256').update(finished).digest('hex');
  writeFileSync(`${file}.layout.json`, JSON.stringify({ sha256, ...layout }));
});

/** With those of the custom sections alone whose name is kept. */
function withCustom(bytes, isKept) {
  return withSections(
    bytes,
    sectionsOf(bytes).filter(({ id, name }) => id !== SECTION.custom || isKept(name)),
  );
}

/**
 * Does what emcc does, but inlines only functions that are smaller than a call: kernels call no other one in a loop.
 * Nothing lies below 1,024 but the end of the stack.
 */
function optimize(file, to) {
  const program = join(root, 'node_modules/binaryen/bin/wasm-opt');
  if (!existsSync(program)) {
    say(`binaryen is not among the npm packages: ${file} stays as it was linked.`);
    return writeFileSync(to, readFileSync(file));
  }
  const options = ['-g', '--mvp-features', ...FEATURES.map((feature) => `--enable-${feature}`)];
  const opt = (from, ...passes) =>
    run('wasm-opt', `wasm-opt could not read ${from}`, process.execPath, [
      program,
      ...options,
      ...passes,
      from,
      '-o',
      to,
    ]);
  opt(
    file,
    '-O3',
    '--converge',
    '--low-memory-unused',
    '--flexible-inline-max-function-size=6',
    '--one-caller-inline-max-function-size=250',
  );
  writeFileSync(to, withPlaces(readFileSync(to)));
  opt(to, '--optimize-level=3', '--reorder-functions-by-name');
  writeFileSync(to, withoutPlaces(readFileSync(to)));
}
