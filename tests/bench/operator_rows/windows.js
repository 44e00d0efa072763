// Rows of convolutions, pools and what else looks at pictures through windows.

import { byte, bytes, constant, elements, floats, ints, pictures, signedBytes, weights } from './inputs.js';

const square = (kernel, stride = 1, pad = 0) => ({
  kernel_shape: [kernel, kernel],
  strides: [stride, stride],
  pads: [pad, pad, pad, pad],
});
const pool =
  (op, ...window) =>
  (n) => [op, [pictures(n)], square(...window)];

/** Pictures small enough for products over all channels: 8 × 32 × 32, 32 × 64 × 64, 64 × 128 × 128. */
const images = (n) => floats(n <= 2 ** 13 ? [1, 8, 32, 32] : n < 2 ** 20 ? [1, 32, 64, 64] : [1, 64, 128, 128]);
/** The multiplications and additions of a convolution with `dims` of weights whose output has so many pixels. */
const work = (pixels, dims) => ({ flops: 2 * pixels * elements(dims) });
const pixels = (input, stride = 1) =>
  input.dims[0] * Math.ceil(input.dims[2] / stride) * Math.ceil(input.dims[3] / stride);

/** A convolution: kernel, stride, padding, groups (0: one for each channel), outputs for each channel of the input. */
const convolution =
  (kernel, { stride = 1, pad = kernel >> 1, groups = 1, dilation = 1, input = images, more = 1, bias = true } = {}) =>
  (n) => {
    const x = input(n);
    const channels = x.dims[1];
    const group = groups || channels;
    const w = weights(channels * more, channels / group, kernel, kernel);
    const attributes = { ...square(kernel, stride, pad), group, dilations: [dilation, dilation] };
    const inputs = [x, w, ...(bias ? [weights(channels * more)] : [])];
    return ['Conv', inputs, attributes, work(pixels(x, stride), w.dims)];
  };
const stem = (n) => {
  const side = n <= 2 ** 13 ? 32 : n < 2 ** 20 ? 128 : 512;
  const [x, w] = [floats([1, 3, side, side]), weights(32, 3, 7, 7)];
  return ['Conv', [x, w, weights(32)], square(7, 2, 3), work((side / 2) ** 2, w.dims)];
};
const line = (kernel, groups) => (n) => {
  const channels = n <= 2 ** 13 ? 16 : 64;
  const length = Math.min(n, 2 ** 20) / channels;
  const group = groups ? channels : 1;
  const [x, w] = [floats([1, channels, length]), weights(channels, channels / group, kernel)];
  const attributes = { kernel_shape: [kernel], pads: [kernel >> 1, kernel >> 1], group };
  // Its gradient leaves onnxruntime-web 1.19 waiting for ever when the next session is made.
  return [
    'Conv',
    [x, w, weights(channels)],
    attributes,
    { ...work(length, w.dims), ...(groups && { training: false }) },
  ];
};
/** A convolution of videos and scans: kernel, stride, groups (0: one for each channel), channels of the input. */
const volume =
  (kernel, { stride = [1, 1, 1], groups = 1, of } = {}) =>
  (n) => {
    const features = n <= 2 ** 13 ? 4 : 16;
    const channels = of ?? features;
    const side = n <= 2 ** 13 ? 8 : n < 2 ** 20 ? 16 : 32;
    const pads = kernel.map((size) => size >> 1);
    const w = weights(features, channels / (groups || channels), ...kernel);
    return [
      'Conv',
      [floats([1, channels, side, side, side]), w, weights(features)],
      { kernel_shape: kernel, strides: stride, pads: [...pads, ...pads], group: groups || channels },
      // The gradient of groups leaves onnxruntime-web 1.19 waiting for ever, here too.
      { ...work(side ** 3 / elements(stride), w.dims), ...(groups !== 1 && { training: false }) },
    ];
  };
const transposedVolume = (n) => {
  const channels = n <= 2 ** 13 ? 4 : 16;
  const side = n <= 2 ** 13 ? 8 : n < 2 ** 20 ? 16 : 32;
  const [x, w] = [floats([1, channels, side, side, side]), weights(channels, channels, 2, 2, 2)];
  const attributes = { kernel_shape: [2, 2, 2], strides: [2, 2, 2] };
  return ['ConvTranspose', [x, w, weights(channels)], attributes, work(side ** 3, w.dims)];
};
/** Few pixels of many channels: the end of a vision transformer. */
const deep = (n) => floats(n <= 2 ** 13 ? [1, 128, 8, 8] : n < 2 ** 20 ? [1, 384, 16, 12] : [4, 768, 16, 12]);
const transposed =
  (kernel, stride, pad, { groups = 1, input = images, features } = {}) =>
  (n) => {
    const x = input(n);
    const channels = x.dims[1];
    const group = groups || channels;
    const w = weights(channels, (features ?? channels) / group, kernel, kernel);
    return [
      'ConvTranspose',
      [x, w, weights(features ?? channels)],
      { ...square(kernel, stride, pad), group },
      work(pixels(x), w.dims),
    ];
  };

export const WINDOWS = {
  'Conv 1×1': convolution(1),
  'Conv 1×1 to four times the channels': convolution(1, { more: 4 }),
  'Conv 1×1, stride 2': convolution(1, { stride: 2 }),
  'Conv 3×3': convolution(3),
  'Conv 3×3, stride 2': convolution(3, { stride: 2 }),
  'Conv 3×3, no bias': convolution(3, { bias: false }),
  'Conv 3×3, dilated': convolution(3, { pad: 2, dilation: 2 }),
  'Conv 3×3, four groups': convolution(3, { groups: 4 }),
  'Conv 5×5': convolution(5),
  'Conv 7×7, stride 2, of three channels': stem,
  'Conv 3×3, depthwise': convolution(3, { groups: 0, input: pictures }),
  'Conv 3×3, depthwise, stride 2': convolution(3, { groups: 0, stride: 2, input: pictures }),
  'Conv 5×5, depthwise': convolution(5, { groups: 0, input: pictures }),
  'Conv 7×7, depthwise': convolution(7, { groups: 0, input: pictures }),
  'Conv of lines, 3': line(3),
  'Conv of lines, 9': line(9),
  'Conv of lines, 5, depthwise': line(5, true),
  'Conv of volumes, 3×3×3': volume([3, 3, 3]),
  'Conv of volumes, 3×3×3, stride 2': volume([3, 3, 3], { stride: [2, 2, 2] }),
  'Conv of volumes, 1×3×3': volume([1, 3, 3]),
  'Conv of volumes, 3×1×1': volume([3, 1, 1]),
  'Conv of volumes, 1×1×1': volume([1, 1, 1]),
  'Conv of volumes, 3×7×7, stride 1×2×2, of three channels': volume([3, 7, 7], { stride: [1, 2, 2], of: 3 }),
  'Conv of volumes, 3×3×3, depthwise': volume([3, 3, 3], { groups: 0 }),
  'ConvTranspose 2×2, stride 2': transposed(2, 2, 0),
  'ConvTranspose 4×4, stride 2': transposed(4, 2, 1),
  'ConvTranspose 3×3': transposed(3, 1, 1),
  'ConvTranspose 4×4, stride 2, depthwise': transposed(4, 2, 1, { groups: 0 }),
  'ConvTranspose 4×4, stride 2, to 256 channels': transposed(4, 2, 1, { input: deep, features: 256 }),
  'ConvTranspose of volumes, 2×2×2, stride 2': transposedVolume,
  'com.microsoft.FusedConv 3×3 with Relu': (n) => {
    const [, inputs, attributes, flops] = convolution(3)(n);
    return ['com.microsoft.FusedConv', inputs, { ...attributes, activation: 'Relu' }, flops];
  },
  'DeformConv 3×3': (n) => {
    const x = floats(n <= 2 ** 13 ? [1, 8, 32, 32] : n < 2 ** 20 ? [1, 16, 64, 64] : [1, 32, 128, 128]);
    const [, channels, height, width] = x.dims;
    const w = weights(channels, channels, 3, 3);
    const inputs = [x, w, floats([1, 18, height, width], -1, 1, 4)];
    return ['DeformConv', inputs, square(3, 1, 1), { opset: 19, ...work(pixels(x), w.dims) }];
  },
  Col2Im: (n) => {
    const channels = Math.max(1, n / 2 ** 16);
    const side = n <= 2 ** 13 ? 30 : 64;
    const columns = floats([1, channels * 9, side * side]);
    return ['Col2Im', [columns, ints(side, side), ints(3, 3)], { pads: [1, 1, 1, 1] }, { rank: 4 }];
  },
  CausalConvWithState: (n) => [
    'CausalConvWithState',
    [floats([1, 64, n / 64]), weights(64, 1, 4), weights(64)],
    {},
    { opset: 27, outputs: 2, alone: true, flops: 8 * n },
  ],
  ConvInteger: (n) => {
    const { dims } = images(n);
    const w = constant(signedBytes([dims[1], dims[1], 3, 3], 100, -100));
    const inputs = [bytes(dims, 255), w, byte(128), byte(0, 'int8')];
    return ['ConvInteger', inputs, square(3, 1, 1), work(dims[2] * dims[3], w.dims)];
  },
  'MaxPool 2×2, stride 2': pool('MaxPool', 2, 2),
  'MaxPool 3×3, stride 2': pool('MaxPool', 3, 2, 1),
  'MaxPool 3×3': pool('MaxPool', 3, 1, 1),
  'MaxPool 5×5': pool('MaxPool', 5, 1, 2),
  'MaxPool 2×2, with places': (n) => ['MaxPool', [pictures(n)], square(2, 2), { outputs: 2 }],
  'MaxPool of lines': (n) => ['MaxPool', [floats([1, 16, n / 16])], { kernel_shape: [2], strides: [2] }],
  'MaxPool of volumes': (n) => [
    'MaxPool',
    [floats([1, n / 4096, 16, 16, 16])],
    { kernel_shape: [2, 2, 2], strides: [2, 2, 2] },
  ],
  'AveragePool 3×3': pool('AveragePool', 3, 1, 1),
  'AveragePool 2×2, stride 2': pool('AveragePool', 2, 2),
  'AveragePool 7×7': pool('AveragePool', 7, 7),
  'AveragePool of lines': (n) => ['AveragePool', [floats([1, 16, n / 16])], { kernel_shape: [4], strides: [4] }],
  'LpPool 2×2, stride 2': pool('LpPool', 2, 2),
  GlobalAveragePool: (n) => ['GlobalAveragePool', [pictures(n)], {}],
  'GlobalAveragePool of 7×7': (n) => ['GlobalAveragePool', [floats([1, Math.floor(n / 64), 7, 7])], {}],
  GlobalMaxPool: (n) => ['GlobalMaxPool', [pictures(n)], {}],
  GlobalLpPool: (n) => ['GlobalLpPool', [pictures(n)], {}],
  MaxUnpool: (n) => {
    const { dims } = pictures(n / 4);
    const [height, width] = dims.slice(2);
    const places = new BigInt64Array(elements(dims));
    for (let i = 0; i < places.length; i++) {
      const plane = Math.floor(i / height / width) * 4 * height * width;
      places[i] = BigInt(plane + Math.floor((i / width) % height) * 4 * width + 2 * (i % width));
    }
    return ['MaxUnpool', [pictures(n / 4), { type: 'int64', dims, data: places }], square(2, 2)];
  },
};
