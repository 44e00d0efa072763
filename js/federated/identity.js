/**
 * The key of a node: ECDSA over P-384. WebCrypto holds the private half, which cannot be taken out of it; a page keeps
 * it in IndexedDB, Node in a file.
 */

import { invalid, TrainletError } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import { isNode, nodeModule } from '../base/platform.js';
import { concatBytes } from '../base/rows.js';

/** @typedef {{ sign: CryptoKey, spki: Uint8Array<ArrayBuffer> }} KeyPair */

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-384' };
const DATABASE = 'trainlet-federated';
/** Tabs of a page that may take part at the same time. */
const SLOTS = 256;
/** Bytes of a point of the curve, with the byte that says that it is not compressed. */
const POINT = 97;
const COORDINATE = 48;
const OWNER_ONLY = 0o600;

export class Identity {
  /** The public key as the SuperLink wants it in bodies and headers. */
  pem;
  #sign;
  #spki;
  #free;

  /** @param {KeyPair} pair @param {() => void} [free] lets another tab have the key @param {boolean} [isKept] */
  constructor({ sign, spki }, free = () => {}, isKept = true) {
    this.#sign = sign;
    this.#spki = spki;
    this.#free = free;
    this.isKept = isKept;
    this.pem = new TextEncoder().encode(pemOf('PUBLIC KEY', spki));
  }

  /** OpenSSH's form, which `flwr supernode register` reads. */
  get openSsh() {
    const field = (/** @type {Uint8Array} */ bytes) => [Uint8Array.of(0, 0, 0, bytes.length), bytes];
    const text = (/** @type {string} */ value) => field(new TextEncoder().encode(value));
    const parts = [text('ecdsa-sha2-nistp384'), text('nistp384'), field(this.#spki.subarray(-POINT))];
    return `ecdsa-sha2-nistp384 ${base64(concatBytes(parts.flat()))}`;
  }

  /** The headers that sign a call. */
  async headers() {
    const timestamp = new Date().toISOString();
    const raw = await crypto.subtle.sign(
      { name: 'ECDSA', hash: 'SHA-256' },
      this.#sign,
      new TextEncoder().encode(timestamp),
    );
    return {
      'flwr-timestamp': timestamp,
      'flwr-public-key': base64(this.pem),
      'flwr-signature': base64(derOf(new Uint8Array(raw))),
    };
  }

  release() {
    this.#free();
  }
}

/**
 * The identity of that name: in a page one of its own for each tab, in Node the file of that path. Without a name it
 * is new, and nothing is kept.
 * @param {string | undefined} name
 */
export async function openIdentity(name) {
  if (!globalThis.crypto?.subtle)
    throw new TrainletError('unsupported-browser', 'crypto.subtle is missing: a page needs HTTPS, or localhost');
  if (name === undefined) return new Identity(await newPair(), undefined, false);
  if (typeof name !== 'string' || !name) throw invalid('SuperNode.connect: identity must be a name, or in Node a path');
  return isNode ? new Identity(await pairInFile(name)) : await identityInPage(name);
}

async function newPair(extractable = false) {
  const pair = await crypto.subtle.generateKey(ALGORITHM, extractable, ['sign', 'verify']);
  const spki = new Uint8Array(await crypto.subtle.exportKey('spki', pair.publicKey));
  return { sign: pair.privateKey, spki };
}

/** The first of the keys of this name that no other tab uses. @param {string} name */
async function identityInPage(name) {
  const { Database, hasDatabases } = await lazy(() => import('../storage/indexeddb.js'));
  if (!hasDatabases()) throw new TrainletError('unsupported-browser', 'a kept identity needs IndexedDB');
  const database = await Database.open(DATABASE);
  for (let slot = 0; slot < SLOTS; slot++) {
    const free = await lock(`${DATABASE}:${name}:${slot}`);
    if (!free) continue;
    try {
      return new Identity(await pairIn(database, `${name}:${slot}`), free);
    } catch (error) {
      free();
      throw error;
    }
  }
  throw invalid(`SuperNode.connect: ${SLOTS} tabs use the identity '${name}' already`);
}

/** @param {import('../storage/indexeddb.js').Database} database @param {string} name */
async function pairIn(database, name) {
  const [version] = (await database.versions(name)).slice(-1);
  const stored = version && (await database.read(name, version));
  if (stored && typeof stored !== 'string')
    return { sign: /** @type {CryptoKey} */ (stored.meta.key), spki: Uint8Array.from(stored.bytes) };
  const pair = await newPair();
  await database.save(name, database.pack(pair.spki, { key: pair.sign }), 1);
  return pair;
}

/**
 * Holds a name until the function that it gives is called; undefined where another tab holds it.
 * @param {string} name
 * @returns {Promise<(() => void) | undefined>}
 */
function lock(name) {
  const locks = globalThis.navigator?.locks;
  if (!locks) return Promise.resolve(() => {});
  return new Promise((resolve, reject) => {
    const held = locks.request(name, { ifAvailable: true }, (taken) =>
      taken ? new Promise((free) => resolve(() => free(undefined))) : resolve(undefined),
    );
    held.catch(reject);
  });
}

/** A PEM file that only its owner may read, made where there is none. @param {string} path */
async function pairInFile(path) {
  const { readFile, writeFile } = await nodeModule('fs/promises');
  const text = await readFile(path, 'utf8').catch((error) => (error.code === 'ENOENT' ? '' : Promise.reject(error)));
  if (text) return await pairOf(path, text);
  const pair = await newPair(true);
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey('pkcs8', pair.sign));
  const pem = pemOf('PRIVATE KEY', pkcs8) + pemOf('PUBLIC KEY', pair.spki);
  await writeFile(path, pem, { mode: OWNER_ONLY, flag: 'wx' });
  return await pairOf(path, pem);
}

/** @param {string} path @param {string} text @returns {Promise<KeyPair>} */
async function pairOf(path, text) {
  const part = (/** @type {string} */ label) =>
    Uint8Array.from(atob(new RegExp(`-----BEGIN ${label}-----([^-]+)`).exec(text)?.[1] ?? ''), (letter) =>
      letter.charCodeAt(0),
    );
  try {
    const sign = await crypto.subtle.importKey('pkcs8', part('PRIVATE KEY'), ALGORITHM, false, ['sign']);
    const spki = part('PUBLIC KEY');
    await crypto.subtle.importKey('spki', spki, ALGORITHM, true, ['verify']);
    return { sign, spki };
  } catch (error) {
    const message = `${path} is no P-384 key of a node: delete it, and the next one is another node`;
    throw new TrainletError('source-unreadable', message, { cause: error });
  }
}

/** @param {Uint8Array} bytes */
const base64 = (bytes) => btoa(String.fromCharCode(...bytes));

/** @param {string} label @param {Uint8Array} bytes */
const pemOf = (label, bytes) =>
  `-----BEGIN ${label}-----\n${base64(bytes).replace(/.{1,64}/g, '$&\n')}-----END ${label}-----\n`;

/** A signature as ASN.1 of its two numbers, from the raw bytes of both. @param {Uint8Array} raw */
function derOf(raw) {
  const numbers = [raw.subarray(0, COORDINATE), raw.subarray(COORDINATE)].map((bytes) => {
    const start = bytes.findIndex((byte) => byte !== 0);
    const digits = bytes.subarray(start);
    const padded = digits[0] & 128 ? [0, ...digits] : [...digits];
    return [2, padded.length, ...padded];
  });
  const body = numbers.flat();
  return Uint8Array.of(0x30, body.length, ...body); // at most 104 bytes: the length has one
}
