/** Transports of messages to an engine: to a worker of a page, to a thread of Node, or within this thread. */

import { lazy } from '../base/lazy.js';
import { isNode, locate } from '../base/platform.js';

/** @import { Answer, Take } from './protocol.js' */

/**
 * @typedef {object} Transport
 * @property {(message: unknown, transfer: ArrayBuffer[]) => void} post
 * @property {(hear: (answer: Answer) => void, dead: (reason: string) => void) => void} listen
 * @property {(busy: boolean) => void} hold while busy, Node's process stays alive for it
 * @property {() => unknown} close
 * @property {Take} [take]
 * @property {string} [lock] a browser's worker is to hold it as long as it lives
 * @property {() => void} [watch] once it does: tells of its death, of which a browser itself says nothing
 */

/** In this thread. @param {{ backend: string, reproducible?: boolean }} how @returns {Promise<Transport>} */
export const openInline = async (how) => (await lazy(() => import('./transport-inline.js'))).openInline(how);

/** @param {string | URL | undefined} url @returns {Promise<Transport>} */
export async function openWorker(url) {
  if (isNode) return await (await lazy(() => import('./transport-node.js'))).openNodeThread(url);
  const named = url ? await locate(url) : undefined;
  const script = () => named ?? new URL('./worker.js', import.meta.url);
  const transport = workerTransport(await workerOf(script), script);
  transport.lock = await lockName();
  return transport.lock ? transport : (await lazy(() => import('./heartbeat.js'))).withHeartbeat(transport);
}

/** A name for a Web Lock; undefined outside of secure contexts that may store data. */
async function lockName() {
  try {
    await navigator.locks.query();
    return `trainlet-${crypto.randomUUID()}`;
  } catch {
    return undefined;
  }
}

const otherWays = () => lazy(() => import('../base/start-worker.js'));

/** @param {() => URL} script */
async function workerOf(script) {
  try {
    const url = script();
    if (url.origin === globalThis.origin) return new Worker(url, { type: 'module' });
  } catch {} // the other way says why
  return await (await otherWays()).workerFrom(script);
}

/** The reason why a worker did not start, of which its error says nothing. @param {() => URL} script */
const whyNone = async (script) =>
  await otherWays().then(
    ({ whyNoWorker }) => whyNoWorker(script),
    () => 'its script could not be loaded',
  );

/** @param {Worker} worker @param {() => URL} script @returns {Transport} */
function workerTransport(worker, script) {
  /** @type {string | undefined} */
  let early; // a worker may fail before anybody listens
  let dead = (/** @type {string} */ reason) => {
    early = reason;
  };
  worker.onerror = async ({ message }) => {
    const reason = message || (await whyNone(script));
    dead(reason); // who listens may have changed meanwhile
  };
  /** @type {Transport} */
  const transport = {
    post: (message, transfer) => worker.postMessage(message, transfer),
    listen: (hear, died) => {
      dead = died;
      worker.onmessage = ({ data }) => hear(data);
      worker.onmessageerror = () => dead('an answer could not be read');
      if (early) died(early);
    },
    hold: () => {},
    close: () => worker.terminate(),
    watch: () => {
      const { lock } = transport;
      if (lock) navigator.locks.request(lock, () => dead('it was ended from outside')).catch(() => {});
    },
  };
  return transport;
}
