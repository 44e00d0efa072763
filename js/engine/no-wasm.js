/** Finds out why the engine's WebAssembly cannot be compiled here. */

import { sentenceOf, TrainletError } from '../base/errors.js';

/** A module of nothing: it compiles wherever WebAssembly may be compiled. */
const EMPTY = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
/** A module with one function, which gives i8x16.splat of 0. */
const SIMD = Uint8Array.of(
  ...EMPTY,
  ...[1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0], // a function without parameters that gives a v128
  ...[10, 8, 1, 6, 0, 0x41, 0, 0xfd, 0x0f, 0x0b],
);

/** @param {unknown} error of compiling the engine */
export async function refusalOf(error) {
  const reason = await reasonOf(error);
  return new TrainletError('unsupported-browser', `the engine cannot run here: ${reason}`, { cause: error });
}

/** @param {unknown} error */
async function reasonOf(error) {
  const { WebAssembly } = globalThis;
  if (!WebAssembly) return 'there is no WebAssembly (the browser is too old, or a lockdown mode switches it off)';
  try {
    await WebAssembly.compile(EMPTY);
  } catch {
    return "the page's Content Security Policy forbids WebAssembly: add 'wasm-unsafe-eval' to its script-src";
  }
  if (!WebAssembly.validate(SIMD))
    return "the browser's WebAssembly has no SIMD, which Chrome 91, Firefox 89 and Safari 16.4 have, and later ones";
  return `its file is no WebAssembly that compiles: ${sentenceOf(error)}`;
}
