/** The number of threads of an engine: the option's, if memory can be shared. */

import { hasWorkers, isNode, nodeModule } from '../base/platform.js';

const AUTO_MAX = 8;
let warned = false;

/** @param {number | 'auto'} threads @returns {Promise<number>} */
export async function threadsFor(threads) {
  const canShare = isNode || (globalThis.crossOriginIsolated && hasWorkers());
  if (canShare) return threads === 'auto' ? Math.min(await cores(), AUTO_MAX) : threads;
  if (threads !== 'auto' && threads > 1 && !warned) {
    warned = true;
    console.info(
      `trainlet: one thread computes instead of ${threads}, because this page is not cross-origin isolated ` +
        '(docs/guides/threads.md)',
    );
  }
  return 1;
}

async function cores() {
  if (isNode) return (await nodeModule('os')).availableParallelism();
  return globalThis.navigator.hardwareConcurrency || 1;
}
