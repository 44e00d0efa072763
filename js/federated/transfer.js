/** Messages and their objects on the way from and to the SuperLink. */

import { invalid, TrainletError } from '../base/errors.js';
import { CallError, wait } from './fleet.js';
import * as wire from './messages.js';
import { contentsOf, idOf, isId, sealMessage, treeOf } from './objects.js';

/** @import { Layout } from './exchange.js' */
/** @import { Fleet } from './fleet.js' */
/** @import { Contents, Sealed } from './objects.js' */
/** @typedef {{ fleet: Fleet, node: object, onRetry: (error: CallError, ms: number) => void }} Link */
/** @typedef {{ bytes: number, objects: number }} Room the most that a message may have */
/** @typedef {{ metadata: Record<string, any>, contents: Contents, bytes: number, refused?: TrainletError }} Pulled */

/** Objects that are asked for at the same time. */
const AT_ONCE = 4;
/** Bytes of an object's id in a tree, or in the head of another, with what is around it. */
const ID_BYTES = 80;
/** Bytes of an array's own objects beside its numbers, and of a config with the records. */
const ARRAY_BYTES = 4096,
  CONFIG_BYTES = 65_536;
/** The smallest chunks for which there is room; a server may have other ones than of 5 MiB. */
const CHUNK_LEAST = 65_536;
/** A pulled object is not there yet: after so many milliseconds it is asked for again, so many times. */
const [AGAIN_MS, AGAIN_TIMES] = [500, 60];
/** Pushes of the whole reply: the SuperLink forgets one after 180 s. */
const PUSHES = 3;
/** Flower's code for an error of a client. */
const CLIENT_ERROR = 2n;
const REASON_MOST = 500;

/** @param {string} message */
const bad = (message) => new TrainletError('source-unreadable', `the SuperLink sent ${message}`);

/** For a session's parameters, in up to 8 bytes each. @param {Layout} layout @returns {Room} */
export function roomFor(layout) {
  let bytes = CONFIG_BYTES,
    objects = 16;
  for (const [name, { dims }] of layout) {
    const data = 8 * dims.reduce((product, dim) => product * dim, 1);
    const chunks = Math.ceil((data + ARRAY_BYTES) / CHUNK_LEAST);
    bytes += data + ARRAY_BYTES + 6 * name.length + 2 * ID_BYTES * chunks;
    objects += 1 + chunks;
  }
  return { bytes, objects };
}

/**
 * The next message with its objects, whose hashes are checked; undefined where there is none. A message that is not
 * sound but can be answered has `refused`.
 * @param {Link} link @param {Room} room
 * @returns {Promise<Pulled | undefined>}
 */
export async function pull({ fleet, node, onRetry }, room) {
  const most = CONFIG_BYTES + ID_BYTES * room.objects;
  const { PullMessagesRequest: wanted, PullMessagesResponse: given } = wire;
  const answer = await fleet.call('pull-messages', wanted, { node }, given, { most, onRetry });
  const [message] = answer.messages_list,
    [tree] = answer.message_object_trees;
  if (!message) return undefined;
  const { metadata } = message;
  if (!metadata || metadata.dst_node_id !== Object(node).node_id || !isId(metadata.message_id))
    throw bad('a message that is not for this node');
  const contents = new Map();
  let bytes = 0;
  try {
    const ids = idsIn(tree, metadata.message_id, room.objects);
    const one = async (/** @type {string} */ id) => {
      const content = await pullObject({ fleet, node, onRetry }, metadata.run_id, id, room.bytes - bytes);
      bytes += content.length;
      if (bytes > room.bytes) throw bad(`more than ${room.bytes} bytes, which is more than this session can need`);
      contents.set(id, content);
    };
    await inParallel(ids, one);
  } catch (error) {
    const isSound = error instanceof CallError || !(error instanceof TrainletError) || error.code === 'aborted';
    if (isSound) throw error; // it says nothing of the message
    return { metadata, contents: new Map(), bytes, refused: error };
  }
  const { ConfirmMessageReceivedRequest: confirm } = wire;
  const received = { node, run_id: metadata.run_id, message_object_id: metadata.message_id };
  await fleet.call('confirm-message-received', confirm, received, {}, { onRetry });
  return { metadata, contents, bytes };
}

/** The ids in a tree, each once. @param {any} tree @param {string} root @param {number} most */
function idsIn(tree, root, most) {
  if (tree?.object_id !== root) throw bad('a message without its tree of objects');
  const ids = new Set();
  for (const waiting = [tree]; waiting.length; ) {
    const { object_id, children } = waiting.pop();
    if (!isId(object_id)) throw bad('an object with a damaged id');
    ids.add(object_id);
    if (ids.size > most) throw bad(`more than ${most} objects, which is more than this session can need`);
    waiting.push(...children);
  }
  return [...ids];
}

/** @param {string[]} ids @param {(id: string) => Promise<void>} work */
async function inParallel(ids, work) {
  let failed = false;
  const worker = async () => {
    for (let id = ids.pop(); id !== undefined && !failed; id = ids.pop())
      await work(id).catch((error) => {
        failed = true;
        throw error;
      });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** @param {Link} link @param {bigint} run @param {string} id @param {number} room */
async function pullObject({ fleet, node, onRetry }, run, id, room) {
  const request = { node, run_id: run, object_id: id };
  const { PullObjectRequest: wanted, PullObjectResponse: given } = wire;
  for (let times = 0; times < AGAIN_TIMES; times++) {
    const answer = await fleet.call('pull-object', wanted, request, given, { most: Math.max(room, 0) + 64, onRetry });
    if (!answer.object_found) throw bad(`no object ${id}, which its message refers to`);
    if (answer.object_available) {
      if ((await idOf(answer.object_content)) === id) return answer.object_content;
      throw new TrainletError(
        'integrity-mismatch',
        `the SuperLink sent other bytes for object ${id} than its hash says`,
      );
    }
    await wait(AGAIN_MS, fleet.signal);
  }
  throw bad(`no bytes for object ${id} in ${(AGAIN_MS * AGAIN_TIMES) / 1000} s`);
}

/**
 * Sends a reply: records, or the reason why there are none. Gives the bytes that were sent.
 * @param {Link} link @param {Record<string, any>} asked metadata of the message that is answered
 * @param {Sealed | undefined} content @param {string} [reason] @param {number} [seconds] that the work took
 */
export async function push(link, asked, content, reason, seconds = 0) {
  const now = Date.now() / 1000;
  const metadata = {
    run_id: asked.run_id,
    src_node_id: asked.dst_node_id,
    dst_node_id: asked.src_node_id,
    reply_to_message_id: asked.message_id,
    group_id: asked.group_id,
    ttl: asked.created_at + asked.ttl - now,
    message_type: asked.message_type,
    created_at: now,
    src_task_id: asked.dst_task_id,
    dst_task_id: asked.src_task_id,
  };
  const error = content ? undefined : { code: CLIENT_ERROR, reason: String(reason).slice(0, REASON_MOST) };
  const sealed = await sealMessage({ metadata, error }, content ? [content] : []);
  const message = { metadata: { ...metadata, message_id: sealed.id }, ...(content ? { content: {} } : { error }) };
  const request = {
    node: link.node,
    messages_list: [message],
    message_object_trees: [treeOf(sealed)],
    clientapp_runtime_list: [seconds],
  };
  const contents = contentsOf(sealed);
  for (let tried = 1; ; tried++) {
    const bytes = await pushOnce(link, asked.run_id, request, contents);
    if (bytes !== undefined) return bytes;
    if (tried === PUSHES) throw bad(`no room for a reply of ${contents.size} objects`);
  }
}

/**
 * @param {Link} link @param {bigint} run @param {Record<string, any>} request @param {Contents} contents
 * @returns {Promise<number | undefined>} undefined where the SuperLink has forgotten of it
 */
async function pushOnce({ fleet, node, onRetry }, run, request, contents) {
  const most = CONFIG_BYTES + ID_BYTES * contents.size;
  const { PushMessagesRequest: wanted, PushMessagesResponse: given } = wire;
  const answer = await fleet.call('push-messages', wanted, request, given, { most, onRetry });
  let [bytes, stored] = [0, true];
  const one = async (/** @type {string} */ id) => {
    const content = contents.get(id);
    if (!content) throw invalid(`the SuperLink asks for object ${id.slice(0, 80)}, which is none of the reply's`);
    const part = { node, run_id: run, object_id: id, object_content: content, session_id: answer.session_id };
    const { PushObjectRequest, PushObjectResponse } = wire;
    const pushed = await fleet.call('push-object', PushObjectRequest, part, PushObjectResponse, { onRetry });
    stored &&= pushed.stored;
    bytes += content.length;
  };
  await inParallel([...new Set(/** @type {string[]} */ (answer.objects_to_push))], one);
  return stored ? bytes : undefined;
}
