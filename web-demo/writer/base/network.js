// The base's network: a GPT-2 (Radford et al. 2019) with tied embeddings, for texts of any length up to POSITIONS.

import { Graph } from '../../../tests/bench/models/graph.js';
import { onnxFile } from '../../../tests/support/onnx-file.js';

export const POSITIONS = 128;
export const VOCABULARY = 2048;
const [WIDTH, HEADS, BLOCKS] = [192, 6, 4];

/** Reshapes to dims of which 0 stands for what is there. @param {Graph} g @param {string} x @param {number[]} dims */
function reshaped(g, x, dims) {
  const known = dims.map((d, i) => d || g.shapes[x][i]);
  return g.op('Reshape', [x, g.constant('int64', [dims.length], dims)], {}, known);
}

/** The first rows (and columns, if `axes` has both) of a table, as many as there are tokens. */
function first(
  /** @type {Graph} */ g,
  /** @type {string} */ table,
  /** @type {string} */ length,
  /** @type {number[]} */ axes,
) {
  const tokens = g.shapes.input_ids[1];
  const ends =
    axes.length > 1
      ? g.op(
          'Concat',
          axes.map(() => length),
          { axis: 0 },
          [axes.length],
        )
      : length;
  const dims = g.shapes[table].map((d, i) => (axes.includes(i) ? tokens : d));
  const zeros = g.constant(
    'int64',
    [axes.length],
    axes.map(() => 0),
  );
  return g.op('Slice', [table, zeros, ends, g.constant('int64', [axes.length], axes)], {}, dims);
}

/** A token sees itself and those before it. */
function attention(
  /** @type {Graph} */ g,
  /** @type {string} */ x,
  /** @type {string} */ name,
  /** @type {string} */ hidden,
) {
  const dims = g.shapes[x];
  const [batch, tokens] = dims;
  const size = WIDTH / HEADS;
  const joined = g.linear(x, `${name}.c_attn`, 3 * WIDTH);
  g.op('Split', [joined, g.constant('int64', [3], [WIDTH, WIDTH, WIDTH])], { axis: 2 }, dims, dims, dims);
  const [q, k, v] = g.nodes
    .at(-1)
    .outputs.map((part, i) =>
      g.transpose(reshaped(g, part, [0, 0, HEADS, size]), i === 1 ? [0, 2, 3, 1] : [0, 2, 1, 3]),
    );
  const all = [batch, HEADS, tokens, tokens];
  const scores = g.op('Mul', [g.matmul(q, k), g.constant('float32', [], [size ** -0.5])], {}, all);
  const masked = g.op('Where', [hidden, g.constant('float32', [], [-1e9]), scores], {}, all);
  const mixed = g.matmul(g.op('Softmax', [masked], { axis: -1 }, all), v);
  return g.linear(reshaped(g, g.transpose(mixed, [0, 2, 1, 3]), [0, 0, WIDTH]), `${name}.c_proj`, WIDTH);
}

/**
 * With first weights by the same numbers each time, or those of a base of before.
 * @param {Map<string, { data: Float32Array }>} [before]
 * @returns {Uint8Array} an ONNX model: input_ids to logits
 */
export function network(before) {
  const [batch, tokens] = [2, 8];
  const g = new Graph('writer', batch, { name: 'input_ids', type: 'int64', dims: [tokens] });
  const table = g.weight('wte.weight', [VOCABULARY, WIDTH], 0.05);
  const shape = g.op('Shape', ['input_ids'], { start: 1, end: 2 }, [1]);
  const places = first(g, g.weight('wpe.weight', [POSITIONS, WIDTH], 0.03), shape, [0]);
  const later = Array.from({ length: POSITIONS ** 2 }, (_, i) => Number(i % POSITIONS > Math.floor(i / POSITIONS)));
  const hidden = first(g, g.constant('bool', [POSITIONS, POSITIONS], later), shape, [0, 1]);
  let x = g.add(g.op('Gather', [table, 'input_ids'], { axis: 0 }, [batch, tokens, WIDTH]), places);
  for (let i = 0; i < BLOCKS; i++) {
    x = g.add(x, attention(g, g.layerNorm(x, `h.${i}.ln_1`), `h.${i}.attn`, hidden));
    const up = g.gelu(g.linear(g.layerNorm(x, `h.${i}.ln_2`), `h.${i}.mlp.c_fc`, 4 * WIDTH));
    x = g.add(x, g.linear(up, `h.${i}.mlp.c_proj`, WIDTH));
  }
  const head = g.transpose(table, [1, 0]);
  g.end(g.op('MatMul', [g.layerNorm(x, 'ln_f'), head], {}, [batch, tokens, VOCABULARY]));
  for (const [name, weight] of g.weights) weight.data = before?.get(name)?.data ?? weight.data;
  return onnxFile({
    name: g.name,
    nodes: g.nodes,
    weights: g.weights,
    inputs: [{ name: 'input_ids', type: 'int64', dims: ['batch', 'sequence'] }],
    outputs: [{ name: 'logits', type: 'float32', dims: ['batch', 'sequence', VOCABULARY] }],
  });
}
