/**
 * Operators of opsets that ONNX's own cases here (opset 17 and older) do not have, and old forms of others, compute
 * what they do in onnxruntime-web.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { InferenceSession, Tensor } from '../../../js/index.js';
import {
  attribute,
  graphProto,
  info,
  modelProto,
  nodeProto,
  opsetId,
  tensor,
  TYPES,
  valueInfoProto,
} from '../../support/onnx-file.js';
import { ALONE } from '../../support/engines.js';
import { batchBits, batchUnit } from '../../support/recipe.js';
import { loadOrtTraining } from '../../support/ort.js';

const ort = loadOrtTraining();

const product = (dims) => dims.reduce((a, b) => a * b, 1);
/** Numbers from low to high. */
const floats = (dims, low = -1, high = 1, seed = 1) => ({
  type: 'float32',
  dims,
  data: Float32Array.from({ length: product(dims) }, (_, i) => low + (high - low) * batchUnit(seed + product(dims), i)),
});
const listed = (dims, ...data) => ({ type: 'float32', dims, data: Float32Array.from(data) });
const ints = (...data) => ({
  type: 'int64',
  dims: [data.length],
  data: BigInt64Array.from(data, BigInt),
  constant: true,
});
const number = (n) => ({ ...ints(n), dims: [] });
const few = (dims) => ({
  type: 'float32',
  dims,
  data: Float32Array.from({ length: product(dims) }, (_, i) => batchBits(9, i) % 3),
});

const ROIS = listed([4, 4], 1, 0.5, 6, 5.5, -3, -2, 3, 7, 4, 4, 12, 11, 2, 2, 2.2, 2.1);
const BOXES = listed([4, 5], 0, 1, 1, 6, 6, 1, -3, -2, 3, 7, 1, 4, 4, 12, 11, 0, 2, 2, 3, 3);
/** Per operator: opset, inputs, attributes and number of outputs. */
const CASES = {
  GridSample: ['linear', 'nearest', 'cubic'].flatMap((mode) =>
    ['zeros', 'border', 'reflection'].flatMap((padding_mode) =>
      [0, 1].flatMap((align_corners) => [
        [20, [floats([2, 3, 5, 7]), floats([2, 4, 6, 2], -2.5, 2.5)], { mode, padding_mode, align_corners }],
        ...(mode === 'cubic'
          ? []
          : [[20, [floats([2, 2, 4, 5, 6]), floats([2, 3, 4, 3, 3], -2, 2)], { mode, padding_mode, align_corners }]]),
      ]),
    ),
  ),
  RoiAlign: ['avg', 'max'].flatMap((mode) =>
    [0, 2].flatMap((sampling_ratio) =>
      ['half_pixel', 'output_half_pixel'].map((coordinate_transformation_mode) => [
        16,
        [floats([2, 3, 8, 9]), ROIS, ints(0, 1, 1, 0)],
        { mode, sampling_ratio, coordinate_transformation_mode, output_height: 3, output_width: 2 },
      ]),
    ),
  ),
  MaxRoiPool: [
    [7, [floats([2, 3, 8, 9]), BOXES], { pooled_shape: [3, 2] }],
    [7, [floats([2, 3, 8, 9]), BOXES], { pooled_shape: [2, 2], spatial_scale: { float: 0.5 } }],
  ],
  DFT: [
    [20, [floats([2, 16, 3, 1])], {}],
    [20, [floats([2, 3, 8, 2])], { inverse: 1 }],
    [20, [floats([2, 15, 1])], { onesided: 1 }],
    [20, [floats([2, 9, 3, 2]), number(12), number(1)], {}],
    [20, [floats([2, 9, 3, 1]), number(6), number(-3)], { onesided: 1 }],
  ],
  STFT: [[17, [floats([2, 64, 1]), number(8), floats([16])], {}]],
  Det: [[11, [floats([3, 5, 5])], {}]],
  'com.microsoft.Inverse': [[1, [floats([3, 5, 5])], {}]],
  Col2Im: [
    [18, [floats([2, 12, 25]), ints(6, 6), ints(2, 2)], {}],
    [18, [floats([1, 18, 12]), ints(6, 8), ints(3, 3)], { strides: [2, 2], pads: [1, 1, 1, 1] }],
  ],
  CenterCropPad: [
    [5, 4, 3],
    [2, 9, 3],
    [8, 1, 4],
  ]
    .map((to) => [18, [floats([6, 5, 3]), ints(...to)], {}])
    .concat([[18, [floats([6, 5, 3]), ints(9, 2)], { axes: [2, 0] }]]),
  AffineGrid: [0, 1].flatMap((align_corners) => [
    [20, [floats([2, 2, 3]), ints(2, 3, 5, 4)], { align_corners }],
    [20, [floats([2, 3, 4]), ints(2, 3, 3, 5, 4)], { align_corners }],
  ]),
  MelWeightMatrix: [
    [17, [number(20), number(256), number(16000), listed([], 0), listed([], 8000)], {}],
    [17, [number(8), number(401), number(22050), listed([], 125.5), listed([], 7600)], {}],
  ],
  NonMaxSuppression: [0, 1].map((center_point_box) => [
    11,
    [floats([2, 40, 4], 0), floats([2, 3, 40], 0), ints(9), listed([1], 0.4), listed([1], 0.3)],
    { center_point_box },
  ]),
  Unique: [0, 1].flatMap((sorted) => [
    [11, [few([4, 3, 2])], { sorted }, 4],
    ...[0, 1, 2].map((axis) => [11, [few([4, 3, 2])], { sorted, axis }, 4]),
  ]),
  MaxPool: [[12, [floats([2, 3, 6, 5])], { kernel_shape: [2, 3], strides: [2, 1], storage_order: 1 }, 2]],
  Resize: ['linear', 'cubic'].flatMap((mode) =>
    [0, 1].flatMap((exclude_outside) =>
      [
        [4, 5],
        [3, 11],
        [14, 3],
      ].flatMap((size) =>
        ['half_pixel', 'align_corners'].map((place) => [
          18,
          [floats([1, 2, 9, 8]), null, null, ints(1, 2, ...size)],
          { mode, antialias: 1, exclude_outside, coordinate_transformation_mode: place },
        ]),
      ),
    ),
  ),
  DequantizeLinear: [
    [
      21,
      [
        { type: 'uint8', dims: [2, 5], data: Uint8Array.from({ length: 10 }, (_, i) => 25 * i) },
        floats([2, 3], 0.01, 0.1),
      ],
      { block_size: 2 },
    ],
  ],
  QuantizeLinear: [
    [21, [floats([4, 5]), floats([2, 5], 0.01, 0.1)], { block_size: 2, axis: 0, output_dtype: 2 }],
    [21, [floats([4, 5]), floats([5], 0.01, 0.1)], { output_dtype: 3 }],
  ],
};

/** The operator alone in a model; feeds: the inputs that are no constants. */
function modelOf(name, [opset, inputs, attributes, outputs = 1]) {
  const [domain, op] = [name.slice(0, Math.max(0, name.lastIndexOf('.'))), name.slice(name.lastIndexOf('.') + 1)];
  const names = inputs.map((input, i) => (input ? `in${i}` : ''));
  const given = inputs.flatMap((input, i) => (input ? [[names[i], input]] : []));
  const graph = graphProto({
    node: nodeProto({
      input: names,
      output: Array.from({ length: outputs }, (_, i) => `out${i}`),
      opType: op,
      domain,
      attribute: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
    }),
    name: 'one',
    initializer: given.filter(([, input]) => input.constant).map(([name, input]) => tensor(name, input)),
    input: given
      .filter(([, input]) => !input.constant)
      .map(([name, input]) => info(name, { ...TYPES, uint8: 2 }[input.type], input.dims)),
    output: Array.from({ length: outputs }, (_, i) => valueInfoProto({ name: `out${i}` })),
  });
  return {
    model: modelProto({ graph, opsetImport: opsetId(opset, domain) }),
    feeds: given.filter(([, input]) => !input.constant),
  };
}

async function run(Session, T, { model, feeds }, options) {
  const session = await Session.create(model, options);
  const results = await session.run(
    Object.fromEntries(feeds.map(([name, { type, data, dims }]) => [name, new T(type, data, dims)])),
  );
  await session.release();
  return results;
}

function assertAgree(got, want, what) {
  for (const name of Object.keys(want)) {
    assert.deepEqual(
      [got[name].type, [...got[name].dims]],
      [want[name].type, [...want[name].dims]],
      `${what}: type and shape of ${name}`,
    );
    want[name].data.forEach((value, i) => {
      const [a, b] = [Number(got[name].data[i]), Number(value)];
      assert.ok(
        Math.abs(a - b) <= 2e-5 * Math.max(1, Math.abs(b)),
        `${what}: element ${i} of ${name} is ${a}, wanted ${b}`,
      );
    });
  }
}

for (const [op, cases] of Object.entries(CASES)) {
  test(`${op}: ${cases.length} cases are as in onnxruntime-web`, async () => {
    for (const one of cases) {
      const made = modelOf(op, one);
      assertAgree(
        await run(InferenceSession, Tensor, made, ALONE),
        await run(ort.InferenceSession, ort.Tensor, made),
        JSON.stringify(one[2]),
      );
    }
  });
}

/** Nodes of opset 1, and their equals today. */
const FIRST = {
  Cast: [
    [1, [floats([2, 3], -9, 9)], { to: 'INT64' }],
    [13, [floats([2, 3], -9, 9)], { to: 7 }],
  ],
  Clip: [
    [1, [floats([7])], { max: { float: 0.25 }, consumed_inputs: [0] }],
    [13, [floats([7]), null, { ...listed([], 0.25), constant: true }], {}],
  ],
  GlobalLpPool: [
    [1, [floats([1, 2, 3, 4])], { p: { float: 3 } }],
    [2, [floats([1, 2, 3, 4])], { p: 3 }],
  ],
  Pad: [
    [1, [floats([2, 3])], { paddings: [1, 0, 0, 2], value: { float: -0.5 } }],
    [13, [floats([2, 3]), ints(1, 0, 0, 2), listed([], -0.5)], {}],
  ],
  Tile: [
    [1, [floats([2, 3]), { ...listed([], 3), constant: true }, { ...listed([], 1), constant: true }], {}],
    [13, [floats([2, 3]), ints(1, 3)], {}],
  ],
  Upsample: [
    [1, [floats([1, 2, 3, 2])], { mode: 'bilinear', height_scale: { float: 2 }, width_scale: { float: 3 } }],
    [9, [floats([1, 2, 3, 2]), { ...listed([4], 1, 1, 2, 3), constant: true }], { mode: 'linear' }],
  ],
};

for (const [op, [old, today]] of Object.entries(FIRST)) {
  test(`${op} of opset 1 is what it is today`, async () => {
    const [got, want] = [
      await run(InferenceSession, Tensor, modelOf(op, old), ALONE),
      await run(InferenceSession, Tensor, modelOf(op, today), ALONE),
    ];
    assert.deepEqual([got.out0.type, got.out0.dims, got.out0.data], [want.out0.type, want.out0.dims, want.out0.data]);
    assertAgree(want, await run(ort.InferenceSession, ort.Tensor, modelOf(op, today)), op);
  });
}

test('NonMaxSuppression of boxes that change has as many rows as it keeps', async () => {
  const boxes = (...rows) => new Tensor('float32', Float32Array.from(rows.flat()), [1, 3, 4]);
  const scores = { type: 'float32', dims: [1, 1, 3], data: Float32Array.of(0.5, 0.9, 0.7) };
  const { model } = modelOf('NonMaxSuppression', [11, [listed([1, 3, 4]), scores, ints(3), listed([1], 0.5)], {}]);
  const session = await InferenceSession.create(model, ALONE);
  const kept = async (...rows) =>
    (
      await session.run({
        in0: boxes(...rows),
        in1: new Tensor('float32', scores.data, [1, 1, 3]),
        in3: new Tensor('float32', [0.5], [1]),
      })
    ).out0;
  const apart = await kept([0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]);
  assert.deepEqual(
    [apart.dims, [...apart.data]],
    [
      [3, 3],
      [0n, 0n, 1n, 0n, 0n, 2n, 0n, 0n, 0n],
    ],
  );
  const together = await kept([0, 0, 1, 1], [0, 0, 1, 1], [4, 4, 5, 5]);
  assert.deepEqual(
    [together.dims, [...together.data]],
    [
      [2, 3],
      [0n, 0n, 1n, 0n, 0n, 2n],
    ],
  );
  await session.release();
});

test('Multinomial draws each class as often as its probability says, the same with the same seed', async () => {
  const shares = [0.1, 0.6, 0.3],
    count = 20000;
  const draw = async (seed) => {
    const made = modelOf('Multinomial', [
      7,
      [listed([1, 3], ...shares.map(Math.log))],
      { sample_size: count, seed: { float: seed } },
    ]);
    return (await run(InferenceSession, Tensor, made, ALONE)).out0;
  };
  const drawn = await draw(3);
  assert.deepEqual([drawn.type, drawn.dims], ['int32', [1, count]]);
  shares.forEach((share, k) => {
    const times = drawn.data.filter((v) => v === k).length;
    assert.ok(
      Math.abs(times - share * count) < 5 * Math.sqrt(share * (1 - share) * count),
      `class ${k} was drawn ${times} times of ${count}`,
    );
  });
  assert.deepEqual((await draw(3)).data, drawn.data);
  assert.notDeepEqual((await draw(4)).data, drawn.data);
});
