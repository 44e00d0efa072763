// Rows of normalizations, attention, recurrent networks, losses and draws.

import { constant, flat, floats, indices, int32s, lines, pictures, tokenDims, tokens, weights } from './inputs.js';

const channelsOf = (n) => pictures(n).dims[1];
const ones = (count) => constant(floats([count], 0.5, 1.5, 3));
const zeros = (count) => constant(floats([count], -0.5, 0.5, 4));
const MICROSOFT = 'com.microsoft.';

/** (batch, tokens, hidden) for attention, and how many heads. */
const attended = (n) => (n <= 2 ** 13 ? [1, 64, 128, 4] : n < 2 ** 20 ? [1, 256, 256, 8] : [1, 1024, 512, 8]);
const sequence = (n, seed) => floats(attended(n).slice(0, 3), -1, 1, seed);
const attentionFlops = (n) => {
  const [batch, length, hidden] = attended(n);
  return { flops: 4 * batch * length * length * hidden };
};
const perHead = (n, seed) => {
  const [batch, length, hidden, heads] = attended(n);
  return floats([batch, heads, length, hidden / heads], -1, 1, seed);
};
const attention = (attributes) => (n) => [
  'Attention',
  [perHead(n), perHead(n, 2), perHead(n, 3)],
  attributes,
  { opset: 23, ...attentionFlops(n) },
];
/** Cosines and sines of (positions, half a head). */
const angles = (length, half) => [constant(floats([length, half])), constant(floats([length, half], -1, 1, 2))];

/** Steps of a recurrent network: (time, batch, input), hidden units. */
const steps = (n) => (n <= 2 ** 13 ? [16, 1, 32, 64] : n < 2 ** 20 ? [32, 4, 64, 128] : [64, 16, 128, 256]);
/** Steps over rows and columns of pictures, as in Sequencer2D: many short lines and few hidden units. */
const pictureSteps = (n) => (n <= 2 ** 13 ? [8, 8, 128, 32] : n < 2 ** 20 ? [16, 16, 384, 96] : [32, 128, 192, 48]);
const recurrent =
  (op, gates, { directions = 1, states = 1, of = steps, ...attributes } = {}) =>
  (n) => {
    const [time, batch, input, hidden] = of(n);
    return [
      op,
      [
        floats([time, batch, input]),
        weights(directions, gates * hidden, input),
        weights(directions, gates * hidden, hidden),
        weights(directions, 2 * gates * hidden),
      ],
      { hidden_size: hidden, ...attributes, ...(directions > 1 && { direction: 'bidirectional' }) },
      {
        outputs: [4, ...Array(states).fill(3)],
        flops: 2 * directions * time * batch * gates * hidden * (input + hidden),
      },
    ];
  };
const labels = (n) => indices([n / 1024], 1024);
const drawn = (op, inputs, attributes, more) => (n) => [op, inputs(n), attributes(n), { random: true, ...more }];

export const LAYERS = {
  BatchNormalization: (n) => [
    'BatchNormalization',
    [pictures(n), ones(channelsOf(n)), zeros(channelsOf(n)), zeros(channelsOf(n)), ones(channelsOf(n))],
    {},
  ],
  'BatchNormalization, in training': (n) => [
    'BatchNormalization',
    [pictures(n), ones(channelsOf(n)), zeros(channelsOf(n)), zeros(channelsOf(n)), ones(channelsOf(n))],
    { training_mode: 1 },
    { outputs: [4, 1, 1] },
  ],
  InstanceNormalization: (n) => ['InstanceNormalization', [pictures(n), ones(channelsOf(n)), zeros(channelsOf(n))], {}],
  GroupNormalization: (n) => [
    'GroupNormalization',
    [pictures(n), ones(channelsOf(n)), zeros(channelsOf(n))],
    { num_groups: 4 },
    { opset: 21 },
  ],
  'LayerNormalization of 1024': (n) => ['LayerNormalization', [lines(n), ones(1024), zeros(1024)], {}],
  'LayerNormalization of 128': (n) => ['LayerNormalization', [tokens(n), ones(128), zeros(128)], {}],
  RMSNormalization: (n) => ['RMSNormalization', [lines(n), ones(1024)], {}, { opset: 23 }],
  SimplifiedLayerNormalization: (n) => ['SimplifiedLayerNormalization', [lines(n), ones(1024)], {}],
  LRN: (n) => ['LRN', [pictures(n)], { size: 5, alpha: { float: 1e-4 }, beta: { float: 0.75 }, bias: { float: 2 } }],
  'LpNormalization, last axis': (n) => ['LpNormalization', [lines(n)], { axis: -1 }],
  'LpNormalization of channels': (n) => ['LpNormalization', [pictures(n)], { axis: 1 }],
  MeanVarianceNormalization: (n) => ['MeanVarianceNormalization', [pictures(n)], {}],
  [`${MICROSOFT}SkipLayerNormalization`]: (n) => [
    `${MICROSOFT}SkipLayerNormalization`,
    [tokens(n), tokens(n, 2), ones(128), zeros(128), zeros(128)],
    {},
  ],
  [`${MICROSOFT}SkipSimplifiedLayerNormalization`]: (n) => [
    `${MICROSOFT}SkipSimplifiedLayerNormalization`,
    [tokens(n), tokens(n, 2), ones(128)],
    {},
  ],
  [`${MICROSOFT}EmbedLayerNormalization`]: (n) => {
    const [batch, length] = tokenDims(n);
    const of = (end, seed) => ({
      type: 'int32',
      dims: [batch, length],
      data: Int32Array.from(indices([batch * length], end, 0, seed).data, Number),
    });
    const tables = [weights(1000, 128), weights(length, 128), weights(2, 128)];
    return [
      `${MICROSOFT}EmbedLayerNormalization`,
      [of(1000), of(2), ...tables, ones(128), zeros(128)],
      {},
      { outputs: [3, 1] },
    ];
  },
  [`${MICROSOFT}Gelu`]: (n) => [`${MICROSOFT}Gelu`, [flat(n, -4, 4)], {}],
  [`${MICROSOFT}BiasGelu`]: (n) => [`${MICROSOFT}BiasGelu`, [lines(n), floats([1024])], {}],
  [`${MICROSOFT}FastGelu`]: (n) => [`${MICROSOFT}FastGelu`, [flat(n, -4, 4)], {}],
  [`${MICROSOFT}FastGelu with a bias`]: (n) => [`${MICROSOFT}FastGelu`, [lines(n), floats([1024])], {}],
  [`${MICROSOFT}QuickGelu`]: (n) => [`${MICROSOFT}QuickGelu`, [flat(n, -4, 4)], {}],
  Attention: attention({}),
  'Attention, causal': attention({ is_causal: 1 }),
  [`${MICROSOFT}Attention`]: (n) => {
    const [batch, length, hidden, heads] = attended(n);
    return [
      `${MICROSOFT}Attention`,
      [sequence(n), weights(hidden, 3 * hidden), weights(3 * hidden)],
      { num_heads: heads },
      { flops: attentionFlops(n).flops + 6 * batch * length * hidden * hidden },
    ];
  },
  [`${MICROSOFT}MultiHeadAttention`]: (n) => [
    `${MICROSOFT}MultiHeadAttention`,
    [sequence(n), sequence(n, 2), sequence(n, 3)],
    { num_heads: attended(n)[3] },
    attentionFlops(n),
  ],
  [`${MICROSOFT}GroupQueryAttention`]: (n) => {
    const [batch, length, hidden, heads] = attended(n);
    const few = floats([batch, length, hidden / 2], -1, 1, 2);
    return [
      `${MICROSOFT}GroupQueryAttention`,
      [sequence(n), few, few, null, null, int32s(...Array(batch).fill(length - 1)), { ...int32s(length), dims: [1] }],
      { num_heads: heads, kv_num_heads: heads / 2 },
      { outputs: [3, 4, 4], flops: attentionFlops(n).flops / 2 },
    ];
  },
  'ai.onnx.preview.FlexAttention': (n) => [
    'ai.onnx.preview.FlexAttention',
    [perHead(n), perHead(n, 2), perHead(n, 3)],
    {},
    { alone: true, ...attentionFlops(n) },
  ],
  LinearAttention: (n) => {
    const [batch, length, hidden, heads] = attended(n);
    const kept = floats([batch, length, hidden], -1, 1, 2);
    return [
      'LinearAttention',
      [sequence(n), kept, sequence(n, 3)],
      { q_num_heads: heads, kv_num_heads: heads, update_rule: 'linear' },
      { opset: 27, outputs: 1, alone: true, flops: (4 * batch * length * hidden * hidden) / heads },
    ];
  },
  RotaryEmbedding: (n) => [
    'RotaryEmbedding',
    [floats([n / 2 ** 13, 4, 32, 64]), ...angles(32, 32), constant(indices([n / 2 ** 13, 32], 32))],
    {},
    { opset: 23 },
  ],
  [`${MICROSOFT}RotaryEmbedding`]: (n) => [
    `${MICROSOFT}RotaryEmbedding`,
    [floats([n / 2 ** 13, 4, 32, 64]), constant(indices([n / 2 ** 13, 32], 32)), ...angles(32, 32)],
    {},
  ],
  LSTM: recurrent('LSTM', 4, { states: 2 }),
  'LSTM, both directions': recurrent('LSTM', 4, { directions: 2, states: 2 }),
  'LSTM of pictures, both directions': recurrent('LSTM', 4, { directions: 2, states: 2, of: pictureSteps }),
  GRU: recurrent('GRU', 3),
  'GRU as PyTorch has it': recurrent('GRU', 3, { linear_before_reset: 1 }),
  RNN: recurrent('RNN', 1),
  SoftmaxCrossEntropyLoss: (n) => ['SoftmaxCrossEntropyLoss', [lines(n), labels(n)], {}, { rank: 0, training: true }],
  NegativeLogLikelihoodLoss: (n) => [
    'NegativeLogLikelihoodLoss',
    [lines(n), labels(n)],
    {},
    { rank: 0, training: true },
  ],
  RandomNormal: drawn(
    'RandomNormal',
    () => [],
    (n) => ({ shape: [n] }),
    { rank: 1 },
  ),
  RandomNormalLike: drawn(
    'RandomNormalLike',
    (n) => [flat(n)],
    () => ({}),
  ),
  RandomUniform: drawn(
    'RandomUniform',
    () => [],
    (n) => ({ shape: [n] }),
    { rank: 1 },
  ),
  RandomUniformLike: drawn(
    'RandomUniformLike',
    (n) => [flat(n)],
    () => ({}),
  ),
  Bernoulli: drawn(
    'Bernoulli',
    (n) => [flat(n, 0, 1)],
    () => ({}),
  ),
  Multinomial: drawn(
    'Multinomial',
    (n) => [lines(n)],
    () => ({ sample_size: 1 }),
    { rank: 2 },
  ),
};
