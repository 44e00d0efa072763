// Rows of what moves elements: transposed, joined, cut, framed, repeated, picked and put by index.

import {
  filled,
  flags,
  flat,
  floats,
  indices,
  ints,
  lines,
  numbers,
  pictureDims,
  pictures,
  scalar,
  tokens,
} from './inputs.js';

const turned = (perm, input) => (n) => ['Transpose', [input(n)], { perm }];
const cut = (input, starts, ends, axes, steps) => (n) => [
  'Slice',
  [input(n), ints(...starts), ints(...ends(input(n).dims)), ints(...axes), ints(...steps)],
  {},
];
const framed =
  (mode, input = pictures, pads = [0, 0, 1, 1, 0, 0, 1, 1]) =>
  (n) => ['Pad', [input(n), ints(...pads)], { mode }];
/** Every one once, in an order of chance. */
function shuffled(count) {
  const keys = indices([count], 2 ** 31).data;
  const order = [...keys.keys()].sort((a, b) => Number(keys[a] - keys[b]));
  return { type: 'int64', dims: [count], data: BigInt64Array.from(order, BigInt) };
}
const rows = (dims, { data }) => ({ type: 'int64', dims, data });
/** Few different numbers. */
const few = (n) => ({ ...indices([n], 1000) });

export const MOVEMENT = {
  'Transpose, NCHW to NHWC': turned([0, 2, 3, 1], pictures),
  'Transpose, NHWC to NCHW': turned([0, 3, 1, 2], (n) => {
    const [count, channels, height, width] = pictureDims(n);
    return floats([count, height, width, channels]);
  }),
  'Transpose of heads': turned([0, 2, 1, 3], (n) => floats([n / 4096, 32, 4, 32])),
  'Transpose of keys': turned([0, 2, 3, 1], (n) => floats([n / 4096, 32, 4, 32])),
  'Transpose of a matrix': turned([1, 0], (n) => lines(n, n >= 2 ** 22 ? 2048 : 128)),
  'Transpose, the last two': turned([0, 2, 1], tokens),
  'Transpose of groups of channels': turned([0, 2, 1, 3, 4], (n) => {
    const [count, channels, height, width] = pictureDims(n);
    return floats([count, 2, channels / 2, height, width]);
  }),
  'Concat of channels': (n) => ['Concat', [pictures(n / 2), pictures(n / 2)], { axis: 1 }],
  'Concat of columns': (n) => ['Concat', [lines(n / 2, 64), lines(n / 2, 64)], { axis: 1 }],
  'Concat of rows': (n) => ['Concat', [lines(n / 2), lines(n / 2)], { axis: 0 }],
  'Split in three columns': (n) => ['Split', [lines(n, 512), ints(128, 128, 256)], { axis: 1 }, { outputs: 3 }],
  'Split of channels': (n) => [
    'Split',
    [pictures(n), ints(pictureDims(n)[1] / 2, pictureDims(n)[1] / 2)],
    { axis: 1 },
    { outputs: 2 },
  ],
  'Slice of rows': cut(lines, [1], (dims) => [dims[0] - 1], [0], [1]),
  'Slice of columns': cut(lines, [0], () => [512], [1], [1]),
  'Slice of a window': cut(pictures, [1, 1], (dims) => [dims[2] - 1, dims[3] - 1], [2, 3], [1, 1]),
  'Slice, every other pixel': cut(pictures, [0, 0], (dims) => dims.slice(2), [2, 3], [2, 2]),
  'Slice, backwards': cut(lines, [1023], () => [-2000], [1], [-1]),
  'Pad, zeros': framed('constant'),
  'Pad, reflect': framed('reflect'),
  'Pad, edge': framed('edge'),
  'Pad of rows': framed('constant', lines, [0, 1, 0, 1]),
  Tile: (n) => ['Tile', [lines(n / 4, 64), ints(1, 4)], {}],
  'Tile of rows': (n) => ['Tile', [lines(n / 4), ints(4, 1)], {}],
  'Expand of a row': (n) => ['Expand', [floats([1, 1024]), ints(n / 1024, 1024)], {}],
  'Expand of a column': (n) => ['Expand', [floats([n / 1024, 1]), ints(n / 1024, 1024)], {}],
  'Expand of heads': (n) => ['Expand', [floats([n / 8192, 1, 32, 64]), ints(n / 8192, 4, 32, 64)], {}],
  'Gather of rows': (n) => ['Gather', [lines(n, 64), indices([n / 64], n / 64)], {}],
  'Gather of columns': (n) => ['Gather', [lines(n), indices([512], 1024)], { axis: 1 }],
  'Gather of wide rows': (n) => ['Gather', [lines(n), indices([n / 1024], n / 1024)], {}],
  GatherElements: (n) => ['GatherElements', [lines(n), indices([n / 1024, 1024], 1024)], { axis: 1 }],
  'GatherElements, first axis': (n) => ['GatherElements', [lines(n, 64), indices([n / 64, 64], n / 64)], { axis: 0 }],
  'GatherND of numbers': (n) => [
    'GatherND',
    [lines(n), indices([n / 4, 2], Math.min(1024, n / 1024))],
    {},
    { rank: 1 },
  ],
  'GatherND of rows': (n) => ['GatherND', [lines(n, 64), indices([n / 64, 1], n / 64)], {}],
  ScatterElements: (n) => [
    'ScatterElements',
    [lines(n), indices([n / 1024, 256], 1024), filled([n / 1024, 256], 0.5)],
    { axis: 1 },
  ],
  'ScatterElements, adding': (n) => [
    'ScatterElements',
    [lines(n), indices([n / 1024, 256], 1024), floats([n / 1024, 256])],
    { axis: 1, reduction: 'add' },
  ],
  Scatter: (n) => [
    'Scatter',
    [lines(n), indices([n / 1024, 256], 1024), filled([n / 1024, 256], 0.5)],
    { axis: 1 },
    { opset: 10 },
  ],
  'ScatterND of rows': (n) => [
    'ScatterND',
    [lines(n, 64), rows([n / 256, 1], { data: shuffled(n / 64).data.slice(0, n / 256) }), lines(n / 4, 64)],
    {},
  ],
  'ScatterND, adding numbers': (n) => [
    'ScatterND',
    [flat(n), indices([n / 4, 1], n), flat(n / 4)],
    { reduction: 'add' },
  ],
  TensorScatter: (n) => [
    'TensorScatter',
    [floats([n / 8192, 4, 32, 64]), floats([n / 8192, 4, 1, 64]), indices([n / 8192], 32)],
    {},
    { opset: 24 },
  ],
  Trilu: (n) => ['Trilu', [floats([n / 4096, 64, 64])], { upper: 0 }],
  'Trilu, upper': (n) => ['Trilu', [floats([n / 4096, 64, 64])], { upper: 1 }],
  ReverseSequence: (n) => [
    'ReverseSequence',
    [floats([64, n / 4096, 64]), indices([n / 4096], 65, 1)],
    { batch_axis: 1, time_axis: 0 },
  ],
  'Compress of numbers': (n) => ['Compress', [flat(n), flags([n])], {}, { rank: 1 }],
  'Compress of rows': (n) => ['Compress', [lines(n, 64), flags([n / 64])], { axis: 0 }],
  DepthToSpace: (n) => ['DepthToSpace', [pictures(n)], { blocksize: 2 }],
  'DepthToSpace, CRD': (n) => ['DepthToSpace', [pictures(n)], { blocksize: 2, mode: 'CRD' }],
  SpaceToDepth: (n) => ['SpaceToDepth', [pictures(n)], { blocksize: 2 }],
  CenterCropPad: (n) => {
    const [count, channels, height, width] = pictureDims(n);
    return ['CenterCropPad', [pictures(n), ints(count, channels, height - 6, width + 6)], {}];
  },
  OneHot: (n) => ['OneHot', [indices([n / 64], 64), ints(64), numbers(0, 1)], {}, { rank: 2 }],
  EyeLike: (n) => ['EyeLike', [lines(n, n >= 2 ** 22 ? 2048 : 128)], {}],
  ConstantOfShape: (n) => ['ConstantOfShape', [ints(n)], { value: { ...scalar(0.5), dims: [1] } }, { rank: 1 }],
  NonZero: (n) => ['NonZero', [{ ...flat(n), data: flat(n).data.map((x) => (x > 0 ? x : 0)) }], {}, { rank: 2 }],
  Unique: (n) => ['Unique', [few(n)], { sorted: 1 }, { outputs: 4 }],
  'Unique, in order': (n) => ['Unique', [few(n)], { sorted: 0 }, { outputs: 4 }],
  TopK: (n) => ['TopK', [lines(n), ints(10)], {}, { outputs: 2 }],
  'TopK, all of a row': (n) => ['TopK', [lines(n), ints(1024)], {}, { outputs: 2, gradients: 2 }],
  'TopK, first axis': (n) => ['TopK', [lines(n, 64), ints(5)], { axis: 0 }, { outputs: 2 }],
  AffineGrid: (n) => ['AffineGrid', [floats([1, 2, 3]), ints(1, 1, 32, n / 64)], {}, { opset: 20, rank: 4 }],
};
