/** The node: it joins a SuperLink, asks it for work, does it in a session, and sends back what was learned. */

import { checkKeys, checkSignal, invalid, notByNew, TrainletError } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { locate } from '../base/platform.js';
import { layoutOf } from './exchange.js';
import { backOff, CallError, FLOWER, Fleet, wait } from './fleet.js';
import { openIdentity } from './identity.js';
import * as wire from './messages.js';
import { optionsOf } from './options.js';

/** @import { SuperNodeOptions } from '../types/federated/index.js' */
/** @import { Identity } from './identity.js' */
/** @import { Plan } from './options.js' */

/** Tries of the calls by which a node joins: about 7 seconds. */
const JOIN_TRIES = 4;
/** Heartbeats come a little before they are due, as Flower's own. */
const EARLY = 0.7;
const MS = 1000;

const INTERNAL = Symbol('by connect');

export class SuperNode {
  static get name() {
    return 'SuperNode';
  }

  /** Settles once the node has left. @type {Promise<void>} */
  finished;
  #plan;
  #identity;
  #stop = new AbortController();
  #fleet;
  #nodeId = 0n;
  #wake = () => {};

  /** @param {symbol} by @param {URL} url @param {Identity} identity @param {Plan} plan */
  constructor(by, url, identity, plan) {
    if (by !== INTERNAL) throw notByNew('a node is made', 'SuperNode.connect()');
    this.#plan = plan;
    this.#identity = identity;
    this.#fleet = new Fleet(url, identity, this.#stop.signal);
    this.finished = Promise.resolve();
  }

  /** @param {string | URL} url @param {SuperNodeOptions} options */
  static async connect(url, options) {
    const plan = await optionsOf(options);
    const { identity: name, signal } = options;
    checkSignal(signal);
    const located = await locate(url);
    if (!/^https?:$/.test(located.protocol)) throw invalid(`SuperNode.connect: wanted an http(s) URL, not ${located}`);
    const identity = await openIdentity(name);
    const node = new SuperNode(INTERNAL, located, identity, plan);
    const leave = () => node.leave();
    signal?.addEventListener('abort', leave);
    try {
      await node.#join(JOIN_TRIES);
      checkSignal(signal);
    } catch (error) {
      node.#stop.abort();
      identity.release();
      throw error;
    }
    node.finished = node.#live().finally(() => signal?.removeEventListener('abort', leave));
    node.finished.catch(() => {}); // who wants to know awaits it
    return node;
  }

  /** The public key of an identity, which is made where there is none. @param {string} identity */
  static async publicKey(identity) {
    checkKeys('SuperNode.publicKey', { identity }, ['identity']);
    if (identity === undefined) throw invalid('SuperNode.publicKey: wanted the name of an identity');
    const opened = await openIdentity(identity);
    opened.release();
    return opened.openSsh;
  }

  /** The SuperLink's number for this node, in decimal digits. */
  get id() {
    return String(this.#nodeId);
  }

  get publicKey() {
    return this.#identity.openSsh;
  }

  get privacy() {
    return this.#plan.privacy?.state ?? null;
  }

  /** Ends the round that is under way, and takes no other. */
  async leave() {
    this.#stop.abort();
    await this.finished;
  }

  [Symbol.asyncDispose]() {
    return this.leave();
  }

  /** Registers and activates. @param {number} [tries] */
  async #join(tries) {
    const { heartbeat } = this.#plan;
    const key = { public_key: this.#identity.pem };
    const options = { tries, onRetry: this.#told };
    const known = /** @type {unknown[]} */ ([FLOWER.keyInUse, FLOWER.registrationDisabled]);
    await this.#fleet
      .call('register-node', wire.RegisterNodeFleetRequest, key, wire.RegisterNodeFleetResponse, options)
      .catch((error) => (known.includes(error.flower) ? undefined : Promise.reject(error)));
    const request = { ...key, heartbeat_interval: heartbeat };
    const { node_id } = await this.#fleet
      .call('activate-node', wire.ActivateNodeRequest, request, wire.ActivateNodeResponse, options)
      .catch((error) => Promise.reject(error.flower === FLOWER.activationFailed ? this.#unknownKey(error) : error));
    if (!node_id) throw new CallError('the SuperLink gave this node no number');
    this.#nodeId = node_id;
  }

  /** @param {CallError} error */
  #unknownKey(error) {
    const message = `the SuperLink does not know this node; whoever runs it registers the key: ${this.publicKey}`;
    return new CallError(message, { flower: error.flower, cause: error });
  }

  #told = (/** @type {TrainletError} */ error, /** @type {number} */ retryMs) =>
    this.#plan.onError?.({ error, retryMs });

  /** Rounds and heartbeats until the node leaves. */
  async #live() {
    const unlisten = this.#listen();
    const heart = this.#beat();
    try {
      for (let failed = 0; !this.#stop.signal.aborted; ) {
        try {
          const isBusy = await this.#next();
          failed = 0;
          if (!isBusy) await this.#rest(this.#plan.pollMs);
        } catch (error) {
          if (this.#stop.signal.aborted) break;
          failed = await this.#recover(error, failed + 1);
        }
      }
    } finally {
      this.#stop.abort();
      await heart;
      unlisten();
      await this.#fleet.last('deactivate-node', wire.DeactivateNodeRequest, { node_id: this.#nodeId });
      if (!this.#identity.isKept)
        await this.#fleet.last('unregister-node', wire.UnregisterNodeFleetRequest, { node_id: this.#nodeId });
      this.#identity.release();
    }
  }

  /**
   * After an error of the SuperLink, or of the way to it: a SuperLink that was started anew does not know the node.
   * @param {unknown} error @param {number} failed
   */
  async #recover(error, failed) {
    const isOver = !(error instanceof TrainletError) || ['released', 'worker-died'].includes(error.code);
    if (isOver) throw error; // a listener's own, or the session's end
    const ms = backOff(failed);
    await this.#told(error, ms);
    if ((await this.#rest(ms)) && error instanceof CallError)
      await this.#join().catch((again) => (again instanceof TrainletError ? undefined : Promise.reject(again)));
    return failed;
  }

  /** Waits, not longer than until the page is seen again or online; false once the node leaves. @param {number} ms */
  async #rest(ms) {
    const waking = new AbortController();
    const end = () => waking.abort();
    this.#wake = end;
    this.#stop.signal.addEventListener('abort', end);
    await wait(ms, waking.signal);
    this.#stop.signal.removeEventListener('abort', end);
    return !this.#stop.signal.aborted;
  }

  #listen() {
    const wake = () => this.#wake();
    globalThis.addEventListener?.('online', wake);
    globalThis.document?.addEventListener('visibilitychange', wake);
    return () => {
      globalThis.removeEventListener?.('online', wake);
      globalThis.document?.removeEventListener('visibilitychange', wake);
    };
  }

  async #beat() {
    const { heartbeat } = this.#plan;
    const { signal } = this.#stop;
    while (await wait(heartbeat * MS * (EARLY + 0.1 * Math.random()), signal)) {
      const request = { node: this.#node(), heartbeat_interval: heartbeat };
      const { SendNodeHeartbeatRequest: wanted, SendNodeHeartbeatResponse: given } = wire;
      // a round tells of errors; the next heartbeat is another try
      await this.#fleet.call('send-node-heartbeat', wanted, request, given, { tries: 1 }).catch(() => {});
    }
  }

  #node() {
    return { node_id: this.#nodeId };
  }

  /** One message; false where there is none. */
  async #next() {
    const { session, exchange } = this.#plan;
    const layout = await layoutOf(session, exchange);
    const { nextRound } = await lazy(() => import('./rounds.js'));
    const link = { fleet: this.#fleet, node: this.#node(), onRetry: this.#told };
    const isBusy = await nextRound(this.#plan, layout, link);
    if (this.#plan.privacy?.isSpent) this.#stop.abort();
    return isBusy;
  }
}
