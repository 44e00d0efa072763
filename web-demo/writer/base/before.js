// First weights from a base of before, in int8, and for tokens of before: a run need not begin from nothing.

import { Tokenizer } from '@huggingface/tokenizers';
import { Message } from '../../../js/formats/protobuf.js';

/** @typedef {{ dims: number[], data: Float32Array }} Weight */

/** Fields of onnx.proto. */
const [GRAPH, INITIALIZER, DIMS, NAME, RAW] = [7, 5, 1, 8, 9];
const EMBEDDINGS = 'wte.weight';

/** A base's weights by their names, int8 times its scales. @param {Uint8Array} onnx @returns {Map<string, Weight>} */
function weightsOf(onnx) {
  const tensors = new Map(
    new Message(onnx)
      .message(GRAPH)
      ?.messages(INITIALIZER)
      .map((tensor) => [tensor.text(NAME), tensor]),
  );
  const floats = (/** @type {Message} */ tensor) => new Float32Array(Uint8Array.from(tensor.bytes(RAW) ?? []).buffer);
  const weights = new Map();
  for (const [name, tensor] of tensors) {
    const dims = tensor.numbers(DIMS).map(Number);
    const scale = tensors.get(name.replace(/_quantized$/, '_scale'));
    if (name.endsWith('_quantized') && scale) {
      const scales = floats(scale);
      const each = name.startsWith(EMBEDDINGS) ? (i) => Math.floor(i / dims[1]) : (i) => i % dims[1];
      const data = Float32Array.from(new Int8Array(tensor.bytes(RAW) ?? []), (x, i) => x * scales[each(i)]);
      weights.set(name.replace(/_quantized$/, ''), { dims, data });
    } else if (!name.endsWith('_scale')) weights.set(name, { dims, data: floats(tensor) });
  }
  return weights;
}

/**
 * Embeddings of other tokens: each the mean of those that wrote it before.
 * @param {Weight} embeddings @param {object} before `tokenizer.json` @param {object} now `tokenizer.json`
 */
function ofTokens({ dims, data }, before, now) {
  const [old, fresh] = [new Tokenizer(before, {}), new Tokenizer(now, {})];
  const width = dims[1];
  const out = new Float32Array(data.length);
  for (let token = 0; token < dims[0]; token++) {
    const same = old.token_to_id(fresh.id_to_token(token) ?? '');
    const ids = same === undefined ? old.encode(fresh.decode([token], {}), { add_special_tokens: false }).ids : [same];
    for (const id of ids) for (let i = 0; i < width; i++) out[token * width + i] += data[id * width + i] / ids.length;
  }
  return { dims, data: out };
}

/** @param {Uint8Array} onnx @param {object} before @param {object} now @returns {Map<string, Weight>} */
export function weightsBefore(onnx, before, now) {
  const weights = weightsOf(onnx);
  const embeddings = /** @type {Weight} */ (weights.get(EMBEDDINGS));
  return weights.set(EMBEDDINGS, ofTokens(embeddings, before, now));
}
