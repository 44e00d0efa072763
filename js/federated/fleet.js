/** Calls of Flower's Fleet API: protobuf over HTTP, signed, bounded, tried again where that may help. */

import { abortedBy, sentenceOf, TrainletError } from '../base/errors.js';
import { decode, encode } from './messages.js';

/** @import { Identity } from './identity.js' */

/** Answers of the network between that say: later. */
const LATER = new Set([408, 425, 429, 502, 503, 504]);
const CALL_MS = 30_000;
/** Time of a call for each byte that goes or comes. */
const MS_A_BYTE = 1 / 20;
const [FIRST_MS, LAST_MS] = [1000, 20_000];
const SMALL = 64 * 1024;
const UNAUTHORIZED = 401;

/** An error of a call: `flower` is the SuperLink's own code, `isPassing` says that it may help to try again. */
export class CallError extends TrainletError {
  /** @param {string} message @param {{ flower?: number, isPassing?: boolean, cause?: unknown }} [about] */
  constructor(message, { flower, isPassing = false, cause } = {}) {
    super('source-unreadable', message, { cause });
    this.flower = flower;
    this.isPassing = isPassing;
  }
}

/** Flower's codes that a node answers to. */
export const FLOWER = { keyInUse: 23, registrationDisabled: 2001, activationFailed: 2004, runNotRunning: 2007 };

/**
 * Waits; false where the signal ended it.
 * @param {number} ms @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
export const wait = (ms, signal) =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve(!signal.aborted);
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });

/** Milliseconds before another try: 1 s, 2 s … 20 s, each a fifth more or less. @param {number} tries */
export const backOff = (tries) => Math.min(LAST_MS, FIRST_MS * 2 ** (tries - 1)) * (0.8 + 0.4 * Math.random());

export class Fleet {
  #url;
  #identity;
  signal;

  /** @param {URL} url of the SuperLink @param {Identity} identity @param {AbortSignal} signal ends all calls */
  constructor(url, identity, signal) {
    this.#url = url.href.replace(/[?#].*$/, '').replace(/\/*$/, '/v1/fleet/');
    this.#identity = identity;
    this.signal = signal;
  }

  /**
   * A call that is tried again while its errors are passing ones.
   * @param {string} path @param {object} wanted fields of the request @param {Record<string, any>} request
   * @param {object} given fields of the answer
   * @param {{ most?: number, tries?: number, onRetry?: (error: CallError, ms: number) => void }} [options] `most` bytes
   * of the answer
   * @returns {Promise<Record<string, any>>}
   */
  async call(path, wanted, request, given, { most = SMALL, tries = Infinity, onRetry = () => {} } = {}) {
    const body = encode(wanted, request);
    for (let tried = 1; ; tried++) {
      try {
        return decode(given, await this.#post(path, body, most));
      } catch (error) {
        if (!(error instanceof CallError && error.isPassing) || tried >= tries) throw error;
        const ms = backOff(tried);
        onRetry(error, ms);
        if (!(await wait(ms, this.signal))) throw abortedBy(this.signal);
      }
    }
  }

  /** One call without an answer that counts, as a page is left; never rejects. @param {string} path */
  async last(path, /** @type {object} */ wanted, /** @type {Record<string, any>} */ request) {
    const headers = { 'content-type': 'application/protobuf', ...(await this.#identity.headers()) };
    const body = encode(wanted, request);
    const signal = AbortSignal.timeout(CALL_MS / 10);
    await fetch(this.#url + path, { method: 'POST', headers, body, keepalive: true, signal }).catch(() => {});
  }

  /** @param {string} path @param {Uint8Array<ArrayBuffer>} body @param {number} most */
  async #post(path, body, most) {
    const headers = { 'content-type': 'application/protobuf', ...(await this.#identity.headers()) };
    const stop = new AbortController();
    const end = () => stop.abort();
    const timer = setTimeout(end, CALL_MS + MS_A_BYTE * (body.length + most));
    this.signal.addEventListener('abort', end);
    if (this.signal.aborted) end();
    try {
      const response = await fetch(this.#url + path, { method: 'POST', headers, body, signal: stop.signal });
      const bytes = await bytesOf(response, most);
      if (!response.ok) throw this.#refusal(path, response, bytes);
      const type = response.headers.get('content-type') ?? '';
      if (!/^application\/protobuf\b/.test(type)) throw this.#noSuperLink(`answered with ${type || 'no type'}`);
      return bytes;
    } catch (error) {
      if (this.signal.aborted) throw abortedBy(this.signal);
      if (error instanceof TrainletError) throw error;
      const why = stop.signal.aborted ? 'no answer in time' : sentenceOf(error);
      const message = `the SuperLink at ${this.#url} cannot be reached: ${why}`;
      throw new CallError(message, { isPassing: true, cause: error });
    } finally {
      clearTimeout(timer);
      this.signal.removeEventListener('abort', end);
    }
  }

  /** @param {string} why */
  #noSuperLink(why) {
    return new CallError(`there is no SuperLink of Flower 1.42 at ${this.#url}: it ${why}`);
  }

  /** @param {string} path @param {Response} response @param {Uint8Array} bytes */
  #refusal(path, { status }, bytes) {
    if (status === UNAUTHORIZED)
      return new CallError("the SuperLink does not take this node's signature: is the clock of this machine right?");
    /** @type {any} */
    let error;
    try {
      error = JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      // a proxy's page, not the SuperLink's JSON
    }
    if (LATER.has(status)) return new CallError(`the SuperLink answered ${path} with ${status}`, { isPassing: true });
    if (typeof error?.code !== 'number') return this.#noSuperLink(`answered ${path} with ${status}`);
    const text = String(error.detail ?? '').slice(0, 500);
    return new CallError(`the SuperLink refused ${path}: ${text} (Flower's error ${error.code})`, {
      flower: error.code,
    });
  }
}

/** The body of an answer, of which no more is read than allowed. @param {Response} response @param {number} most */
async function bytesOf(response, most) {
  const reader = response.body?.getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done || !value) break;
    length += value.length;
    if (length > most) {
      await reader?.cancel().catch(() => {});
      const message = `the SuperLink sent more than ${most} bytes, which is more than this session can need`;
      throw new TrainletError('source-unreadable', message);
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
