// Makes the small models that bombs are: nodes between an input x, a weight w and an output y.

import {
  attribute,
  attributeProto,
  functionProto,
  graphProto,
  info,
  message,
  modelProto,
  node,
  nodeProto,
  opsetId,
  tensor,
} from './onnx-file.js';

export const MOST = 2n ** 63n - 1n;
export const LEAST = -(2n ** 63n);
export const INT = 2n ** 31n;
export const text = (count) => 'n'.repeat(count);
export const list = (count, make) => Array.from({ length: count }, (_, i) => make(i));
export const int64 = (...numbers) => ({
  type: 'int64',
  dims: [numbers.length],
  data: BigInt64Array.from(numbers.map(BigInt)),
});
export const scalar = (number) => ({ type: 'int64', dims: [], data: BigInt64Array.of(BigInt(number)) });
export const floats = (dims, ...numbers) => ({
  type: 'float32',
  dims,
  data: Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, i) => numbers[i % numbers.length]),
});
export const bool = (truth) => ({ type: 'bool', dims: [], data: Uint8Array.of(truth) });
export const float = (number) => attribute('value', floats([1], number));
export const number = (name, value) => attribute(name, { float: value });
export const graph = (name, body) => attributeProto({ name, g: body, type: 5 });

/**
 * A model whose nodes make 'v' of x, a float [dims] that is fed, and of constants by name. What it gives is w · the sum
 * of v, so that w may be trained; or y, which the nodes make, where `output` says what that is.
 */
export function model(
  nodes,
  constants = {},
  { dims = [1, 4], opset = 17, functions = [], parts = [], type, output } = {},
) {
  const cast = type ? [node('Cast', ['v'], ['floats'], attribute('to', 1))] : [];
  const sum = [
    ...cast,
    node('ReduceSum', [type ? 'floats' : 'v'], ['sum'], attribute('keepdims', 0)),
    node('Mul', ['sum', 'w'], ['y']),
  ];
  return modelProto({
    graph: message(
      ...[...nodes, ...(output ? [] : sum)].map((n) => [1, n]),
      ...Object.entries({ ...constants, w: floats([], 0.5) }).map(([name, value]) => [5, tensor(name, value)]),
      [11, info('x', 1, dims)],
      [12, output ?? info('y', 1, [])],
      ...parts,
    ),
    opsetImport: [opsetId(opset), opsetId(1, 'my'), opsetId(1, 'com.microsoft'), opsetId(3, 'ai.onnx.ml')],
    functions,
  });
}

/** One node that reads `inputs` and makes v. */
export const one =
  (op, inputs, constants = {}, attributes = [], options = {}) =>
  () =>
    model([node(op, inputs, ['v'], ...attributes)], constants, options);
export const chain = (count, op, inputs, ...attributes) =>
  list(count, (i) =>
    node(op, inputs(i ? (i === count ? 'v' : `c${i - 1}`) : 'x'), [i === count - 1 ? 'v' : `c${i}`], ...attributes),
  );
const nodeIn =
  (domain) =>
  (op, inputs, outputs, ...attributes) =>
    nodeProto({ input: inputs, output: outputs, opType: op, attribute: attributes, domain });
export const microsoft = nodeIn('com.microsoft');
export const learned = nodeIn('ai.onnx.ml');

/* A body that adds to what it is given. */
export const addBody = (more = [], other = 'a') =>
  graphProto({
    node: [...more, node('Identity', ['go'], ['on']), node('Add', ['a', other], ['b'])],
    name: 'body',
    input: [info('i', 7, []), info('go', 9, []), info('a', 1, [1, 4])],
    output: [info('on', 9, []), info('b', 1, [1, 4])],
  });
export const loop = (trips) => () =>
  model([node('Loop', ['n', 'go', 'x'], ['v'], graph('body', addBody()))], { n: scalar(trips), go: bool(1) });

/* If in If in If. */
export function nested(depth) {
  let branch = graphProto({ node: node('Neg', ['x'], ['leaf']), name: 'b', output: info('leaf', 1, [1, 4]) });
  for (let i = 0; i < depth; i++) {
    const inner = node(
      'If',
      ['c'],
      [`if${i}`],
      graph('then_branch', branch),
      graph(
        'else_branch',
        graphProto({ node: node('Abs', ['x'], [`e${i}`]), name: 'b', output: info(`e${i}`, 1, [1, 4]) }),
      ),
    );
    branch = graphProto({ node: inner, name: 'b', output: info(`if${i}`, 1, [1, 4]) });
  }
  return model(
    [
      node(
        'If',
        ['c'],
        ['v'],
        graph('then_branch', branch),
        graph('else_branch', graphProto({ node: node('Abs', ['x'], ['e']), name: 'b', output: info('e', 1, [1, 4]) })),
      ),
    ],
    { c: bool(1) },
  );
}

/* Functions that call the one before them `times` times. */
export const call = (name, from, to) =>
  nodeProto({ input: from, output: to, name: `${name}${to}`, opType: name, domain: 'my' });
export const fn = (name, nodes) =>
  functionProto({
    name,
    input: 'a',
    output: 'b',
    node: nodes,
    opsetImport: [opsetId(17), opsetId(1, 'my')],
    domain: 'my',
  });
const functions = (levels, times, leaf = [node('Neg', ['a'], ['b'])]) => [
  fn('F0', leaf),
  ...list(levels, (i) =>
    fn(
      `F${i + 1}`,
      list(times, (k) => call(`F${i}`, k ? `t${k - 1}` : 'a', k === times - 1 ? 'b' : `t${k}`)),
    ),
  ),
];
export const calls = (levels, times, leaf) => () =>
  model([call(`F${levels}`, 'x', 'v')], {}, { functions: functions(levels, times, leaf) });

export const rois = floats([1, 4], 0, 0, 9, 9);
export const roi = (picture, box, ...attributes) =>
  one('RoiAlign', ['p', 'rois', 'index'], { p: floats(picture, 0.5), rois: box, index: int64(0) }, attributes);
export const pool =
  (op, ...attributes) =>
  () =>
    model(
      [node('Expand', ['x', 'size'], ['p']), node(op, ['p'], ['v'], ...attributes)],
      { size: int64(1, 1, 64, 64) },
      { dims: [1, 1, 1, 1] },
    );
export const big = (op, name, ...sizes) =>
  sizes.map((size) => [`${op} to ${size.join(' × ')}`, one(op, ['x', name], { [name]: int64(...size) })]);
export const SIZES = [
  [2 ** 20, 4],
  [2 ** 28, 4],
  [INT, 4],
  [2n ** 40n, 4],
  [MOST, 4],
  [LEAST, 4],
  [65536, 65536, 1, 4],
  [2 ** 16, 2 ** 16, 2 ** 16, 1, 4],
];
export const image = { p: floats([1, 1, 4, 4], 1) };
export const resize = (size, ...attributes) =>
  one('Resize', ['p', '', '', 'size'], { ...image, size: int64(...size) }, attributes);
export const range = (...numbers) =>
  one('Range', ['from', 'to', 'by'], { from: scalar(numbers[0]), to: scalar(numbers[1]), by: scalar(numbers[2]) }, [], {
    type: 7,
  });
export const window = (op, size) => one(op, ['n'], { n: scalar(size) });
export const dft = (size, ...attributes) =>
  one('DFT', ['p', 'n'], { p: floats([1, 8, 2], 1), n: scalar(size) }, [attribute('axis', 1), ...attributes]);
export const conv = (op, weights, ...attributes) =>
  one(op, ['p', 'k'], { p: floats([1, 1, 16, 16], 1), k: floats(weights, 0.1) }, attributes);
