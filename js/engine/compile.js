/**
 * The engine's WebAssembly: which build is loaded, compiled once for each address; all sessions of a page or process
 * share the module.
 */

import { sentenceOf, TrainletError } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { isKind } from '../base/kind.js';
import { isNode, nodeModule } from '../base/platform.js';

/** @type {Map<string, Promise<WebAssembly.Module>>} */
const modules = new Map();

/**
 * @param {{ wasmUrl?: URL, wasmBinary?: Uint8Array, threads: number, reproducible: boolean }} build
 * @returns {Promise<WebAssembly.Module>} made off the calling thread, and as the bytes stream in where the server says
 * what they are
 */
export function compileEngine({ wasmUrl, wasmBinary, threads, reproducible }) {
  if (wasmBinary) return compile(wasmBinary);
  const url = wasmUrl ?? buildFor(threads > 1, !reproducible && hasRelaxedSimd());
  const known = modules.get(url.href);
  if (known) return known;
  const module = fetchWasm(url).then(compile);
  modules.set(url.href, module);
  module.catch(() => modules.delete(url.href)); // the next session may have better luck
  return module;
}

/** Each file is named by a literal, so that bundlers find it. @param {boolean} threads @param {boolean} relaxed */
function buildFor(threads, relaxed) {
  if (threads && relaxed) return new URL('./trainlet-threads-relaxed.wasm', import.meta.url);
  if (threads) return new URL('./trainlet-threads.wasm', import.meta.url);
  if (relaxed) return new URL('./trainlet-relaxed.wasm', import.meta.url);
  return new URL('./trainlet.wasm', import.meta.url);
}

/**
 * True if this browser has relaxed SIMD: it validates f32x4.relaxed_madd of three zeros, in a function of a
 * module.
 */
function hasRelaxedSimd() {
  const module = [
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0, 10, 19, 1, 17, 0, 0x41, 0, 0xfd, 0x0f, 0x41,
    0, 0xfd, 0x0f, 0x41, 0, 0xfd, 0x0f, 0xfd, 0x85, 0x02, 0x0b,
  ];
  return globalThis.WebAssembly?.validate(new Uint8Array(module)) ?? false;
}

/** @param {Response | Uint8Array | ArrayBuffer} source */
async function compile(source) {
  try {
    return isKind(source, 'Response')
      ? await WebAssembly.compileStreaming(source)
      : await WebAssembly.compile(/** @type {BufferSource} */ (source));
  } catch (error) {
    throw await (await lazy(() => import('./no-wasm.js'))).refusalOf(error);
  }
}

/**
 * @param {URL} url
 * @returns {Promise<Response | Uint8Array | ArrayBuffer>} a response where it can be compiled as it streams in
 */
async function fetchWasm(url) {
  try {
    if (isNode && url.protocol === 'file:') return await (await nodeModule('fs/promises')).readFile(url);
    const response = await fetch(url, { credentials: 'same-origin' });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const type = response.headers.get('content-type');
    const streams = type?.startsWith('application/wasm') && globalThis.WebAssembly?.compileStreaming;
    if (streams) return response;
    const bytes = await response.arrayBuffer();
    if (new Uint8Array(bytes)[0] === 0) return bytes; // WebAssembly begins with 0, pages and texts do not
    throw new Error(`what came is no WebAssembly (its type: ${type}): is the file on the server?`);
  } catch (error) {
    throw new TrainletError('source-unreadable', `the engine could not be loaded from ${url}: ${sentenceOf(error)}`, {
      cause: error,
    });
  }
}
