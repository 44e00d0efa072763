/** Notices the end of a worker where there are no locks to tell of it, as in pages without https. */

import { withTimeout } from '../base/timeout.js';

/** @import { Transport } from './transport.js' */

/** While calls are open the worker is asked so often; one that is silent for so many seconds is dead. */
const EVERY_MS = 2000;
const SILENT_SECONDS = 10;
const NO_CALL = -1;

/**
 * A worker that computes hears nothing: one that it has started answers in its place, and ends with it.
 * @param {Transport} transport @returns {Transport}
 */
export function withHeartbeat(transport) {
  const { port1: near, port2: far } = new MessageChannel();
  transport.post({ id: NO_CALL, method: 'beat', args: far }, /** @type {any} */ ([far]));
  const first = beat(near); // it never comes where workers can start none
  let busy = false,
    watching = false,
    dead = (/** @type {string} */ _reason) => {};
  const watch = async () => {
    if (watching) return;
    watching = true;
    try {
      for (await first; busy; await pause()) await withTimeout(beat(near), SILENT_SECONDS, () => undefined);
      watching = false;
    } catch {
      dead('it was ended from outside');
    }
  };
  return {
    ...transport,
    listen: (hear, died) => {
      dead = died;
      transport.listen(hear, died);
    },
    hold: (now) => {
      busy = now;
      if (busy) watch();
    },
    close: () => {
      dead = () => {};
      busy = false;
      near.close();
      transport.close();
    },
  };
}

/** @param {MessagePort} port */
const beat = (port) =>
  new Promise((resolve) => {
    port.onmessage = resolve;
    port.postMessage(0);
  });

const pause = () =>
  new Promise((resolve) => {
    setTimeout(resolve, EVERY_MS);
  });
