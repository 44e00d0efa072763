/**
 * The names of the values of an ONNX model, and the model with other names: in subgraphs and functions, too.
 */

const [VARINT, EIGHT, BYTES, FOUR] = [0, 1, 2, 5];

/** Fields of the messages in which names stand: which are names, which are messages with names. */
const MODEL = { messages: { 7: 'graph', 25: 'function' } };
const MESSAGES = {
  model: MODEL,
  graph: { messages: { 1: 'node', 5: 'tensor', 11: 'info', 12: 'info', 13: 'info' } },
  function: { names: [4, 5], messages: { 7: 'node', 12: 'info' } },
  node: { names: [1, 2], messages: { 5: 'attribute' } },
  attribute: { messages: { 6: 'graph', 11: 'graph' } },
  gradient: { names: [1, 2], messages: { 5: 'texts' } }, // a node whose attributes name values
  texts: { names: [4, 9] },
  tensor: { names: [8] },
  info: { names: [1] },
};
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** @param {Uint8Array} bytes @param {number} at @returns {[number, number]} the number, and where it ends */
function varint(bytes, at) {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = bytes[at++];
    value += (byte & 127) * scale;
    if (byte < 128) return [value, at];
  }
}

/** @param {number} value */
function varintBytes(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Uint8Array.from([...bytes, value]);
}

/**
 * @param {Uint8Array} bytes
 * @returns {Generator<{ field: number, wire: number, all: Uint8Array, content: Uint8Array }>}
 */
function* fieldsOf(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const start = at;
    const [key, after] = varint(bytes, at);
    const wire = key % 8;
    let from = after;
    if (wire === VARINT) at = varint(bytes, after)[1];
    else if (wire === EIGHT) at = after + 8;
    else if (wire === FOUR) at = after + 4;
    else {
      const [length, content] = varint(bytes, after);
      from = content;
      at = content + length;
    }
    yield { field: Math.floor(key / 8), wire, all: bytes.subarray(start, at), content: bytes.subarray(from, at) };
  }
}

/** A field of bytes. @param {number} field @param {Uint8Array} content */
export const fieldBytes = (field, content) =>
  Buffer.concat([varintBytes(field * 8 + BYTES), varintBytes(content.length), content]);

const isGradient = (kind, fields) =>
  kind === 'node' && fields.some(({ field, content }) => field === 4 && decoder.decode(content) === 'Gradient');

/**
 * @param {Uint8Array} model @param {(name: string) => string} rename
 * @param {keyof typeof MESSAGES} [kind] what the bytes are
 * @returns {Uint8Array}
 */
export function renamed(model, rename, kind = 'model') {
  const fields = [...fieldsOf(model)];
  const { names = [], messages = {} } = isGradient(kind, fields) ? MESSAGES.gradient : MESSAGES[kind];
  const parts = fields.map(({ field, wire, all, content }) => {
    if (wire !== BYTES || !content.length) return all;
    if (names.includes(field)) return fieldBytes(field, encoder.encode(rename(decoder.decode(content))));
    return messages[field] ? fieldBytes(field, renamed(content, rename, messages[field])) : all;
  });
  return new Uint8Array(Buffer.concat(parts));
}

/**
 * Every name of a value, each once, in the order in which they stand.
 * @param {Uint8Array} model @param {'model' | 'graph' | 'node'} [kind]
 */
export function namesOf(model, kind) {
  /** @type {Set<string>} */
  const names = new Set();
  renamed(
    model,
    (name) => {
      names.add(name);
      return name;
    },
    kind,
  );
  return [...names];
}

/** Names of its initializers, inputs and outputs. @param {Uint8Array} model */
export function outerNamesOf(model) {
  const graph = [...fieldsOf(model)].find(({ field }) => field === 7);
  const outer = [...fieldsOf(graph.content)].filter(({ field }) => field !== 1);
  return namesOf(new Uint8Array(Buffer.concat(outer.map(({ all }) => all))), 'graph');
}

/** The model with more fields at the end of its graph. @param {Uint8Array} model @param {Uint8Array} more */
export const withGraphFields = (model, more) =>
  new Uint8Array(
    Buffer.concat(
      [...fieldsOf(model)].map(({ field, wire, all, content }) =>
        field === 7 && wire === BYTES ? fieldBytes(7, Buffer.concat([content, more])) : all,
      ),
    ),
  );

/** The version of ai.onnx, and each node's operator, domain and names of attributes. @param {Uint8Array} model */
export function nodesOf(model) {
  const all = [...fieldsOf(model)];
  const text = (fields, wanted) => decoder.decode(fields.find(({ field }) => field === wanted)?.content);
  const imports = all.filter(({ field }) => field === 8).map(({ content }) => [...fieldsOf(content)]);
  const ours = imports.find((fields) => !text(fields, 1));
  const graph = [...fieldsOf(all.find(({ field }) => field === 7).content)];
  const nodes = graph
    .filter(({ field }) => field === 1)
    .map(({ content }) => {
      const fields = [...fieldsOf(content)];
      const attributes = fields.filter(({ field }) => field === 5);
      return {
        op: text(fields, 4),
        domain: text(fields, 7),
        attributes: attributes.map((attribute) => text([...fieldsOf(attribute.content)], 1)),
      };
    });
  return { opset: varint(ours.find(({ field }) => field === 2).content, 0)[0], nodes };
}
