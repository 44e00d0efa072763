/** A line to the engine in this very thread, over a channel like any worker's. */

import { serve } from './serve.js';

/** @import { Line } from './line.js' */
/** @import { Port } from './protocol.js' */

/** @returns {Line} */
export function openHere() {
  const { port1, port2 } = new MessageChannel();
  serve(/** @type {Port} */ (/** @type {unknown} */ (port2)));
  return portLine(port1, port2);
}

/**
 * @param {MessagePort} near
 * @param {MessagePort} far in this thread too, so Node holds its process for both or for none
 * @returns {Line}
 */
export function portLine(near, far) {
  const ports = /** @type {(MessagePort & { ref?(): void, unref?(): void })[]} */ ([near, far]);
  return {
    post: (message, transfer) => near.postMessage(message, transfer),
    listen: (hear) => {
      near.onmessage = ({ data }) => hear(data);
    },
    hold: (busy) => {
      for (const port of ports) busy ? port.ref?.() : port.unref?.();
    },
    close: () => {
      far.onmessage = null;
      near.close();
    },
  };
}
