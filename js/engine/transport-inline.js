/** The transport to an engine in this thread, over a channel like that of a worker. */

import { lazy } from '../base/lazy.js';
import { Core } from './core.js';
import { serve } from './serve.js';

/** @import { Transport } from './transport.js' */
/** @import { Port, Take } from './protocol.js' */
/** @import { Taken } from '../base/tensor.js' */
/** @import { TypedArray } from '../types.js' */
/** @typedef {MessagePort & { ref?(): void, unref?(): void }} NodePort */

/** For how long messages may follow each other before the page has its turn. */
const TURN_MS = 4;

/** @param {{ backend: string, reproducible?: boolean }} how @returns {Transport} */
export function openInline(how) {
  const { near, far, ports } = channel();
  /** @type {Core | undefined} */
  let core;
  /** @type {{ close(): void } | undefined} */
  let onGpu;
  let busy = false;
  serve(/** @type {Port} */ (far), async (options) => {
    core = await Core.create(options);
    if (how.backend === 'wasm') return core;
    const { GpuCore } = await lazy(() => import('../gpu/core.js'));
    const opened = await GpuCore.create(core, how);
    onGpu = opened;
    return opened.asked();
  });
  const transport = portTransport(near, far, ports);
  const hold = (/** @type {boolean} */ now) => {
    busy = now;
    transport.hold(now);
  };
  const close = () => [onGpu?.close(), transport.close()];
  return { ...transport, close, hold, take: (graph, feeds) => (busy || !core ? undefined : taken(core, graph, feeds)) };
}

/**
 * Writes feeds where the engine reads them, straight from the caller's arrays: a message would take a copy along.
 * Sequences and strings go that way.
 * @param {Core} core
 * @param {Parameters<Take>[0]} graph
 * @param {Parameters<Take>[1]} feeds
 */
function taken(core, graph, feeds) {
  if (feeds.some(([, value]) => Array.isArray(value) || Array.isArray(value.data))) return undefined;
  for (const [name, value] of feeds) {
    const { type, data, dims } = /** @type {Taken<TypedArray>} */ (value);
    const { byteOffset: offset, byteLength: bytes } = data;
    const buffer = /** @type {ArrayBuffer} */ (data.buffer);
    core.feed(graph, { tensors: [{ name, type, dims: [...dims], offset, bytes }], sequences: [], buffer });
  }
  return { tensors: [], sequences: [], buffer: new ArrayBuffer(0) };
}

/**
 * Two ends: a message is heard when the caller is done, and through the event loop where that had no turn for a while.
 * Nothing is copied, for neither side changes what it has sent.
 */
function channel() {
  const { port1, port2 } = new MessageChannel();
  const ports = [port1, port2];
  /** @type {(() => void)[]} */
  const waiting = [];
  let turned = -Infinity;
  for (const port of ports)
    port.onmessage = () => {
      turned = performance.now();
      waiting.shift()?.();
    };
  /** @param {() => void} hear */
  function pass(hear) {
    if (!waiting.length && performance.now() - turned < TURN_MS) return queueMicrotask(hear);
    waiting.push(hear);
    ports[0].postMessage(0);
    ports.reverse(); // Node hears up to a thousand messages of one port without a turn at anything else
  }
  /** @param {() => any} other */
  const endTo = (other) => ({
    onmessage: /** @type {any} */ (null),
    postMessage: (/** @type {unknown} */ data) => pass(() => other().onmessage?.({ data })),
    close: () => port1.close(),
  });
  const near = endTo(() => far);
  const far = endTo(() => near);
  return { near, far, ports };
}

/**
 * @param {Pick<MessagePort, 'postMessage' | 'onmessage' | 'close'>} near
 * @param {Pick<MessagePort, 'onmessage'>} far in this thread too, so Node holds its process for both or for none
 * @param {NodePort[]} ports
 * @returns {Transport}
 */
export function portTransport(near, far, ports) {
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
