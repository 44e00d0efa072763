// Rows of pictures and signals sampled: resized, warped, cropped by boxes, and transformed to frequencies.

import { constant, floats, indices, int, ints, numbers, pictureDims, pictures, scalar } from './inputs.js';

const resize =
  (mode, place, scale, more = {}) =>
  (n) => [
    'Resize',
    [pictures(n), null, numbers(1, 1, scale, scale)],
    { mode, coordinate_transformation_mode: place, ...more },
  ];
const nearest = { nearest_mode: 'floor' };
/** Points of the picture for each pixel. */
const grid =
  (attributes, opset = 20) =>
  (n) => {
    const [count, , height, width] = pictureDims(n);
    return ['GridSample', [pictures(n), floats([count, height, width, 2], -1.1, 1.1, 4)], attributes, { opset }];
  };
/** `count` boxes of up to a picture, as x1, y1, x2, y2. */
function boxes(count, [, , height, width]) {
  const made = floats([count, 4], 0, 0.5, 6);
  made.data.forEach((share, i) => {
    const size = i % 2 ? height : width;
    made.data[i] = size * (i % 4 < 2 ? share : 0.5 + share) - 0.5;
  });
  return made;
}
const regions = (n, mode) => {
  const dims = pictureDims(n);
  const count = Math.max(1, Math.round(n / 49 / dims[1]));
  return [
    'RoiAlign',
    [pictures(n), boxes(count, dims), constant(indices([count], dims[0]))],
    { output_height: 7, output_width: 7, sampling_ratio: 2, mode },
    { opset: 16 },
  ];
};
const window = (op) => (n) => [op, [int(n)], {}, { opset: 17, rank: 1 }];
/** Signals of so many samples, as (signals, samples, 1). */
const transformed =
  (length, parts = 1, attributes = {}, opset = 20) =>
  (n) => {
    const count = Math.max(1, Math.floor(n / length / parts));
    return ['DFT', [floats([count, length, parts])], attributes, { opset }];
  };

export const SAMPLING = {
  'Resize, nearest': resize('nearest', 'asymmetric', 2, nearest),
  'Resize, nearest, to a half': resize('nearest', 'asymmetric', 0.5, nearest),
  'Resize, linear': resize('linear', 'half_pixel', 2),
  'Resize, linear, to a half': resize('linear', 'half_pixel', 0.5),
  'Resize, linear, corners aligned': resize('linear', 'align_corners', 2),
  'Resize, linear, by 1.5': resize('linear', 'half_pixel', 1.5),
  'Resize, cubic': resize('cubic', 'half_pixel', 2),
  'Resize, linear, antialiased to a half': resize('linear', 'half_pixel', 0.5, { antialias: 1 }),
  Upsample: (n) => ['Upsample', [pictures(n), numbers(1, 1, 2, 2)], { mode: 'nearest' }, { opset: 9 }],
  'Upsample, linear': (n) => ['Upsample', [pictures(n), numbers(1, 1, 2, 2)], { mode: 'linear' }, { opset: 9 }],
  'GridSample, linear': grid({ mode: 'linear' }),
  'GridSample, nearest': grid({ mode: 'nearest', padding_mode: 'border' }),
  'GridSample, cubic': grid({ mode: 'cubic' }),
  'RoiAlign, mean': (n) => regions(n, 'avg'),
  'RoiAlign, max': (n) => regions(n, 'max'),
  MaxRoiPool: (n) => {
    const dims = pictureDims(n);
    const count = Math.max(1, Math.round(n / 49 / dims[1]));
    const corners = boxes(count, dims).data;
    const rois = Float32Array.from({ length: 5 * count }, (_, i) =>
      i % 5 ? Math.max(0, Math.round(corners[Math.floor(i / 5) * 4 + (i % 5) - 1])) : 0,
    );
    return [
      'MaxRoiPool',
      [pictures(n), { type: 'float32', dims: [count, 5], data: rois }],
      { pooled_shape: [7, 7] },
      { opset: 18 },
    ];
  },
  NonMaxSuppression: (n) => {
    const count = Math.min(4096, n / 64);
    return [
      'NonMaxSuppression',
      [
        { ...boxes(count, [1, 1, 640, 640]), dims: [1, count, 4] },
        floats([1, 1, count], 0, 1, 2),
        ints(100),
        numbers(0.5),
        numbers(0.1),
      ],
      {},
      { rank: 2 },
    ];
  },
  'DFT of 1024': transformed(1024),
  'DFT of 1024, one side': transformed(1024, 1, { onesided: 1 }),
  'DFT of 1024 complex, inverse': transformed(1024, 2, { inverse: 1 }),
  // There onnxruntime-web is 1e-2 off, ours 1e-5: its angles are float32 numbers up to 2π · 10^6.
  'DFT of 1000': (n) => {
    const [op, inputs, attributes, more] = transformed(1000)(n);
    return [op, inputs, attributes, { ...more, agree: 0.05 }];
  },
  STFT: (n) => [
    'STFT',
    [floats([1, n / 4, 1]), int(128), constant(floats([512], 0, 1, 2)), int(512)],
    {},
    { opset: 17, rank: 4 },
  ],
  HannWindow: window('HannWindow'),
  HammingWindow: window('HammingWindow'),
  BlackmanWindow: window('BlackmanWindow'),
  MelWeightMatrix: (n) => [
    'MelWeightMatrix',
    [int(n / 128), int(254), int(16000), scalar(0), scalar(8000)],
    {},
    { opset: 17, rank: 2 },
  ],
};
