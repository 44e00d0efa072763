// Bombs: small models that ask for much. Each is [what it is, a model of it], the second made when it is asked for.

import { attribute, graphProto, info, modelProto, node, opsetId } from './onnx-file.js';
import {
  addBody,
  big,
  bool,
  call,
  calls,
  chain,
  conv,
  dft,
  float,
  floats,
  fn,
  graph,
  INT,
  image,
  int64,
  LEAST,
  list,
  loop,
  MOST,
  microsoft,
  model,
  nested,
  number,
  one,
  pool,
  range,
  resize,
  roi,
  rois,
  SIZES,
  scalar,
  text,
  window,
} from './bomb-models.js';
import { STRING_BOMBS } from './string-bombs.js';

/** @typedef {[string, () => Uint8Array]} Bomb */
/** @type {Bomb[]} */
export const BOMBS = [
  ...STRING_BOMBS,
  ...big('Expand', 'size', ...SIZES),
  ...big('Tile', 'times', ...SIZES.filter((size) => size.length === 2)),
  ...[int64(0, 0, 0, 2 ** 30), int64(0, 0, INT, 0), int64(0, MOST, 0, MOST), int64(0, LEAST, 0, 0)].map((pads, i) => [
    `Pad ${i}`,
    one('Pad', ['x', 'pads'], { pads }),
  ]),
  ...[[2 ** 20, 4], [INT, 4], [2n ** 40n, 2n ** 40n], [MOST], [LEAST], list(8, () => 2 ** 30)].map((size) => [
    `ConstantOfShape ${size.length > 4 ? size.length : size}`,
    one('ConstantOfShape', ['size'], { size: int64(...size) }, [float(1)]),
  ]),
  ...[
    [0, 2 ** 22, 1],
    [0, INT, 1],
    [0, MOST, 1],
    [LEAST, MOST, 1],
    [0, -1, 0],
  ].map((r) => [`Range ${r}`, range(...r)]),
  ...[2 ** 20, INT, MOST, -5].map((depth) => [
    `OneHot of ${depth}`,
    one('OneHot', ['index', 'depth', 'values'], {
      index: int64(1, 2),
      depth: scalar(depth),
      values: floats([2], 0, 1),
    }),
  ]),
  ...[
    [1, 1, 4000, 4000],
    [1, 1, 60000, 60000],
    [1, 1, INT, 4],
    [1, 1, MOST, 1],
  ].flatMap((size) =>
    ['nearest', 'linear', 'cubic'].map((mode) => [`Resize ${mode} to ${size}`, resize(size, attribute('mode', mode))]),
  ),
  [
    'Resize of 2 ** 31 times',
    one('Resize', ['p', '', 'scales'], { ...image, scales: floats([4], 1, 1, 2 ** 31, 2 ** 31) }),
  ],
  [
    'Resize antialiased from much to little',
    one(
      'Resize',
      ['p', '', '', 'size'],
      { p: floats([1, 1, 1, 400], 1), size: int64(1, 1, 1, 1) },
      [attribute('mode', 'cubic'), attribute('antialias', 1)],
      { opset: 18 },
    ),
  ],
  ['Upsample', one('Upsample', ['p', 'scales'], { ...image, scales: floats([4], 1, 1, 3e4, 3e4) }, [], { opset: 9 })],
  [
    'RoiAlign of hours',
    roi(
      [1, 1, 2, 2],
      rois,
      attribute('sampling_ratio', 4000),
      attribute('output_height', 500),
      attribute('output_width', 500),
    ),
  ],
  [
    'RoiAlign of years',
    roi(
      [1, 1, 2, 2],
      rois,
      attribute('sampling_ratio', 4096),
      attribute('output_height', 65536),
      attribute('output_width', 1),
    ),
  ],
  [
    'RoiAlign of a region like the earth',
    roi(
      [1, 1, 2, 2],
      floats([1, 4], -9e8, -9e8, 9e8, 9e8),
      attribute('output_height', 200),
      attribute('output_width', 200),
    ),
  ],
  [
    'RoiAlign of infinite regions',
    roi([1, 1, 2, 2], floats([1, 4], -Infinity, NaN, Infinity, 3e38), attribute('sampling_ratio', 0)),
  ],
  [
    'MaxRoiPool',
    one('MaxRoiPool', ['p', 'rois'], { ...image, rois: floats([1, 5], 0, 0, 0, 9e8, 9e8) }, [
      attribute('pooled_shape', [65536, 65536]),
    ]),
  ],
  ...[2 ** 16 + 1, 1000003, 2 ** 23 - 15, 2 ** 24 - 3, 2 ** 24, 2 ** 25, INT, MOST, 0, -1].map((size) => [
    `DFT of ${size}`,
    dft(size),
  ]),
  ['DFT inverse, of half a prime', dft(1000003, attribute('inverse', 1))],
  [
    'STFT of steps of 1',
    one('STFT', ['s', 'step', 'window'], { s: floats([1, 200, 1], 1), step: scalar(1), window: floats([197], 1) }),
  ],
  [
    'STFT of length 2 ** 31',
    one('STFT', ['s', 'step', '', 'n'], { s: floats([1, 400, 1], 1), step: scalar(1), n: scalar(INT) }),
  ],
  ...['HannWindow', 'HammingWindow', 'BlackmanWindow'].flatMap((op) =>
    [2 ** 22, INT, MOST].map((size) => [`${op} of ${size}`, window(op, size)]),
  ),
  [
    'MelWeightMatrix',
    one('MelWeightMatrix', ['a', 'b', 'c', 'd', 'e'], {
      a: scalar(1000),
      b: scalar(200000),
      c: scalar(16000),
      d: floats([], 0),
      e: floats([], 8000),
    }),
  ],
  [
    'MelWeightMatrix of 2 ** 31',
    one('MelWeightMatrix', ['a', 'b', 'c', 'd', 'e'], {
      a: scalar(INT),
      b: scalar(INT),
      c: scalar(16000),
      d: floats([], 0),
      e: floats([], 8000),
    }),
  ],
  [
    'EyeLike',
    () =>
      model([node('ConstantOfShape', ['size'], ['c']), node('EyeLike', ['c'], ['v'])], { size: int64(60000, 60000) }),
  ],
  [
    'Trilu',
    () =>
      model(
        [node('Expand', ['x', 'size'], ['c']), node('Trilu', ['c'], ['v'])],
        { size: int64(30000, 4, 4) },
        { dims: [1, 1, 4] },
      ),
  ],
  [
    'GatherND of much',
    () =>
      model([node('Expand', ['i', 'size'], ['c']), node('GatherND', ['x', 'c'], ['v'])], {
        i: int64(0),
        size: int64(30000, 30000, 1),
      }),
  ],
  [
    'ScatterND into much',
    () =>
      model([node('ConstantOfShape', ['size'], ['c']), node('ScatterND', ['c', 'i', 'x'], ['v'])], {
        size: int64(2 ** 30, 4),
        i: { ...int64(0), dims: [1, 1] },
      }),
  ],
  [
    'NonZero of much',
    () =>
      model(
        [node('Expand', ['x', 'size'], ['c']), node('NonZero', ['c'], ['v'])],
        { size: int64(2 ** 22, 4) },
        { type: 7 },
      ),
  ],
  [
    'NonMaxSuppression of many boxes',
    () =>
      model(
        [
          node('Expand', ['b', 'size'], ['boxes']),
          node('Expand', ['s', 'many'], ['scores']),
          node('NonMaxSuppression', ['boxes', 'scores', 'most'], ['v']),
        ],
        {
          b: floats([1, 1, 4], 0, 0, 1, 1),
          s: floats([1, 1, 1], 0.5),
          size: int64(1, 200000, 4),
          many: int64(1, 1, 200000),
          most: int64(200000),
        },
        { type: 7 },
      ),
  ],
  [
    'Unique of much',
    () => model([node('Expand', ['x', 'size'], ['c']), node('Unique', ['c'], ['v'])], { size: int64(2 ** 15, 4) }),
  ],
  [
    'Unique of 8 million',
    () => model([node('Expand', ['x', 'size'], ['c']), node('Unique', ['c'], ['v'])], { size: int64(2 ** 21, 4) }),
  ],
  [
    'Unique of a million',
    () => model([node('Expand', ['x', 'size'], ['c']), node('Unique', ['c'], ['v'])], { size: int64(2 ** 18, 4) }),
  ],
  [
    'NonMaxSuppression of boxes that do not meet',
    () =>
      model(
        [
          node('Expand', ['b', 'size'], ['boxes']),
          node('Expand', ['s', 'many'], ['scores']),
          node('NonMaxSuppression', ['boxes', 'scores', 'most'], ['v']),
        ],
        {
          b: floats([1, 1, 4], 0),
          s: floats([1, 1, 1], 0.5),
          size: int64(1, 200000, 4),
          many: int64(1, 1, 200000),
          most: int64(200000),
        },
        { type: 7 },
      ),
  ],
  [
    'TopK of much',
    () =>
      model([node('Expand', ['x', 'size'], ['c']), node('TopK', ['c', 'k'], ['v', 'i'], attribute('axis', 0))], {
        size: int64(2 ** 22, 4),
        k: int64(2 ** 22),
      }),
  ],
  [
    'Det of much',
    () =>
      model(
        [node('Expand', ['x', 'size'], ['c']), node('Det', ['c'], ['v'])],
        { size: int64(3000, 3000) },
        { dims: [1, 1] },
      ),
  ],
  [
    'Einsum of everything',
    one('Einsum', ['x', 'x', 'x', 'x'], {}, [attribute('equation', 'ab,cd,ef,gh->abcdefgh')], { dims: [30, 30] }),
  ],
  [
    'Einsum of much',
    () =>
      model(
        [node('Expand', ['x', 'size'], ['c']), node('Einsum', ['c', 'c'], ['v'], attribute('equation', 'ij,kj->ik'))],
        { size: int64(2 ** 18, 4) },
      ),
  ],
  [
    'a product of much',
    () =>
      model(
        [node('Expand', ['x', 'tall'], ['a']), node('Expand', ['x', 'wide'], ['b']), node('MatMul', ['a', 'b'], ['v'])],
        { tall: int64(2000, 1e6), wide: int64(1e6, 2000) },
        { dims: [1, 1] },
      ),
  ],
  [
    'Attention over a long text',
    () =>
      model(
        [
          node('Expand', ['x', 'size'], ['q']),
          microsoft('MultiHeadAttention', ['q', 'q', 'q'], ['v'], attribute('num_heads', 1)),
        ],
        { size: int64(1, 200000, 4) },
        { dims: [1, 1, 4] },
      ),
  ],
  [
    'LSTM of a long text',
    () =>
      model(
        [node('Expand', ['x', 'size'], ['s']), node('LSTM', ['s', 'k', 'r'], ['v'], attribute('hidden_size', 8))],
        { size: int64(1e6, 1, 4), k: floats([1, 32, 4], 0.1), r: floats([1, 32, 8], 0.1) },
        { dims: [1, 1, 4] },
      ),
  ],
  ['Conv with pads of 2 ** 30', conv('Conv', [1, 1, 3, 3], attribute('pads', [2 ** 30, 2 ** 30, 2 ** 30, 2 ** 30]))],
  ['Conv with pads of 2 ** 62', conv('Conv', [1, 1, 3, 3], attribute('pads', [2 ** 62, 2 ** 62, 2 ** 62, 2 ** 62]))],
  ['Conv with dilations of 2 ** 31', conv('Conv', [1, 1, 3, 3], attribute('dilations', [2 ** 31, 2 ** 31]))],
  ['Conv of as many groups', conv('Conv', [1, 1, 3, 3], attribute('group', 2 ** 31))],
  [
    'ConvTranspose with strides of 2 ** 20',
    conv('ConvTranspose', [1, 1, 3, 3], attribute('strides', [2 ** 20, 2 ** 20])),
  ],
  [
    'ConvTranspose with strides of 2 ** 62',
    conv('ConvTranspose', [1, 1, 3, 3], attribute('strides', [2 ** 62, 2 ** 62])),
  ],
  [
    'ConvTranspose with dilations of 10,000',
    conv('ConvTranspose', [1, 1, 3, 3], attribute('dilations', [10000, 10000])),
  ],
  ['ConvTranspose to a size', conv('ConvTranspose', [1, 1, 3, 3], attribute('output_shape', [100000, 100000]))],
  [
    'ConvTranspose with output_padding',
    conv(
      'ConvTranspose',
      [1, 1, 3, 3],
      attribute('strides', [2 ** 30, 2 ** 30]),
      attribute('output_padding', [2 ** 29, 2 ** 29]),
    ),
  ],
  [
    'MaxPool of large windows',
    pool('MaxPool', attribute('kernel_shape', [63, 63]), attribute('pads', [31, 31, 31, 31])),
  ],
  [
    'MaxPool of windows of 2 ** 31',
    pool(
      'MaxPool',
      attribute('kernel_shape', [2 ** 31, 2 ** 31]),
      attribute('pads', [2 ** 30, 2 ** 30, 2 ** 30, 2 ** 30]),
    ),
  ],
  [
    'AveragePool of windows of 2 ** 31',
    pool(
      'AveragePool',
      attribute('kernel_shape', [2 ** 31, 2 ** 31]),
      attribute('pads', [2 ** 30, 2 ** 30, 2 ** 30, 2 ** 30]),
    ),
  ],
  [
    'AveragePool of strides of 2 ** 62',
    pool('AveragePool', attribute('kernel_shape', [2, 2]), attribute('strides', [2 ** 62, 2 ** 62])),
  ],
  ['LpPool of large windows', pool('LpPool', attribute('kernel_shape', [60, 60]), attribute('p', 3))],
  ['LRN of size 2 ** 31', pool('LRN', attribute('size', 2 ** 31 - 1))],
  [
    'Col2Im',
    one(
      'Col2Im',
      ['p', 'size', 'block'],
      { p: floats([1, 1, 1], 1), size: int64(60000, 60000), block: int64(60000, 60000) },
      [],
      { opset: 18 },
    ),
  ],
  ['CenterCropPad', one('CenterCropPad', ['x', 'size'], { size: int64(60000, 60000) }, [], { opset: 18 })],
  [
    'Split into a million',
    () =>
      model(
        [
          node('Expand', ['x', 'size'], ['c']),
          node('SplitToSequence', ['c'], ['s'], attribute('axis', 0)),
          node('ConcatFromSequence', ['s'], ['v'], attribute('axis', 0)),
        ],
        { size: int64(1e6, 4) },
      ),
  ],
  ['Split by a million', one('Split', ['x'], {}, [attribute('num_outputs', 1e6)], { opset: 18 })],
  ['DepthToSpace of 2 ** 31', one('DepthToSpace', ['p'], image, [attribute('blocksize', 2 ** 31)])],
  ['SpaceToDepth of 2 ** 62', one('SpaceToDepth', ['p'], image, [attribute('blocksize', 2 ** 62)])],
  ...['RandomNormal', 'RandomUniform'].flatMap((op) =>
    [
      [2 ** 22, 4],
      [2 ** 31, 4],
      [2 ** 62, 4],
    ].map((shape) => [`${op} ${shape}`, one(op, [], {}, [attribute('shape', shape)])]),
  ),
  ['Multinomial', one('Multinomial', ['x'], {}, [attribute('sample_size', 2 ** 30)], { type: 6 })],
  ['Concat, doubling', () => model(chain(36, 'Concat', (v) => [v, v], attribute('axis', 0)))],
  [
    'Add, doubling by broadcasting',
    () =>
      model(
        chain(30, 'Einsum', (v) => [v, v], attribute('equation', 'ab,cb->ac')),
        {},
        { dims: [40, 40] },
      ),
  ],
  [
    'Tile of Tile of Tile',
    () =>
      model(
        chain(20, 'Tile', (v) => [v, 't']),
        { t: int64(10, 10) },
      ),
  ],
  [
    'a shape squared again and again',
    () =>
      model([
        node('Shape', ['x'], ['s0']),
        ...list(10, (i) => node('Mul', [`s${i}`, `s${i}`], [`s${i + 1}`])),
        node('Expand', ['x', 's10'], ['v']),
      ]),
  ],
  [
    'a shape that is the product of itself',
    () =>
      model(
        [
          node('Size', ['x'], ['s']),
          ...list(30, (i) => node('Mul', [i ? `s${i}` : 's', 's'], [`s${i + 1}`])),
          node('ConstantOfShape', ['one'], ['o'], attribute('value', int64(1))),
          node('Add', ['o', 's30'], ['n']),
          node('ConstantOfShape', ['n'], ['v']),
        ],
        { one: int64(1) },
      ),
  ],
  ['Reshape to what overflows', one('Reshape', ['x', 'size'], { size: int64(2n ** 32n, 2n ** 32n, -1) })],
  ['Reshape to the least', one('Reshape', ['x', 'size'], { size: int64(LEAST) })],
  [
    'Slice by extremes',
    one('Slice', ['x', 'from', 'to', 'axes', 'by'], {
      from: int64(MOST),
      to: int64(LEAST),
      axes: int64(1),
      by: int64(LEAST),
    }),
  ],
  [
    'Gather of nothing, much of it',
    () =>
      model(
        [node('ConstantOfShape', ['size'], ['c']), node('ReduceMax', ['c'], ['m']), node('Add', ['x', 'm'], ['v'])],
        { size: int64(0, 2n ** 60n) },
      ),
  ],
  ['no elements along 2 ** 62', one('ConstantOfShape', ['size'], { size: int64(0, 2n ** 62n, 2n ** 62n) })],
  ['an input of 2 ** 62', () => model([node('Neg', ['x'], ['v'])], {}, { dims: [2 ** 62] })],
  ['an input of no elements', () => model([node('Neg', ['x'], ['v'])], {}, { dims: [1, 0, 2 ** 40] })],
  [
    'an input of symbols alone',
    () =>
      model(
        [node('Einsum', ['x', 'x', 'x', 'x'], ['v'], attribute('equation', 'ab,cd,ef,gh->abcdefgh'))],
        {},
        { dims: ['N', 'M'] },
      ),
  ],
  ...[10, 1000, 60000, 1e6, INT, MOST, -1].map((trips) => [`Loop of ${trips}`, loop(trips)]),
  [
    'Loop in Loop in Loop',
    () => {
      let body = addBody();
      for (let i = 0; i < 3; i++)
        body = addBody([node('Loop', ['n', 'go2', 'a'], [`inner${i}`], graph('body', body))], `inner${i}`);
      return model([node('Loop', ['n', 'go2', 'x'], ['v'], graph('body', body))], { n: scalar(1000), go2: bool(1) });
    },
  ],
  [
    'Scan of a million',
    () =>
      model(
        [
          node('Expand', ['x', 'size'], ['c']),
          node(
            'Scan',
            ['x', 'c'],
            ['v'],
            graph(
              'body',
              graphProto({
                node: node('Add', ['a', 'e'], ['b']),
                name: 'body',
                input: [info('a', 1, [1, 4]), info('e', 1, [1, 4])],
                output: info('b', 1, [1, 4]),
              }),
            ),
            attribute('num_scan_inputs', 1),
          ),
        ],
        { size: int64(1e6, 1, 4) },
      ),
  ],
  [
    'SequenceMap over much',
    () =>
      model(
        [
          node('Expand', ['x', 'size'], ['c']),
          node('SplitToSequence', ['c'], ['s'], attribute('axis', 0)),
          node(
            'SequenceMap',
            ['s'],
            ['t'],
            graph(
              'body',
              graphProto({
                node: node('Neg', ['e'], ['f']),
                name: 'body',
                input: info('e', 1, [1, 4]),
                output: info('f', 1, [1, 4]),
              }),
            ),
          ),
          node('ConcatFromSequence', ['t'], ['v'], attribute('axis', 0)),
        ],
        { size: int64(50000, 4) },
      ),
  ],
  ...[2, 3, 4, 8, 11].map((depth) => [`If in If, ${depth} deep`, () => nested(depth)]),
  ['functions that double 20 times', calls(20, 2)],
  ['functions of 12 calls each', calls(5, 12)],
  ['functions that make nothing', calls(20, 2, [node('Identity', ['a'], ['b'])])],
  [
    'a function with a table, many times',
    calls(3, 16, [
      node('Constant', [], ['t'], attribute('value', floats([100], 1))),
      node('ReduceMax', ['t'], ['m']),
      node('Add', ['a', 'm'], ['b']),
    ]),
  ],
  [
    'a function that calls itself',
    () => model([call('F', 'x', 'v')], {}, { functions: [fn('F', [call('F', 'a', 'b')])] }),
  ],
];

/** Large files: these are given memory and time by their bytes. @type {Bomb[]} */
export const LARGE = [
  ['100,000 nodes', () => model(chain(100_000, 'Neg', (v) => [v]))],
  [
    '100,000 nodes of one input',
    () =>
      model([
        ...list(50_000, (i) => node('LeakyRelu', ['x'], [`l${i}`], number('alpha', i / 1e5))),
        ...list(49_999, (i) => node('Add', [i ? `u${i - 1}` : 'l0', `l${i + 1}`], [i === 49_998 ? 'v' : `u${i}`])),
      ]),
  ],
  ['a name of 10 MB', () => model([node('Neg', ['x'], [text(1e7)]), node('Neg', [text(1e7)], ['v'])])],
  [
    '100 names of 100 KB',
    () =>
      model([
        ...list(100, (i) => node('Neg', [i ? `${text(1e5)}${i - 1}` : 'x'], [`${text(1e5)}${i}`])),
        node('Neg', [`${text(1e5)}99`], ['v']),
      ]),
  ],
  ['a symbol of 10 MB', () => model([node('Neg', ['x'], ['v'])], {}, { dims: [text(1e7), 4] })],
  [
    '10,000 imports',
    () =>
      modelProto({
        graph: graphProto({ node: node('Neg', ['x'], ['y']), input: info('x', 1, [4]), output: info('y', 1, [4]) }),
        opsetImport: [opsetId(17), ...list(10_000, (i) => opsetId(1, `d${i}`))],
      }),
  ],
];
