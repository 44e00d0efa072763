/** Bytes of messages and objects are flwr's own, which tests/golden/scripts/make_flower.py wrote down. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as wire from '../../../js/federated/messages.js';
import * as objects from '../../../js/federated/objects.js';
import { push } from '../../../js/federated/transfer.js';
import { root } from '../../support/engines.js';

const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), 'utf8');
const golden = JSON.parse(read('tests/golden/data/flower.json'));
const bytesOf = (/** @type {string} */ text) => new Uint8Array(Buffer.from(text, 'base64'));
const base64 = (/** @type {Uint8Array} */ bytes) => Buffer.from(bytes).toString('base64');
const sealed = ({ id, bytes }) => ({ id, bytes: base64(bytes) });
const RUN = 3650517147323749249n,
  NODE = 17006595779187978373n,
  TASK = 2n ** 64n - 5n;

/** @type {Record<string, any>} */
const MESSAGES = { ...wire };

/** The table of messages.js in the form of flower.json: message → field → [number, type, label]. */
const TABLE = Object.fromEntries(
  Object.entries(MESSAGES)
    .filter(([, fields]) => typeof fields === 'object')
    .map(([name, fields]) => [
      name,
      Object.fromEntries(
        Object.entries(fields).map(([field, [number, type, label = null]]) => [
          field,
          [
            number,
            typeof type === 'string' ? type : Object.keys(MESSAGES).find((key) => MESSAGES[key] === type),
            label,
          ],
        ]),
      ),
    ]),
);

test('the numbers and types of fields are those of schema/flower.proto', () => {
  const text = read('schema/flower.proto').replace(/\/\/.*$/gm, '');
  const found = [...text.matchAll(/^message (\w+) \{(.*?)^\}/gms)].map(([, name, body]) => [
    name,
    Object.fromEntries(
      [...body.matchAll(/(?:(repeated|optional) )?(\w+) (\w+) = (\d+);/g)].map(
        ([, label = null, type, field, number]) => [field, [Number(number), type, label]],
      ),
    ),
  ]);
  assert.ok(found.length > 25);
  assert.deepEqual(Object.fromEntries(found), TABLE);
});

test("they are flwr's", () => {
  for (const [name, fields] of Object.entries(TABLE)) {
    const { [name]: known } = golden.fields;
    assert.ok(known, name);
    for (const [field, about] of Object.entries(fields)) assert.deepEqual(about, known[field], `${name}.${field}`);
  }
});

/** The arrays of the golden record. @type {import('../../../js/federated/objects.js').Arrays} */
const arrays = new Map(
  Object.entries(golden.arrays).map(([name, { shape, values }]) => [
    name,
    { dims: shape, data: Float32Array.from(values) },
  ]),
);
const METRICS = { loss: 0.125, 'num-examples': 41n, accuracy: 0 };
const records = async () =>
  objects.sealRecords([
    ['arrays', await objects.sealArrays(arrays, 'float32')],
    ['metrics', await objects.sealMetrics(METRICS)],
  ]);

test('arrays and records have the bytes and ids of flwr', async () => {
  for (const [name, { shape, values, id, bytes }] of Object.entries(golden.arrays)) {
    const array = await objects.sealArray({ dims: shape, data: Float32Array.from(values) }, 'float32');
    assert.deepEqual(sealed(array), { id, bytes }, name);
  }
  const { shape, values, id, bytes } = golden.half;
  const half = await objects.sealArray({ dims: shape, data: Float32Array.from(values) }, 'float16');
  assert.deepEqual(sealed(half), { id, bytes });
  assert.deepEqual(sealed(await objects.sealArrays(arrays, 'float32')), golden.records.ArrayRecord);
  assert.deepEqual(sealed(await objects.sealMetrics(METRICS)), golden.records.MetricRecord);
  assert.deepEqual(sealed(await records()), golden.records.RecordDict);
});

test('an array of 6 MB is cut into the chunks of flwr', async () => {
  const { shape, id, chunks } = golden.large;
  const data = Float32Array.from({ length: 1_500_000 }, (_, i) => (((i * 7919) % 1009) - 504) / 256);
  const array = await objects.sealArray({ dims: shape, data }, 'float32');
  assert.deepEqual([array.id, array.children.map((chunk) => chunk.id)], [id, chunks]);
  assert.equal(chunks.length, 2);
});

test('a message of flwr is read: metadata, arrays and config', async () => {
  const { messages_list, message_object_trees } = wire.decode(
    wire.PullMessagesResponse,
    bytesOf(golden.asked.response),
  );
  const { metadata } = messages_list[0];
  assert.equal(message_object_trees[0].object_id, golden.asked.id);
  assert.deepEqual(metadata, {
    run_id: RUN,
    message_id: golden.asked.id,
    src_node_id: 1n,
    dst_node_id: NODE,
    reply_to_message_id: '',
    group_id: '3',
    ttl: 43200,
    message_type: 'train',
    created_at: 1795838400.5,
    src_task_id: TASK,
    dst_task_id: undefined,
  });
  const contents = new Map(
    Object.entries(golden.asked.contents).map(([id, text]) => [id, bytesOf(/** @type {string} */ (text))]),
  );
  for (const [id, bytes] of contents) assert.equal(await objects.idOf(bytes), id);
  const { arrays: found, config } = objects.openMessage(contents, golden.asked.id, arrays);
  assert.deepEqual(found, arrays);
  assert.deepEqual(config, {
    ...{ lr: 0.25, epochs: 2n, zero: 0n, none: 0, yes: true, no: false, who: 'größe' },
    ...{ big: 2n ** 64n - 1n, below: -3n },
  });
});

/** The requests that a reply sends. @param {any} content @param {string} [reason] */
async function sent(content, reason) {
  const requests = [];
  const fleet = {
    /** @param {string} path @param {object} fields @param {any} request */
    call: async (path, fields, request) => {
      requests.push({ path, request, bytes: base64(wire.encode(fields, request)) });
      const asked = request.message_object_trees?.map(({ object_id }) => object_id) ?? [];
      return { stored: true, objects_to_push: asked, session_id: 'session' };
    },
  };
  const { messages_list } = wire.decode(wire.PullMessagesResponse, bytesOf(golden.asked.response));
  const link = /** @type {any} */ ({ fleet, node: { node_id: NODE }, onRetry: () => {} });
  await push(link, messages_list[0].metadata, content, reason, 1.5);
  return requests;
}

test('replies and refusals have the bytes of flwr', async (t) => {
  t.mock.method(Date, 'now', () => 1795838410.25 * 1000);
  for (const [name, requests] of /** @type {const} */ ([
    ['reply', await sent(await records())],
    ['refusal', await sent(undefined, 'this node refuses the message: no')],
  ])) {
    const [first, second] = requests;
    assert.equal(first.bytes, golden[name].request, name);
    assert.deepEqual([first.path, second.path], ['push-messages', 'push-object']);
    assert.equal(second.request.object_id, golden[name].id);
    assert.equal(base64(second.request.object_content), golden[name].bytes);
  }
});

test('other requests have the bytes of flwr', () => {
  const node = { node_id: NODE };
  const requests = {
    ActivateNodeRequest: { public_key: new TextEncoder().encode('key'), heartbeat_interval: 30 },
    SendNodeHeartbeatRequest: { node, heartbeat_interval: 12.5 },
    PushObjectRequest: {
      ...{ node, run_id: RUN, object_id: 'ab', object_content: Uint8Array.of(0, 1), session_id: 's' },
    },
  };
  for (const [name, request] of Object.entries(requests))
    assert.equal(base64(wire.encode(MESSAGES[name], request)), golden.requests[name], name);
});
