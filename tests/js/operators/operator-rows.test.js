/**
 * The benchmark of operators, and the fast ways that it measures: each row gives what onnxruntime-web gives, and so do
 * lengths that are no multiple of four, NaN, ties and infinity; powers, sines and cosines are as exact as they say.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import * as ours from '../../../js/index.js';
import { comparedGradients } from '../../bench/gradient_measure.js';
import { differentiable, gradientRows, WITHOUT_GRADIENT_ROWS, WITHOUT_GRADIENTS } from '../../bench/gradient_rows.js';
import { compared, disagrees, librariesOf } from '../../bench/operator_measure.js';
import { ROWS, WITHOUT_ROWS } from '../../bench/operator_rows.js';
import { pageWith } from '../../bench/operator_table.js';
import { batchBits, batchUnit } from '../../support/recipe.js';
import { loadOrtTraining } from '../../support/ort.js';

const ort = loadOrtTraining();
const libraries = librariesOf(ours, ort);

/** Operators that onnxruntime-web 1.19, used here, lacks: the benchmark compares with 1.30. */
const NEWER = [
  'BitCast',
  'CumProd',
  'TensorScatter',
  'DeformConv 3×3',
  'ConvInteger',
  'com.microsoft.MatMulNBits, 8 bits, 1 row',
  'RMSNormalization',
  'Attention',
  'Attention, causal',
  'RotaryEmbedding',
  'ai.onnx.ml.TreeEnsemble',
];

test('pools of rows wider than what is summed at a time give what onnxruntime-web gives', async () => {
  const wide = [
    [[1, 2, 2, 3000], { kernel_shape: [2, 2500] }],
    [[1, 2, 3, 5000], { kernel_shape: [3, 3], pads: [1, 1, 1, 1] }],
    [[1, 1, 3, 7001], { kernel_shape: [2, 4], strides: [1, 3], pads: [0, 2, 1, 3], count_include_pad: 1 }],
    [[2, 2, 5, 4100], { kernel_shape: [3, 7], strides: [2, 2], pads: [1, 3, 1, 3] }],
    [[1, 1, 6, 4500], { kernel_shape: [2, 3], dilations: [2, 5] }],
    [[1, 2, 9000], { kernel_shape: [5], strides: [2], pads: [2, 2] }],
  ];
  for (const [dims, attributes] of wide) {
    const count = dims.reduce((a, b) => a * b);
    const data = Float32Array.from({ length: count }, (_, i) => batchUnit(3, i) * 4 - 2);
    const row = ['AveragePool', [{ type: 'float32', dims, data }], attributes, { opset: 19 }];
    const { difference } = await compared(libraries, row);
    assert.ok(difference <= 1e-6, `${dims}, ${JSON.stringify(attributes)}: ${difference}`);
  }
});

test('every row of the benchmark of operators gives what onnxruntime-web gives', async () => {
  const refused = [];
  for (const [name, row] of Object.entries(ROWS)) {
    const { bytes, ...result } = await compared(libraries, row(2 ** 13)).catch((error) => {
      if (error instanceof ours.TrainletError) throw error;
      refused.push(name);
      return { bytes: 1, difference: 0 };
    });
    assert.ok(bytes > 0 && !disagrees(result), `${name} differs by ${result.difference}`);
  }
  assert.deepEqual(refused, NEWER);
});

/** The operators of docs/measured/operators.md, which another test holds equal to the engine's table. */
function operatorsOfPage() {
  const page = readFileSync(new URL('../../../docs/measured/operators.md', import.meta.url), 'utf8');
  return page
    .split('\n## ')
    .slice(1)
    .flatMap((section) => {
      const domain = section.startsWith('ai.onnx\n') ? '' : `${section.split('\n')[0]}.`;
      return [...section.matchAll(/^\| (\w+) \| [\d ,]*\|/gm)].map(([, name]) => domain + name);
    });
}

test('every operator that computes has a row in the benchmark, and a row is of an operator', () => {
  const measured = new Set(Object.values(ROWS).map((row) => row(2 ** 13)[0]));
  const operators = operatorsOfPage();
  assert.ok(operators.length > 250);
  const excused = Object.values(WITHOUT_ROWS).flat();
  assert.deepEqual(
    operators.filter((operator) => !measured.has(operator)),
    operators.filter((operator) => excused.includes(operator)),
    'an operator has neither a row in tests/bench/operator_rows nor a reason in WITHOUT_ROWS',
  );
  assert.deepEqual(
    [...measured, ...excused].filter((operator) => !operators.includes(operator)),
    [],
  );
});

test('the backward pass of every row gives what onnxruntime-web gives, where it has the operators', async () => {
  let beside = 0;
  for (const name of gradientRows()) {
    const result = await comparedGradients(libraries, ROWS[name](2 ** 13));
    assert.ok(!disagrees(result), `${name} differs by ${result.difference}`);
    if (result.ort) beside++;
  }
  assert.ok(beside > 250, `onnxruntime-web has run ${beside}`);
});

test('every operator with a gradient has a row whose backward pass is measured, or a reason', () => {
  const measured = new Set(gradientRows().map((name) => ROWS[name](2 ** 13)[0]));
  const operators = differentiable();
  assert.ok(operators.length > 150);
  const excused = Object.values(WITHOUT_GRADIENT_ROWS).flat();
  assert.deepEqual(
    operators.filter((operator) => !measured.has(operator)),
    operators.filter((operator) => excused.includes(operator)),
    'an operator has neither a row with a gradient nor a reason in WITHOUT_GRADIENT_ROWS',
  );
  const names = Object.values(WITHOUT_GRADIENTS).flat();
  assert.deepEqual(
    [...names.filter((name) => !ROWS[name]), ...excused.filter((operator) => !operators.includes(operator))],
    [],
  );
});

test('the page of figures takes over what is measured again, and lets go of rows that are no more', () => {
  const figures = (name, ours) =>
    ['first cache', 'second cache', 'memory'].map((place, i) => ({
      name,
      place,
      ours: ours * 10 ** i,
      ort: 0.02 * 10 ** i,
      ratio: 0.02 / ours,
      limit: i ? 'copy' : 'multiply-add',
      ofLimit: 0.5,
    }));
  const section = { title: 'In Node', about: 'Node.', names: ['A', 'B, C'], file: 'speed-node' };
  const first = pageWith('# Page\n', { ...section, figures: [...figures('A', 0.04), ...figures('B, C', 0.01)] });
  assert.match(
    first.page,
    /^# Page\n\n## In Node\n\nNode\.\n\n2 of 2 rows are measured; of 6 figures beside a peer, 3 are below 0\.83\. All/,
  );
  assert.ok(first.page.includes('\n\n![Ratios of all rows, sorted](speed-node.svg)\n\n'));
  assert.match(
    first.page,
    /ratio \|\n\|[-|:]+\|\n\| A \| first cache \| 40 \| a peer \| 0\.50 \|\n/,
    'the lowest first',
  );
  assert.match(first.csv, /^row,first cache: µs,[^\n]*\nA,40,0\.50,50 m,400,0\.50,50 c,4000,0\.50,50 c\n"B, C",10,/);
  assert.equal(first.svg.match(/<polyline/g).length, 3, 'a curve for each size');
  const alone = figures('B, C', 0.01).map((figure) => ({ ...figure, ort: undefined, ratio: Number.NaN }));
  const other = pageWith(first.page, { ...section, title: 'In Chromium', file: 'speed-chromium', figures: alone });
  assert.match(other.csv, /^row,[^\n]*\n"B, C",10,–,/);
  const again = pageWith(other.page, {
    ...section,
    names: ['B, C', 'D'],
    figures: figures('D', 0.02).slice(0, 2), // no whole row
    csv: first.csv,
  });
  assert.ok(again.page.includes('\n1 of 2 rows are measured; of 3 figures beside a peer, 0 are below 0.83.'));
  assert.equal(again.csv, first.csv.replace(/^A,.*\n/m, ''), 'what is not measured again stays');
  assert.ok(again.page.indexOf('## In Chromium') < again.page.indexOf('## In Node'));
});

const elements = (dims) => dims.reduce((a, b) => a * b, 1);
const floats = (dims, low = -1, high = 1) => ({
  type: 'float32',
  dims,
  data: Float32Array.from({ length: elements(dims) }, (_, i) => low + (high - low) * batchUnit(5, i)),
});
const listed = (dims, ...data) => ({ type: 'float32', dims, data: Float32Array.from(data) });
const ints = (...list) => ({
  type: 'int64',
  dims: [list.length],
  data: BigInt64Array.from(list, BigInt),
  constant: true,
});
const few = (dims, end, from = 0, type = 'int64') => {
  const numbers = Array.from({ length: elements(dims) }, (_, i) => from + (batchBits(11, i) % end));
  return { type, dims, data: type === 'int64' ? BigInt64Array.from(numbers, BigInt) : Int32Array.from(numbers) };
};
const flags = (dims) => ({
  type: 'bool',
  dims,
  data: Uint8Array.from({ length: elements(dims) }, (_, i) => batchBits(3, i) & 1),
});
/** Few different numbers, so that there are ties. */
const tied = (dims) => ({
  type: 'float32',
  dims,
  data: Float32Array.from({ length: elements(dims) }, (_, i) => (batchBits(13, i) % 7) - 3),
});
const pool = (kernel, stride, pad, dilation = 1) => ({
  kernel_shape: [kernel, kernel],
  strides: [stride, stride],
  pads: [pad, pad, pad, pad],
  dilations: [dilation, dilation],
});

const CASES = {
  'rows of 1 to 9': [1, 2, 3, 4, 5, 7, 9].flatMap((width) => [
    ['Add', [floats([3, width]), floats([width])], {}],
    ['Mul', [floats([1, width]), floats([3, 1])], {}],
    ['Abs', [floats([width])], {}],
    ['Where', [flags([3, width]), floats([3, width]), floats([width])], {}, { opset: 16 }],
    ['Where', [flags([3, 1]), floats([width]), floats([1])], {}, { opset: 16 }],
    ['Pow', [floats([3, width], 0.1, 3), floats([width], -2, 2)], {}],
    ['Cos', [floats([width], -1e4, 1e4)], {}],
  ]),
  reductions: [
    'ReduceMax',
    'ReduceMin',
    'ReduceProd',
    'ReduceL2',
    'ReduceLogSumExp',
    'ReduceSum',
    'ReduceMean',
  ].flatMap((op) =>
    [[0], [1], [2], [3], [0, 1], [1, 2], [2, 3], [0, 3], [0, 2], [0, 1, 2, 3]].map((axes) => [
      op,
      [floats([3, 5, 1, 37]), ints(...axes)],
      { keepdims: 1 },
    ]),
  ),
  'columns of many rows': [1, 3, 4, 70, 600].map((width) => ['ReduceSum', [floats([133, width]), ints(0)], {}]),
  ArgMax: [0, 1, 2].flatMap((axis) =>
    [0, 1].map((select_last_index) => ['ArgMax', [tied([5, 37, 6])], { axis, select_last_index }]),
  ),
  TopK: [0, 1].flatMap((largest) =>
    [0, 1].flatMap((axis) =>
      [1, 4, 19].map((k) => ['TopK', [tied([19, 23]), ints(k)], { axis, largest }, { outputs: 2 }]),
    ),
  ),
  pools: ['MaxPool', 'AveragePool'].flatMap((op) =>
    [
      [3, 1, 1],
      [3, 2, 1],
      [3, 2, 0],
      [2, 3, 0],
      [5, 1, 2],
      [3, 1, 1, ...(op === 'MaxPool' ? [2] : [])],
    ].flatMap((window) =>
      [5, 8, 13, 30].map((width) => {
        const { dilations, ...attributes } = pool(...window);
        return [op, [floats([2, 3, 9, width])], op === 'MaxPool' ? { ...attributes, dilations } : attributes];
      }),
    ),
  ),
  'means of planes': [1, 2, 5].flatMap((channels) =>
    [1, 7, 64].map((pixels) => ['GlobalAveragePool', [floats([1, channels, 1, pixels])], {}]),
  ),
  'elements by index': ['int64', 'int32'].flatMap((type) =>
    [0, 1, 2].map((axis) => ['GatherElements', [floats([4, 5, 6]), few([4, 5, 6], 8, -4, type)], { axis }]),
  ),
  'elements put by index': [0, 1].map((axis) => [
    'ScatterElements',
    [
      floats([5, 5]),
      { ...ints(...[0, 1, 2, 3, 4, 4, 3, 2, 1, 0]), dims: axis ? [2, 5] : [5, 2] },
      floats(axis ? [2, 5] : [5, 2]),
    ].map((input, i) => (i === 1 && !axis ? { ...ints(0, 1, 1, 2, 2, 3, 3, 4, -1, 0), dims: [5, 2] } : input)),
    { axis },
  ]),
  frames: ['reflect', 'edge', 'constant'].flatMap((mode) =>
    [3, 21, 300].map((width) => ['Pad', [floats([2, 4, width]), ints(0, 1, 2, 0, 3, 1)], { mode }]),
  ),
  pictures: ['nearest', 'linear'].flatMap((mode) =>
    [
      [8, 10],
      [4, 10],
      [12, 5],
      [3, 7],
    ].flatMap((size) =>
      ['asymmetric', 'half_pixel'].map((place) => [
        'Resize',
        [floats([2, 3, 4, 5]), null, null, ints(2, 3, ...size)],
        { mode, coordinate_transformation_mode: place, ...(mode === 'nearest' && { nearest_mode: 'floor' }) },
      ]),
    ),
  ),
  transpositions: [
    [2, 0, 1],
    [0, 2, 1],
    [1, 0, 2],
  ].map((perm) => ['Transpose', [floats([7, 18, 21])], { perm }]),
};

for (const [name, cases] of Object.entries(CASES))
  test(`${name}: as in onnxruntime-web`, async () => {
    for (const one of cases) {
      const { difference } = await compared(libraries, one);
      const [op, [{ dims }], attributes] = one;
      assert.ok(difference <= 2e-5, `${op} of ${dims} with ${JSON.stringify(attributes)} differs by ${difference}`);
    }
  });

/** The first output of one operator of ours. */
async function computed(op, inputs, attributes = {}, more = {}) {
  return (await libraries.ours.outputs([op, inputs, attributes, more])).outputs.out0.data;
}

test('NaN is the largest of all for TopK, and wins in ReduceMax and MaxPool', async () => {
  const line = listed([1, 8], 1, -0, Number.NaN, 0, Number.POSITIVE_INFINITY, -3, Number.NEGATIVE_INFINITY, 1);
  const top = (await libraries.ours.outputs(['TopK', [line, ints(8)], {}, { outputs: 2 }])).outputs;
  assert.deepEqual([...top.out1.data].map(Number), [2, 4, 0, 7, 1, 3, 5, 6]);
  const least = (await libraries.ours.outputs(['TopK', [line, ints(8)], { largest: 0 }, { outputs: 2 }])).outputs;
  assert.deepEqual([...least.out1.data].map(Number), [6, 5, 1, 3, 0, 7, 4, 2]);
  for (const width of [3, 16, 37])
    for (const at of [0, 1, width - 1]) {
      const data = floats([1, width]);
      data.data[at] = Number.NaN;
      for (const op of ['ReduceMax', 'ReduceMin'])
        assert.ok(Number.isNaN((await computed(op, [data, ints(1)]))[0]), `${op} of ${width} with NaN at ${at}`);
      const plane = { ...data, dims: [1, 1, 1, width] };
      const pooled = await computed('MaxPool', [plane], { kernel_shape: [1, 3], strides: [1, 1], pads: [0, 1, 0, 1] });
      pooled.forEach((y, j) => assert.equal(Number.isNaN(y), Math.abs(j - at) <= 1, `window ${j} of ${width}`));
    }
});

/** A float's distance to the next one. */
const ulp = (y) => 2 ** Math.max(-149, Math.floor(Math.log2(Math.abs(y))) - 23);

test('a power is rounded once: within 0.51 of the last place of the exact one', async () => {
  const count = 20_000;
  const x = { type: 'float32', dims: [count], data: new Float32Array(count) };
  const e = { ...x, data: new Float32Array(count) };
  for (let i = 0; i < count; i++) {
    x.data[i] = 2 ** (40 * batchUnit(1, i) - 20);
    e.data[i] = 12 * batchUnit(2, i) - 6;
  }
  const y = await computed('Pow', [x, e]);
  const worst = y.reduce((far, value, i) => {
    const exact = x.data[i] ** e.data[i];
    return exact > 2 ** 126 || exact < 2 ** -126 ? far : Math.max(far, Math.abs(value - exact) / ulp(exact));
  }, 0);
  assert.ok(worst > 0.4 && worst <= 0.51, `the worst is ${worst}`);
});

test('a power by quarters, by square roots, is within 4.5 of the last place, and the same beside any', async () => {
  const count = 20_000;
  const x = { type: 'float32', dims: [count], data: new Float32Array(count) };
  for (let i = 0; i < count; i++) x.data[i] = 2 ** (60 * batchUnit(1, i) - 30);
  for (const quarters of [-7, -6, -5, -4, -3, -2, -1, 1, 3, 5, 6, 7]) {
    const e = listed([1], quarters / 4);
    const y = await computed('Pow', [x, e]);
    const worst = y.reduce(
      (far, value, i) =>
        Math.max(far, Math.abs(value - x.data[i] ** (quarters / 4)) / ulp(x.data[i] ** (quarters / 4))),
      0,
    );
    assert.ok(worst <= 4.5, `the worst of the power ${quarters / 4} is ${worst}`);
    const near = await computed('Pow', [listed([4], 3, 1e-20, -1, 7), e]);
    const [three, , , seven] = await computed('Pow', [listed([4], 3, 1, 2, 7), e]);
    assert.deepEqual([near[0], near[3]], [three, seven], `beside numbers far from 1, power ${quarters / 4}`);
  }
});

test('powers of numbers that are not positive are IEEE 754’s, alone and beside others', async () => {
  const bases = [-2, -0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1, -1, 2, 0.5, 1e-45, 3e38];
  const exponents = [3, -3, 2, 0.75, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  for (const e of exponents) {
    const y = await computed('Pow', [listed([bases.length], ...bases), listed([1], e)]);
    bases.forEach((base, i) => {
      const x = Math.fround(base);
      const want = x === 1 || (Math.abs(x) === 1 && !Number.isFinite(e) && !Number.isNaN(e)) ? 1 : Math.fround(x ** e);
      assert.ok(
        Object.is(y[i], want) || Math.abs(y[i] - want) <= ulp(want),
        `${x} to the power of ${e} is ${y[i]}, wanted ${want}`,
      );
    });
  }
});

test('sines and cosines are within 1e-7 of the exact ones, of angles up to 1e8', async () => {
  const count = 20_000;
  const x = floats([count]);
  for (let i = 0; i < count; i++) x.data[i] = (batchUnit(4, i) - 0.5) * 2 * 10 ** (9 * batchUnit(6, i) - 1);
  for (const [op, exact] of [
    ['Sin', Math.sin],
    ['Cos', Math.cos],
  ]) {
    const y = await computed(op, [x]);
    const worst = y.reduce((far, value, i) => Math.max(far, Math.abs(value - exact(x.data[i]))), 0);
    assert.ok(worst > 1e-8 && worst <= 1e-7, `${op} is up to ${worst} off`);
    const ends = await computed(op, [listed([4], Number.POSITIVE_INFINITY, Number.NaN, 3e9, -1e30)]);
    assert.ok(
      Number.isNaN(ends[0]) && Number.isNaN(ends[1]) && Math.abs(ends[2] - exact(3e9)) < 1e-5 && Math.abs(ends[3]) <= 1,
    );
  }
});
