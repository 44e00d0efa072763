// Finishes a linked wasm file, for the CMake build:
//
//   node finish.mjs finished|fast LINKED FILE ─▶ FILE; FILE.layout.json, the places of its constants, for
//     `trainlet shrink`; FILE.named.wasm, the same file with the names of its functions, for `npm run sizes`
//
// `finished`: binaryen's wasm-opt from npm makes the file smaller, and its functions are ordered. `fast` does neither.

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
  const [kind, from, file] = process.argv.slice(2);
  const linked = readFileSync(from);
  const named = `${file}.named.wasm`;
  writeFileSync(
    named,
    withCustom(linked, (name) => name === 'name'),
  );
  if (kind === 'finished') optimize(named);
  const finished = joinSegments(withCustom(readFileSync(named), () => false));
  const sha256 = createHash('sha256').update(finished).digest('hex');
  writeFileSync(`${file}.layout.json`, JSON.stringify({ sha256, ...layoutOf(linked) }));
  writeFileSync(file, finished);
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
function optimize(file) {
  const program = join(root, 'node_modules/binaryen/bin/wasm-opt');
  if (!existsSync(program)) return say(`binaryen is not among the npm packages: ${file} stays as it was linked.`);
  const options = ['-g', '--mvp-features', ...FEATURES.map((feature) => `--enable-${feature}`)];
  const opt = (...passes) =>
    run('wasm-opt', `wasm-opt could not read ${file}`, process.execPath, [
      program,
      ...options,
      ...passes,
      file,
      '-o',
      file,
    ]);
  opt(
    '-O3',
    '--converge',
    '--low-memory-unused',
    '--flexible-inline-max-function-size=6',
    '--one-caller-inline-max-function-size=250',
  );
  writeFileSync(file, withPlaces(readFileSync(file)));
  opt('--optimize-level=3', '--reorder-functions-by-name');
  writeFileSync(file, withoutPlaces(readFileSync(file)));
}
