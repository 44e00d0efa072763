/** A SuperLink in this process: it checks signatures by OpenSSL, hands out messages and collects the replies. */

import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { createServer } from 'node:http';
import * as wire from '../../js/federated/messages.js';
import * as objects from '../../js/federated/objects.js';

/** @typedef {import('../../js/federated/objects.js').Arrays} Arrays */
/** @typedef {import('../../js/federated/objects.js').Sealed} Sealed */
/** @typedef {{ status?: number, type?: string, body: Uint8Array | string }} Answer */
/** @typedef {{ metadata: any, error?: any, contents: Map<string, Uint8Array>, id: string }} Reply */

export const RUN = 3650517147323749249n;
const [INVALID, REFUSED] = [401, 400];
/** Requests and answers by path. */
const CALLS = {
  'register-node': [wire.RegisterNodeFleetRequest, wire.RegisterNodeFleetResponse],
  'activate-node': [wire.ActivateNodeRequest, wire.ActivateNodeResponse],
  'deactivate-node': [wire.DeactivateNodeRequest, {}],
  'unregister-node': [wire.UnregisterNodeFleetRequest, {}],
  'send-node-heartbeat': [wire.SendNodeHeartbeatRequest, wire.SendNodeHeartbeatResponse],
  'pull-messages': [wire.PullMessagesRequest, wire.PullMessagesResponse],
  'pull-object': [wire.PullObjectRequest, wire.PullObjectResponse],
  'confirm-message-received': [wire.ConfirmMessageReceivedRequest, {}],
  'push-messages': [wire.PushMessagesRequest, wire.PushMessagesResponse],
  'push-object': [wire.PushObjectRequest, wire.PushObjectResponse],
};

/** A config as flwr packs it. @param {import('../../js/federated/objects.js').Config} config */
export function sealConfig(config) {
  const kinds = { bigint: 'sint64', number: 'double', boolean: 'bool', string: 'string' };
  const items = Object.entries(config).map(([key, value]) => ({ key, value: { [kinds[typeof value]]: value } }));
  return objects.seal('ConfigRecord', [], wire.encode(wire.ConfigRecord, { items }));
}

/** @param {Arrays} arrays @param {import('../../js/federated/objects.js').Config} [config] */
export const sealContent = async (arrays, config = {}) =>
  objects.sealRecords([
    ['arrays', await objects.sealArrays(arrays, 'float32')],
    ['config', await sealConfig(config)],
  ]);

/** @param {bigint} node @param {string} type */
export const metadataFor = (node, type) => ({
  ...{ run_id: RUN, src_node_id: 1n, dst_node_id: node, group_id: '1', ttl: 3600, message_type: type },
  created_at: Date.now() / 1000,
});

export class FakeSuperLink {
  /** Paths that were called. @type {string[]} */
  calls = [];
  /** Node ids by key. @type {Map<string, bigint>} */
  nodes = new Map();
  /** Answers in place of the next ones to a path. @type {Record<string, Answer[]>} */
  instead = {};
  #server = createServer((request, response) => this.#serve(request, response));
  /** @type {{ metadata: any, sealed: Sealed, done: (reply: Reply) => void }[]} */
  #asked = [];
  /** @type {Map<string, Uint8Array>} */
  #stored = new Map();
  /** @type {Map<string, Reply & { wanted: Set<string>, done: (reply: Reply) => void }>} */
  #replies = new Map();

  /** @returns {Promise<string>} its URL */
  async start() {
    await new Promise((done) => this.#server.listen(0, '127.0.0.1', () => done(undefined)));
    return `http://127.0.0.1:${/** @type {any} */ (this.#server.address()).port}/base`;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /**
   * Has a node do something, and gives its reply.
   * @param {bigint} node @param {string} type @param {Sealed} content
   * @returns {Promise<Reply>}
   */
  async ask(node, type, content) {
    const metadata = metadataFor(node, type);
    const sealed = await objects.sealMessage({ metadata }, [content]);
    for (const [id, bytes] of objects.contentsOf(sealed)) this.#stored.set(id, bytes);
    return await new Promise((done) =>
      this.#asked.push({ metadata: { ...metadata, message_id: sealed.id }, sealed, done }),
    );
  }

  /** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
  async #serve(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const path = String(request.url).replace('/base/v1/fleet/', '');
    this.calls.push(path);
    const answer = this.instead[path]?.shift() ?? this.#answer(path, request, Buffer.concat(parts));
    const { status = 200, type = 'application/protobuf', body } = answer;
    response.writeHead(status, { 'content-type': type }).end(body);
  }

  /**
   * @param {string} path @param {import('node:http').IncomingMessage} request @param {Buffer} body
   * @returns {Answer}
   */
  #answer(path, { headers, method }, body) {
    const known = CALLS[path];
    if (!known || method !== 'POST') return { status: 404, type: 'text/html', body: '<h1>Not found</h1>' };
    const [wanted, given] = known;
    const value = wire.decode(wanted, body);
    const pem = Buffer.from(String(headers['flwr-public-key']), 'base64').toString();
    const timestamp = String(headers['flwr-timestamp']);
    const signature = Buffer.from(String(headers['flwr-signature']), 'base64');
    const isOwn = 'public_key' in value ? Buffer.from(value.public_key).toString() === pem : this.#owns(pem, value);
    const isSigned = verify('sha256', Buffer.from(timestamp), createPublicKey(pem), signature);
    const isNow = Math.abs(Date.parse(timestamp) - Date.now()) < 300_000;
    if (!isOwn || !isSigned || !isNow)
      return { status: INVALID, type: 'application/json', body: '{"detail":"Invalid SuperNode authentication"}' };
    const answer = this.#do(path, pem, value);
    if (typeof answer === 'number')
      return { status: REFUSED, type: 'application/json', body: JSON.stringify({ code: answer, detail: 'Refused.' }) };
    return { body: wire.encode(given, answer) };
  }

  /** @param {string} pem @param {any} value */
  #owns(pem, value) {
    const id = value.node?.node_id ?? value.node_id;
    return this.nodes.get(pem) === id;
  }

  /** @param {string} path @param {string} pem @param {any} value @returns {Record<string, any> | number} or an error */
  #do(path, pem, value) {
    if (path === 'register-node') {
      if (this.nodes.has(pem)) return 23;
      this.nodes.set(pem, 2n ** 64n - 17n - BigInt(this.nodes.size));
    }
    if (path === 'register-node' || path === 'activate-node') return { node_id: this.nodes.get(pem) };
    if (path === 'send-node-heartbeat') return { success: true };
    if (path === 'pull-messages') return this.#pulled(value.node.node_id);
    if (path === 'pull-object') {
      const content = this.#stored.get(value.object_id);
      return { object_found: content !== undefined, object_available: true, object_content: content };
    }
    if (path === 'push-messages') return this.#pushed(value);
    if (path === 'push-object') return { stored: this.#keep(value) };
    return {};
  }

  /** @param {bigint} node */
  #pulled(node) {
    const at = this.#asked.findIndex(({ metadata }) => metadata.dst_node_id === node);
    if (at < 0) return {};
    const [{ metadata, sealed, done }] = this.#asked.splice(at, 1);
    this.#replies.set(metadata.message_id, { metadata, id: '', contents: new Map(), wanted: new Set(), done });
    const message = { metadata, content: {} };
    return { messages_list: [message], message_object_trees: [objects.treeOf(sealed)] };
  }

  /** @param {any} value */
  #pushed({ messages_list: [{ metadata, error }], message_object_trees: [tree] }) {
    const reply = this.#replies.get(metadata.reply_to_message_id);
    assert.ok(reply, 'a reply to what was asked');
    const ids = (/** @type {any} */ one) => [one.object_id, ...one.children.flatMap(ids)];
    Object.assign(reply, { metadata, error, id: tree.object_id, wanted: new Set(ids(tree)) });
    assert.equal(metadata.message_id, reply.id);
    return { objects_to_push: [...reply.wanted], session_id: metadata.reply_to_message_id };
  }

  /** @param {any} value */
  #keep({ session_id, object_id, object_content }) {
    const reply = this.#replies.get(session_id);
    if (!reply) return false;
    reply.contents.set(object_id, object_content);
    if (reply.contents.size === reply.wanted.size) reply.done(reply);
    return true;
  }
}
