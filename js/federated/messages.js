/**
 * The protobuf messages of Flower's Fleet API, as schema/flower.proto has them, and their bytes.
 *
 * A field is [number, type]; `optional` ones are written whenever they are there, others unless they are the default.
 */

import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { TrainletError } from '../base/errors.js';

/** @typedef {'uint64' | 'sint64' | 'double' | 'bool' | 'string' | 'bytes'} Scalar */
/** @typedef {'optional' | 'repeated'} Label */
/** @typedef {readonly [number: number, type: Scalar | Fields, label?: Label]} Field */
/** @typedef {{ readonly [name: string]: Field }} Fields */

/** Trees of objects are this deep at most: a message, its records, a record, an array, a chunk. */
const DEPTH = 8;

export const Node = { node_id: [1, 'uint64'] };

export const RegisterNodeFleetRequest = { public_key: [1, 'bytes'] };
export const RegisterNodeFleetResponse = { node_id: [1, 'uint64'] };
export const ActivateNodeRequest = { public_key: [1, 'bytes'], heartbeat_interval: [2, 'double'] };
export const ActivateNodeResponse = { node_id: [1, 'uint64'] };
export const DeactivateNodeRequest = { node_id: [1, 'uint64'] };
export const UnregisterNodeFleetRequest = { node_id: [1, 'uint64'] };
export const SendNodeHeartbeatRequest = { node: [1, Node], heartbeat_interval: [2, 'double'] };
export const SendNodeHeartbeatResponse = { success: [1, 'bool'] };

export const Metadata = {
  run_id: [1, 'uint64'],
  message_id: [2, 'string'],
  src_node_id: [3, 'uint64'],
  dst_node_id: [4, 'uint64'],
  reply_to_message_id: [5, 'string'],
  group_id: [6, 'string'],
  ttl: [7, 'double'],
  message_type: [8, 'string'],
  created_at: [9, 'double'],
  src_task_id: [10, 'uint64', 'optional'],
  dst_task_id: [11, 'uint64', 'optional'],
};
const ErrorFields = { code: [1, 'sint64'], reason: [2, 'string'] };
export const RecordDict = {};
export const Message = { metadata: [1, Metadata], content: [2, RecordDict], error: [3, ErrorFields] };
export { ErrorFields as Error };
/** @type {Fields} */
export const ObjectTree = {
  object_id: [1, 'string'],
  get children() {
    return /** @type {Field} */ ([2, ObjectTree, 'repeated']);
  },
};

export const PullMessagesRequest = { node: [1, Node] };
export const PullMessagesResponse = {
  messages_list: [2, Message, 'repeated'],
  message_object_trees: [3, ObjectTree, 'repeated'],
};
export const PullObjectRequest = { node: [1, Node], run_id: [2, 'uint64'], object_id: [3, 'string'] };
export const PullObjectResponse = {
  object_found: [1, 'bool'],
  object_available: [2, 'bool'],
  object_content: [3, 'bytes'],
};
export const ConfirmMessageReceivedRequest = {
  node: [1, Node],
  run_id: [2, 'uint64'],
  message_object_id: [3, 'string'],
};
export const PushMessagesRequest = {
  node: [1, Node],
  messages_list: [2, Message, 'repeated'],
  message_object_trees: [3, ObjectTree, 'repeated'],
  clientapp_runtime_list: [4, 'double', 'repeated'],
};
export const PushMessagesResponse = { objects_to_push: [3, 'string', 'repeated'], session_id: [4, 'string'] };
export const PushObjectRequest = {
  node: [1, Node],
  run_id: [2, 'uint64'],
  object_id: [3, 'string'],
  object_content: [4, 'bytes'],
  session_id: [5, 'string'],
};
export const PushObjectResponse = { stored: [1, 'bool'] };

export const MetricRecordValue = {
  double: [1, 'double', 'optional'],
  sint64: [2, 'sint64', 'optional'],
  uint64: [3, 'uint64', 'optional'],
};
export const MetricRecordItem = { key: [1, 'string'], value: [2, MetricRecordValue] };
export const MetricRecord = { items: [1, MetricRecordItem, 'repeated'] };
export const ConfigRecordValue = {
  ...MetricRecordValue,
  bool: [4, 'bool', 'optional'],
  string: [5, 'string', 'optional'],
};
export const ConfigRecordItem = { key: [1, 'string'], value: [2, ConfigRecordValue] };
export const ConfigRecord = { items: [1, ConfigRecordItem, 'repeated'] };

const WIRE = {
  uint64: WireType.Varint,
  sint64: WireType.Varint,
  bool: WireType.Varint,
  double: WireType.Bit64,
  string: WireType.LengthDelimited,
  bytes: WireType.LengthDelimited,
};

/** True for what proto3 leaves out. @param {any} value */
const isDefault = (value) => !value || value.length === 0;

/**
 * @param {object} fields of the message
 * @param {Record<string, any>} value
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function encode(fields, value) {
  const writer = new BinaryWriter();
  for (const [name, [number, type, label]] of Object.entries(/** @type {Fields} */ (fields))) {
    const values = label === 'repeated' ? (value[name] ?? []) : [value[name]].filter((one) => one !== undefined);
    if (label === 'repeated' && type === 'double') {
      if (values.length) writer.tag(number, WireType.LengthDelimited).fork();
      for (const one of values) writer.double(one);
      if (values.length) writer.join();
      continue;
    }
    for (const one of values)
      if (typeof type === 'object') writer.tag(number, WireType.LengthDelimited).bytes(encode(type, one));
      else if (label || !isDefault(one)) /** @type {any} */ (writer.tag(number, WIRE[type]))[type](one);
  }
  return writer.finish();
}

/**
 * Fields that are absent have their defaults; those that are unknown, or of another wire type, are skipped.
 * `source-unreadable` for damaged bytes.
 * @param {object} fields of the message
 * @param {Uint8Array} bytes
 * @returns {Record<string, any>}
 */
export function decode(fields, bytes) {
  try {
    return read(/** @type {Fields} */ (fields), bytes, DEPTH);
  } catch (error) {
    throw new TrainletError('source-unreadable', `the SuperLink sent a damaged message: ${error}`, { cause: error });
  }
}

/** @param {Fields} fields @param {Uint8Array} bytes @param {number} depth @returns {Record<string, any>} */
function read(fields, bytes, depth) {
  if (!depth) throw new RangeError('it is nested too deeply');
  const all = Object.entries(fields);
  /** @type {Record<string, any>} */
  const value = Object.fromEntries(all.map(([name, field]) => [name, defaultOf(field)]));
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    const [name, field] = all.find(([, [known]]) => known === number) ?? [];
    const type = field?.[1];
    const wanted = typeof type === 'object' ? WireType.LengthDelimited : type && WIRE[type];
    if (!name || !field || wire !== wanted) {
      reader.skip(wire, number);
      continue;
    }
    const one = typeof type === 'object' ? read(type, reader.bytes(), depth - 1) : scalar(reader, type);
    if (field[2] === 'repeated') value[name].push(one);
    else value[name] = one;
  }
  if (reader.pos > reader.len) throw new RangeError('it ends within one of its parts');
  return value;
}

/** @param {BinaryReader} reader @param {any} type @returns {unknown} */
const scalar = (reader, type) => /** @type {any} */ (reader)[type]();

/** @param {Field} field */
function defaultOf([, type, label]) {
  if (label === 'repeated') return [];
  if (label === 'optional' || typeof type === 'object') return undefined;
  return { uint64: 0n, sint64: 0n, double: 0, bool: false, string: '', bytes: new Uint8Array() }[type];
}
