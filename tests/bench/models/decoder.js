// Decoder-only language models with a key-value cache, of random weights, as ONNX files: with GroupQueryAttention and
// rotary positions as ONNX Runtime's model builder writes them, or with attention in pieces and learned positions as
// Optimum does; their weights as float32, int8 (DequantizeLinear) or 4 bits a number (MatMulNBits, blocks of 32).

import { attribute, graphProto, info, modelProto, nodeProto, opsetId, tensor, TYPES } from '../../support/onnx-file.js';

const BLOCK = 32;

/** @typedef {{ blocks: number, width: number, heads: number, kvHeads: number, inner: number, words: number, positions:
 * number }} Sizes */
/** @typedef {{ weights: 'int4' | 'int8' | 'float32', attention: 'group-query' | 'pieces', accuracy?: number }} Form */

/** Numbers from 0 to 2^32, the same every time. @param {number} seed */
function drawing(seed) {
  let x = (seed * 2654435761) >>> 0 || 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    x >>>= 0;
    return x;
  };
}

/** Writes the graph of a model, a node at a time. */
class Writer {
  nodes = [];
  weights = [];
  /** Bytes of weights that each token reads. */
  read = 0;
  #seed = 1;

  /**
   * @param {string} op
   * @param {string[]} inputs
   * @param {string | string[]} outputs
   * @param {Record<string, any>} with_
   */
  add(op, inputs, outputs, attributes = {}, domain = '') {
    const names = [outputs].flat();
    this.nodes.push(
      nodeProto({
        input: inputs,
        output: names,
        name: `/${names[0]}`,
        opType: op,
        attribute: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
        domain,
      }),
    );
    return names[0];
  }

  /** @param {string} name @param {string} type @param {number[]} dims @param {any} data */
  hold(name, type, dims, data) {
    this.weights.push(tensor(name, { type, dims, data }));
    return name;
  }

  ints(name, values, dims = [values.length]) {
    return this.hold(name, 'int64', dims, BigInt64Array.from(values, BigInt));
  }

  random(count, spread) {
    const draw = drawing(this.#seed++);
    return Float32Array.from({ length: count }, () => (draw() / 2 ** 31 - 1) * spread);
  }

  bytes(count) {
    const draw = drawing(this.#seed++);
    const words = new Uint32Array(Math.ceil(count / 4));
    for (let i = 0; i < words.length; i++) words[i] = draw();
    return new Uint8Array(words.buffer, 0, count);
  }

  /** y = x · W, W of `depth` × `columns`. */
  linear(x, name, depth, columns, { weights, accuracy }) {
    const spread = Math.sqrt(3 / depth);
    if (weights === 'float32') {
      this.read += depth * columns * 4;
      const w = this.hold(`${name}.weight`, 'float32', [depth, columns], this.random(depth * columns, spread));
      return this.add('MatMul', [x, w], name);
    }
    if (weights === 'int8') {
      this.read += depth * columns + columns * 4;
      const w = this.hold(`${name}.weight`, 'int8', [depth, columns], this.bytes(depth * columns));
      const scales = this.random(columns, 0.2 * spread).map((s) => (spread + s) / 127);
      this.hold(`${name}.scale`, 'float32', [columns], scales);
      this.add('DequantizeLinear', [w, `${name}.scale`], `${name}.wide`, { axis: 1 });
      return this.add('MatMul', [x, `${name}.wide`], name);
    }
    const blocks = depth / BLOCK;
    this.read += columns * blocks * (BLOCK / 2 + 4);
    this.hold(`${name}.weight`, 'uint8', [columns, blocks, BLOCK / 2], this.bytes((columns * depth) / 2));
    const scales = this.random(columns * blocks, 0.2 * spread).map((s) => (spread + s) / 8);
    this.hold(`${name}.scales`, 'float32', [columns * blocks], scales);
    const attributes = { K: depth, N: columns, bits: 4, block_size: BLOCK };
    if (accuracy) attributes.accuracy_level = accuracy;
    return this.add('MatMulNBits', [x, `${name}.weight`, `${name}.scales`], name, attributes, 'com.microsoft');
  }

  norm(x, name, width) {
    const scale = this.hold(`${name}.weight`, 'float32', [width], new Float32Array(width).fill(1));
    return this.add('SimplifiedLayerNormalization', [x, scale], name, { axis: -1, epsilon: { float: 1e-5 } });
  }
}

/** Shares GroupQueryAttention's inputs among all blocks: counts of tokens, and the angles. */
function groupQuery(w, { width, heads, kvHeads, positions }) {
  const size = width / heads;
  const angle = (i) => Math.floor(i / (size / 2)) / 10000 ** ((i % (size / 2)) / (size / 2));
  const table = (of) => Float32Array.from({ length: (positions * size) / 2 }, (_, i) => of(angle(i)));
  w.hold('cos_cache', 'float32', [positions, size / 2], table(Math.cos));
  w.hold('sin_cache', 'float32', [positions, size / 2], table(Math.sin));
  w.add('ReduceSum', ['attention_mask', w.ints('one', [1])], 'mask_sum', { keepdims: 0 });
  w.add('Cast', [w.add('Sub', ['mask_sum', 'one'], 'last')], 'seqlens_k', { to: TYPES.int32 });
  w.add('Shape', ['attention_mask'], 'mask_shape');
  w.add('Gather', ['mask_shape', w.ints('second', [1], [])], 'total', { axis: 0 });
  w.add('Cast', ['total'], 'total_sequence_length', { to: TYPES.int32 });
  return (at, [q, k, v], [key, value], presents) =>
    w.add(
      'GroupQueryAttention',
      [q, k, v, key, value, 'seqlens_k', 'total_sequence_length', 'cos_cache', 'sin_cache'],
      [`${at}.attention`, ...presents],
      { num_heads: heads, kv_num_heads: kvHeads, do_rotary: 1, rotary_interleaved: 0 },
      'com.microsoft',
    );
}

/** The same for attention in pieces: a mask that is added to scores. */
function inPieces(w, { width, heads }) {
  const size = width / heads;
  w.add('Shape', ['attention_mask'], 'total', { start: 1, end: 2 });
  w.add('Shape', ['input_ids'], 'fresh', { start: 1, end: 2 });
  w.ints('zero', [0], []);
  w.ints('one', [1], []);
  w.ints('first', [0]);
  w.ints('rows_axis', [1]);
  w.ints('mask_axes', [1, 2]);
  const whole = (name) => w.add('Squeeze', [name, 'first'], `${name}.whole`);
  w.add('Range', ['zero', whole('total'), 'one'], 'columns');
  w.add('Sub', ['total.whole', whole('fresh')], 'kept');
  w.add('Unsqueeze', [w.add('Range', ['kept', 'total.whole', 'one'], 'places'), 'rows_axis'], 'rows');
  w.add('Greater', ['columns', 'rows'], 'later');
  w.add('Equal', [w.add('Unsqueeze', ['attention_mask', 'mask_axes'], 'mask'), 'zero'], 'absent');
  w.hold('lowest', 'float32', [], Float32Array.of(-3.4028234663852886e38));
  w.hold('nothing', 'float32', [], Float32Array.of(0));
  w.add('Where', [w.add('Or', ['later', 'absent'], 'hidden'), 'lowest', 'nothing'], 'bias');
  w.hold('factor', 'float32', [], Float32Array.of(1 / Math.sqrt(size)));
  w.ints('split', [0, 0, heads, size]);
  w.ints('joined', [0, 0, width]);
  const turned = (name) =>
    w.add('Transpose', [w.add('Reshape', [name, 'split'], `${name}.split`)], `${name}.heads`, { perm: [0, 2, 1, 3] });
  return (at, qkv, pasts, presents) => {
    const [q, k, v] = qkv.map(turned);
    w.add('Concat', [pasts[0], k], presents[0], { axis: 2 });
    w.add('Concat', [pasts[1], v], presents[1], { axis: 2 });
    w.add('Transpose', [presents[0]], `${at}.keys`, { perm: [0, 1, 3, 2] });
    w.add('Mul', [w.add('MatMul', [q, `${at}.keys`], `${at}.raw`), 'factor'], `${at}.scaled`);
    w.add('Softmax', [w.add('Add', [`${at}.scaled`, 'bias'], `${at}.scores`)], `${at}.shares`, { axis: -1 });
    w.add('MatMul', [`${at}.shares`, presents[1]], `${at}.mixed`);
    w.add('Transpose', [`${at}.mixed`], `${at}.tokens`, { perm: [0, 2, 1, 3] });
    return w.add('Reshape', [`${at}.tokens`, 'joined'], `${at}.attention`);
  };
}

/**
 * The file, and how many bytes of weights a token reads.
 * @param {Sizes} sizes @param {Form} form
 * @returns {{ bytes: Uint8Array, read: number, parameters: number }}
 */
export function decoderModel(sizes, form) {
  const { blocks, width, heads, inner, words, positions } = sizes;
  const isGroup = form.attention === 'group-query';
  const kvHeads = isGroup ? sizes.kvHeads : heads;
  const size = width / heads;
  const w = new Writer();
  const attend = isGroup ? groupQuery(w, sizes) : inPieces(w, sizes);
  w.hold('embedding', 'float32', [words, width], w.random(words * width, 1));
  let x = w.add('Gather', ['embedding', 'input_ids'], 'embedded');
  if (!isGroup) {
    w.hold('positions', 'float32', [positions, width], w.random(positions * width, 1));
    x = w.add('Add', [x, w.add('Gather', ['positions', 'position_ids'], 'placed')], 'begun');
  }
  for (let i = 0; i < blocks; i++) {
    const at = `layers.${i}`;
    const linear = (from, name, depth, columns) => w.linear(from, `${at}.${name}`, depth, columns, form);
    const h = w.norm(x, `${at}.input_norm`, width);
    const qkv = ['q', 'k', 'v'].map((name) => linear(h, name, width, size * (name === 'q' ? heads : kvHeads)));
    const named = (what) => ['key', 'value'].map((name) => `${what}.${i}.${name}`);
    const y = attend(at, qkv, named('past_key_values'), named('present'));
    x = w.add('Add', [x, linear(y, 'o', width, width)], `${at}.middle`);
    const g = w.norm(x, `${at}.output_norm`, width);
    const gate = linear(g, 'gate', width, inner);
    w.add('Mul', [gate, w.add('Sigmoid', [gate], `${at}.sigmoid`)], `${at}.silu`);
    const mixed = w.add('Mul', [`${at}.silu`, linear(g, 'up', width, inner)], `${at}.mixed_inner`);
    x = w.add('Add', [x, linear(mixed, 'down', inner, width)], `${at}.end`);
  }
  w.linear(w.norm(x, 'norm', width), 'logits', width, words, form);
  const cached = Array.from({ length: blocks }, (_, i) => [`${i}.key`, `${i}.value`]).flat();
  const cache = (name, length) => info(name, TYPES.float32, ['batch', kvHeads, length, size]);
  const whole = (name, length) => info(name, TYPES.int64, ['batch', length]);
  const graph = graphProto({
    node: w.nodes,
    name: 'decoder',
    initializer: w.weights,
    input: [
      whole('input_ids', 'sequence'),
      whole('attention_mask', 'total'),
      ...(isGroup ? [] : [whole('position_ids', 'sequence')]),
      ...cached.map((name) => cache(`past_key_values.${name}`, 'past')),
    ],
    output: [
      info('logits', TYPES.float32, ['batch', 'sequence', words]),
      ...cached.map((name) => cache(`present.${name}`, 'total')),
    ],
  });
  const opsets = [opsetId(17), opsetId(1, 'com.microsoft')];
  return { bytes: modelProto({ irVersion: 10, graph, opsetImport: opsets }), read: w.read };
}
