/** Options for the engines of tests, and the folder of the repository. */

export { root } from '../../tools/programs.mjs';

/** In the test's own thread, which alone computes. */
export const HERE = { worker: false, threads: 1 };
/** In the test's own thread, with as many threads beside it as a page would have. */
export const THREADED = { worker: false };
/** The build with threads, with one: sessions of milliseconds end before a helper that they start has come. */
export const ALONE = { ...HERE, wasmUrl: new URL('../../js/engine/trainlet-threads.wasm', import.meta.url) };
/** In a worker, to the bit on every machine. */
export const REPRODUCIBLE = { reproducible: true, threads: 1 };
