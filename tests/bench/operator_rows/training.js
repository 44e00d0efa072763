// Rows of what only training computes: the gradients that have operators of their own, losses with their labels apart,
// and the steps of optimizers. onnxruntime-web's build for training has those of com.microsoft; those of com.trainlet
// are ours alone.

import {
  bytes,
  constant,
  filled,
  flags,
  flat,
  floats,
  indices,
  int,
  ints,
  lines,
  numbers,
  pictureDims,
  pictures,
  scalar,
  weights,
} from './inputs.js';

const MICROSOFT = 'com.microsoft.';
const OURS = 'com.trainlet.';
const alone = (more) => ({ alone: true, ...more });
const training = (more) => ({ training: true, ...more });
/** Sums over all pixels, in another order than onnxruntime-web's. */
const SUMS = { agree: 1e-3 };

const flag = (value) => constant({ type: 'bool', dims: [], data: Uint8Array.of(value) });

/** dX of dY and what the operator took or gave. */
const slopes = (op, low, high, attributes = {}, more = training()) => ({
  [op]: (n) => [op, [flat(n, -1, 1, 2), flat(n, low, high)], attributes, more],
});
const biased = (op) => ({
  [op]: (n) => [op, [lines(n, 1024, 2), lines(n), floats([1024])], {}, training()],
});
/** Rows that sum to one, as softmax gives them. */
function shares(n) {
  const tensor = { ...lines(n), data: lines(n).data.map((x) => Math.exp(x)) };
  for (let i = 0; i < n; i += 1024) {
    const sum = tensor.data.subarray(i, i + 1024).reduce((a, b) => a + b, 0);
    for (let k = i; k < i + 1024; k++) tensor.data[k] /= sum;
  }
  return tensor;
}
const logarithms = (n) => {
  const tensor = shares(n);
  return { ...tensor, data: tensor.data.map((x) => Math.log(x)) };
};
const labels = (n) => indices([n / 1024], 1024);
const channels = (n, low = -1, high = 1) => floats([pictureDims(n)[1]], low, high, 4);
const each = (n, low, high) => floats([n / 1024, 1], low, high, 6);

const convolution = (kernel, groups) => (n) => {
  const dims = n <= 2 ** 13 ? [1, 8, 32, 32] : n < 2 ** 20 ? [1, 32, 64, 64] : [1, 64, 128, 128];
  const w = weights(dims[1], groups ? 1 : dims[1], kernel, kernel);
  return [
    `${MICROSOFT}ConvGrad`,
    [floats(dims, -1, 1, 2), floats(dims), w],
    {
      kernel_shape: [kernel, kernel],
      pads: Array(4).fill(kernel >> 1),
      strides: [1, 1],
      dilations: [1, 1],
      group: groups ? dims[1] : 1,
    },
    training({ ...SUMS, outputs: [4, 4, 1], flops: 4 * dims[2] * dims[3] * w.data.length }),
  ];
};

/** A recurrent gradient: of each unit so many numbers are kept. */
const recurrent = (cell, gates, slots) => ({
  [`${OURS}${cell}Grad`]: (n) => {
    const [time, batch, input, hidden] =
      n <= 2 ** 13 ? [16, 1, 32, 64] : n < 2 ** 20 ? [32, 4, 64, 128] : [64, 16, 128, 256];
    const [w, r] = [weights(1, gates * hidden, input), weights(1, gates * hidden, hidden)];
    const kept = floats([1, time, batch, slots * hidden], 0.1, 0.9);
    const absent = Array(5).fill(null);
    return [
      `${OURS}${cell}Grad`,
      [floats([time, batch, input]), w, r, ...absent, kept, floats([time, 1, batch, hidden])],
      { hidden_size: hidden },
      alone({ outputs: [3, 3, 3], flops: 4 * time * batch * gates * hidden * (input + hidden) }),
    ];
  },
});

/** One step of an optimizer over n parameters. */
const optimizer = (op, states, attributes) => ({
  [op]: (n) => [
    op,
    [scalar(0.01), int(3), flat(n), flat(n, -1, 1, 2), ...states.map((low) => flat(n, low, 1, 3))],
    attributes,
    alone({ outputs: [1, ...states.map(() => 1)] }),
  ],
});

const heads = (n) => (n <= 2 ** 13 ? [1, 4, 64, 32] : n < 2 ** 20 ? [1, 8, 256, 32] : [1, 8, 1024, 64]);
const perHead = (n, seed) => floats(heads(n), -1, 1, seed);
const attentionFlops = (n, products) => {
  const [batch, count, length, depth] = heads(n);
  return 2 * products * batch * count * length * length * depth;
};
const square = (n) => (n <= 2 ** 13 ? 64 : n < 2 ** 20 ? 256 : 1024);

export const TRAINING = {
  ...slopes(`${MICROSOFT}ReluGrad`, -1, 1),
  ...slopes(`${MICROSOFT}LeakyReluGrad`, -1, 1, { alpha: { float: 0.1 } }),
  ...slopes(`${MICROSOFT}SigmoidGrad`, 0, 1),
  ...slopes(`${MICROSOFT}TanhGrad`, -1, 1),
  ...slopes(`${MICROSOFT}GeluGrad`, -4, 4),
  ...slopes(`${MICROSOFT}FastGeluGrad`, -4, 4),
  ...slopes(`${MICROSOFT}QuickGeluGrad`, -4, 4, { alpha: { float: 1.702 } }),
  ...slopes(`${OURS}ClipGrad`, -1, 1, { min: { float: -0.5 }, max: { float: 0.5 } }, alone()),
  ...biased(`${MICROSOFT}BiasGeluGrad_dX`),
  ...biased(`${MICROSOFT}BiasFastGeluGrad_dX`),
  [`${MICROSOFT}DropoutGrad`]: (n) => [
    `${MICROSOFT}DropoutGrad`,
    [flat(n), flags([n]), scalar(0.5), flag(1)],
    {},
    training(),
  ],
  [`${MICROSOFT}FakeQuant`]: (n) => [
    `${MICROSOFT}FakeQuant`,
    [flat(n), { ...numbers(0.01), dims: [1] }, numbers(128)],
    { quant_min: 0, quant_max: 255 },
    training({ outputs: 2 }),
  ],
  [`${MICROSOFT}FakeQuantGrad`]: (n) => [`${MICROSOFT}FakeQuantGrad`, [flat(n), flags([n])], {}, training()],
  [`${MICROSOFT}Scale`]: (n) => [`${MICROSOFT}Scale`, [flat(n), scalar(0.25)], {}, training()],
  [`${MICROSOFT}SoftmaxGrad_13`]: (n) => [`${MICROSOFT}SoftmaxGrad_13`, [lines(n, 1024, 2), shares(n)], {}, training()],
  [`${MICROSOFT}LogSoftmaxGrad_13`]: (n) => [
    `${MICROSOFT}LogSoftmaxGrad_13`,
    [lines(n, 1024, 2), logarithms(n)],
    {},
    training(),
  ],
  [`${MICROSOFT}ReduceSumTraining`]: (n) => [`${MICROSOFT}ReduceSumTraining`, [lines(n), ints(0)], {}, training()],
  [`${MICROSOFT}ReduceSumTraining, last axis`]: (n) => [
    `${MICROSOFT}ReduceSumTraining`,
    [lines(n), ints(1)],
    {},
    training(),
  ],
  [`${MICROSOFT}ConcatTraining`]: (n) => [
    `${MICROSOFT}ConcatTraining`,
    [lines(n / 2, 64), lines(n / 2, 64)],
    { axis: 1 },
    training(),
  ],
  [`${MICROSOFT}SplitTraining`]: (n) => [
    `${MICROSOFT}SplitTraining`,
    [lines(n, 512), ints(128, 384)],
    { axis: 1 },
    training({ outputs: 2 }),
  ],
  [`${MICROSOFT}SliceGrad`]: (n) => [
    `${MICROSOFT}SliceGrad`,
    [lines(n / 2, 512), ints(n / 1024, 1024), ints(256), ints(768), ints(1)],
    {},
    training(),
  ],
  [`${MICROSOFT}GatherGrad`]: (n) => [
    `${MICROSOFT}GatherGrad`,
    [ints(n / 64, 64), indices([n / 64], n / 64), lines(n, 64)],
    { axis: 0 },
    training({ rank: 2 }),
  ],
  [`${MICROSOFT}GatherElementsGrad`]: (n) => [
    `${MICROSOFT}GatherElementsGrad`,
    [lines(n), ints(n / 1024, 1024), indices([n / 1024, 1024], 1024)],
    { axis: 1 },
    training(),
  ],
  [`${MICROSOFT}GatherNDGrad`]: (n) => [
    `${MICROSOFT}GatherNDGrad`,
    [ints(n / 64, 64), indices([n / 64, 1], n / 64), lines(n, 64)],
    {},
    alone({ rank: 2 }),
  ],
  'org.pytorch.aten.ATen, an embedding': (n) => [
    'org.pytorch.aten.ATen',
    [lines(n, 64), indices([n / 64], n / 64), int(-1), flag(0), flag(0)],
    { operator: 'embedding' },
    alone(),
  ],
  [`${MICROSOFT}SoftmaxCrossEntropyLossInternal`]: (n) => [
    `${MICROSOFT}SoftmaxCrossEntropyLossInternal`,
    [lines(n), labels(n)],
    {},
    training({ outputs: [0, 2] }),
  ],
  [`${MICROSOFT}SoftmaxCrossEntropyLossInternalGrad`]: (n) => [
    `${MICROSOFT}SoftmaxCrossEntropyLossInternalGrad`,
    [scalar(1), logarithms(n), labels(n)],
    {},
    training({ rank: 2 }),
  ],
  [`${MICROSOFT}SoftmaxCrossEntropyLossGrad`]: (n) => [
    `${MICROSOFT}SoftmaxCrossEntropyLossGrad`,
    [scalar(1), logarithms(n), labels(n)],
    {},
    training({ rank: 2 }),
  ],
  [`${MICROSOFT}LayerNormalizationGrad`]: (n) => [
    `${MICROSOFT}LayerNormalizationGrad`,
    [lines(n, 1024, 2), lines(n), floats([1024]), each(n, -0.1, 0.1), each(n, 0.5, 2)],
    {},
    training({ outputs: [2, 1, 1] }),
  ],
  [`${MICROSOFT}SimplifiedLayerNormalizationGrad`]: (n) => [
    `${MICROSOFT}SimplifiedLayerNormalizationGrad`,
    [lines(n, 1024, 2), lines(n), floats([1024]), each(n, 0.5, 2)],
    {},
    training({ outputs: [2, 1] }),
  ],
  [`${MICROSOFT}BatchNormInternal`]: (n) => [
    `${MICROSOFT}BatchNormInternal`,
    [pictures(n), channels(n), channels(n), channels(n), channels(n, 0.5, 2)],
    {},
    training({ outputs: [4, 1, 1, 1, 1] }),
  ],
  [`${MICROSOFT}BatchNormalizationGrad`]: (n) => [
    `${MICROSOFT}BatchNormalizationGrad`,
    [pictures(n, 2), pictures(n), channels(n), channels(n), channels(n, 0.5, 2)],
    { epsilon: { float: 1e-5 } },
    training({ ...SUMS, outputs: [4, 1, 1] }),
  ],
  [`${OURS}BatchNormAgain`]: (n) => [
    `${OURS}BatchNormAgain`,
    [pictures(n), channels(n), channels(n), channels(n), channels(n, 0.5, 2)],
    {},
    alone(),
  ],
  [`${MICROSOFT}ConvGrad 3×3`]: convolution(3),
  [`${MICROSOFT}ConvGrad 1×1`]: convolution(1),
  [`${MICROSOFT}ConvGrad 3×3, depthwise`]: convolution(3, true),
  [`${OURS}FusedConv 3×3 with Relu`]: (n) => {
    const [, [, x, w], attributes, { flops }] = convolution(3)(n);
    return [
      `${OURS}FusedConv`,
      [x, w, weights(w.dims[0])],
      { ...attributes, activation: 'Relu' },
      alone({ flops: flops / 2 }),
    ];
  },
  [`${OURS}FusedGemm with Relu`]: (n) => {
    const wide = square(n);
    const inputs = [floats([wide, wide]), weights(wide, wide), weights(wide)];
    return [`${OURS}FusedGemm`, inputs, { transB: 1, activation: 'Relu' }, alone({ flops: 2 * wide ** 3 })];
  },
  AveragePoolGrad: (n) => [
    'AveragePoolGrad',
    [pictures(n / 4), ints(...pictureDims(n / 4).map((d, i) => (i < 2 ? d : 2 * d)))],
    { kernel_shape: [2, 2], strides: [2, 2] },
    alone(),
  ],
  ResizeGrad: (n) => {
    const [count, depth, height, width] = pictureDims(n);
    const to = ints(count, depth, height, width);
    return [
      'ResizeGrad',
      [pictures(n), ints(count, depth, height / 2, width / 2), null, null, to],
      { mode: 'linear' },
      alone(),
    ];
  },
  [`${OURS}GridSampleGrad`]: (n) => {
    const [count, , height, width] = pictureDims(n);
    return [
      `${OURS}GridSampleGrad`,
      [pictures(n, 2), pictures(n), floats([count, height, width, 2], -1.1, 1.1, 4)],
      {},
      alone({ opset: 20, outputs: 2 }),
    ];
  },
  [`${OURS}RoiAlignGrad`]: (n) => {
    const dims = pictureDims(n);
    const count = Math.max(1, Math.round(n / 49 / dims[1]));
    const rois = floats([count, 4], 0, 10);
    rois.data.forEach((at, i) => {
      rois.data[i] = i % 4 < 2 ? at : at + 15;
    });
    return [
      `${OURS}RoiAlignGrad`,
      [floats([count, dims[1], 7, 7]), pictures(n), rois, constant(indices([count], dims[0]))],
      { output_height: 7, output_width: 7, sampling_ratio: 2 },
      alone({ opset: 16 }),
    ];
  },
  [`${OURS}CumProdGrad`]: (n) => [
    `${OURS}CumProdGrad`,
    [lines(n, 1024, 2), floats([n / 1024, 1024], 0.98, 1.02), int(1)],
    {},
    alone(),
  ],
  [`${OURS}DFTGrad`]: (n) => [
    `${OURS}DFTGrad`,
    [floats([n / 1024, 1024, 2]), ints(n / 1024, 1024, 1)],
    { axis: 1 },
    alone(),
  ],
  [`${OURS}DetGrad`]: (n) => [`${OURS}DetGrad`, [floats([n / 64]), floats([n / 64, 8, 8])], {}, alone({ rank: 3 })],
  ...recurrent('LSTM', 4, 6),
  ...recurrent('GRU', 3, 5),
  ...recurrent('RNN', 1, 2),
  [`${OURS}Attention`]: (n) => [
    `${OURS}Attention`,
    [perHead(n), perHead(n, 2), perHead(n, 3)],
    { scale: { float: 0.125 } },
    alone({ flops: attentionFlops(n, 2) }),
  ],
  [`${OURS}AttentionGrad`]: (n) => [
    `${OURS}AttentionGrad`,
    [perHead(n, 4), perHead(n), perHead(n, 2), perHead(n, 3), perHead(n, 5), filled(heads(n).slice(0, 3), 8)],
    { scale: { float: 0.125 } },
    alone({ outputs: 3, flops: attentionFlops(n, 5) }),
  ],
  [`${OURS}LinearAttentionGrad`]: (n) => {
    const [batch, count, length, depth] = heads(n);
    const whole = (seed) => floats([batch, length, count * depth], -1, 1, seed);
    return [
      `${OURS}LinearAttentionGrad`,
      [whole(2), floats([batch, count, depth, depth]), whole(3), whole(4), whole(5)],
      { q_num_heads: count, kv_num_heads: count, update_rule: 'linear' },
      alone({ outputs: 3, rank: 3, flops: 16 * batch * length * count * depth * depth }),
    ];
  },
  [`${OURS}MatMulNBitsGrad`]: (n) => {
    const wide = square(n);
    const blocks = (wide * wide) / 32;
    return [
      `${OURS}MatMulNBitsGrad`,
      [
        floats([8, wide]),
        constant(bytes([wide, wide / 32, 16], 256)),
        constant(floats([blocks], 0.01, 0.1)),
        constant(bytes([blocks / 2], 256)),
      ],
      { K: wide, N: wide, bits: 4, block_size: 32 },
      alone({ flops: 16 * wide * wide }),
    ];
  },
  ...optimizer('ai.onnx.preview.training.Adam', [-1, 0.1], {}),
  ...optimizer(`${OURS}PyTorchAdam`, [-1, 0.1], {}),
  ...optimizer('ai.onnx.preview.training.Momentum', [-1], {
    alpha: { float: 0.9 },
    beta: { float: 0.5 },
    mode: 'standard',
    norm_coefficient: { float: 0 },
  }),
  ...optimizer('ai.onnx.preview.training.Adagrad', [0.1], {}),
};
