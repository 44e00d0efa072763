/**
 * Sequences and optionals: fed as arrays and null, given back as they are, trained through, and refused in one sentence
 * where they do not fit.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateArtifacts, InferenceSession, Tensor, TrainingSession, TrainletError } from '../../../js/index.js';
import {
  attribute,
  graphProto,
  info,
  message,
  modelProto,
  node,
  opsetId,
  tensor,
  weight,
} from '../../support/onnx-file.js';
import { ALONE } from '../../support/engines.js';

const FLOAT = 1;
const INT = 7;

/** Types as ONNX's TypeProto. @param {number} elements @param {(number | string)[]} [dims] none: any shape */
const tensorType = (elements, dims) =>
  message([
    1,
    message(
      [1, elements],
      ...(dims
        ? [[2, message(...dims.map((d) => [1, typeof d === 'string' ? message([2, d]) : message([1, d])]))]]
        : []),
    ),
  ]);
const sequence = (/** @type {Uint8Array} */ type) => message([4, message([1, type])]);
const optional = (/** @type {Uint8Array} */ type) => message([9, message([1, type])]);
const value = (/** @type {string} */ name, /** @type {Uint8Array} */ type) => message([1, name], [2, type]);

/** @param {{ nodes: Uint8Array[], inputs: Uint8Array[], outputs: Uint8Array[], weights?: Uint8Array[] }} graph */
const model = ({ nodes, inputs, outputs, weights = [] }) =>
  modelProto({
    graph: graphProto({ node: nodes, name: 'g', initializer: weights, input: inputs, output: outputs }),
    opsetImport: opsetId(18),
  });

/** @param {number[][]} rows */
const matrix = (rows) => new Tensor('float32', rows.flat(), [rows.length, rows[0]?.length ?? 2]);
/** @param {Tensor | Tensor[] | null} given @returns {any} */
const plain = (given) =>
  Array.isArray(given) ? given.map(plain) : given && [[...given.dims], [...given.data].map(Number)];

/** @param {string} code @param {RegExp} words */
const is = (code, words) => (/** @type {unknown} */ error) => {
  assert.ok(error instanceof TrainletError, String(error));
  assert.match(error.message, words);
  assert.equal(error.code, code, error.message);
  assert.doesNotMatch(error.message, /\n|undefined|\[object/);
  return true;
};

const LIST = model({
  nodes: [
    node('SequenceAt', ['xs', 'at'], 'picked'),
    node('SequenceErase', ['xs', 'at'], 'rest'),
    node('SequenceLength', ['xs'], 'count'),
    node('SequenceInsert', ['rest', 'picked'], 'turned'),
    node('ConcatFromSequence', ['turned'], 'joined', attribute('axis', 0)),
  ],
  inputs: [value('xs', sequence(tensorType(FLOAT, ['N', 2]))), info('at', INT, [])],
  outputs: [value('turned', sequence(tensorType(FLOAT))), info('joined', FLOAT, ['M', 2]), info('count', INT, [])],
});
const [A, B, C] = [
  matrix([[1, 2]]),
  matrix([
    [3, 4],
    [5, 6],
  ]),
  matrix([
    [7, 8],
    [9, 10],
    [11, 12],
  ]),
];
const at = (/** @type {number} */ position) => new Tensor('int64', [position], []);

for (const worker of [false, true]) {
  test(`a sequence of any length is an array, fed and fetched, ${worker ? 'through a worker' : 'here'}`, async () => {
    const session = await InferenceSession.create(LIST, { worker, threads: 1 });
    assert.deepEqual(session.inputs[0], { name: 'xs', type: 'float32', dims: ['N', 2], sequence: true });
    assert.deepEqual(session.outputs, [
      { name: 'turned', type: 'float32', dims: [], sequence: true },
      { name: 'joined', type: 'float32', dims: ['M', 2] },
      { name: 'count', type: 'int64', dims: [] },
    ]);
    for (const [xs, position, order] of /** @type {[Tensor[], number, Tensor[]][]} */ ([
      [[A, B, C], 0, [B, C, A]],
      [[A, B, C], -2, [A, C, B]],
      [[C, A, B], 0, [A, B, C]],
      [[B], 0, [B]],
      [[A, B, C], 2, [A, B, C]],
    ])) {
      const { turned, joined, count } = await session.run({ xs, at: at(position) });
      assert.deepEqual(plain(/** @type {any} */ (turned)), order.map(plain));
      assert.deepEqual(plain(joined), [
        [order.reduce((sum, { dims }) => sum + dims[0], 0), 2],
        order.flatMap(({ data }) => [...data]),
      ]);
      assert.deepEqual(plain(count), [[], [xs.length]]);
    }
    const {
      all: {
        turned: [first],
        n,
      },
    } = await session.run({ xs: [A, B], at: at(0) }, { all: { turned: 'turned', n: 'count' } });
    assert.deepEqual([plain(first), plain(n)], [plain(B), [[], [2]]]);
    await session.release();
  });
}

test('what does not fit is refused by input or node, and the session goes on', async () => {
  const session = await InferenceSession.create(LIST, ALONE);
  const wrong = /** @type {[any, string, RegExp][]} */ ([
    [{ xs: A, at: at(0) }, 'invalid-feed', /input 'xs' is a sequence: it must be an array of tensors/],
    [{ xs: [A, 1], at: at(0) }, 'invalid-feed', /input 'xs', item 1 must be a tensor/],
    [
      { xs: [A, new Tensor('string', ['a', 'b'], [1, 2])], at: at(0) },
      'invalid-feed',
      /input 'xs', item 1 wants float32, string came/,
    ],
    [
      { xs: [A, new Tensor('int64', [1, 2], [1, 2])], at: at(0) },
      'invalid-feed',
      /input 'xs' wants float32, int64 came/,
    ],
    [{ xs: [A, matrix([[1, 2, 3]])], at: at(0) }, 'invalid-feed', /input 'xs' wants shape \(\?, 2\), \(1, 3\) came/],
    [
      { xs: [A, B], at: [at(0)] },
      'invalid-feed',
      /input 'at' must be a tensor, not an array: new Tensor\('\w+', elements, dims\)/,
    ],
    [{ at: at(0) }, 'invalid-feed', /input 'xs' \(a sequence of float32\) is missing/],
    [{ xs: null, at: at(0) }, 'invalid-feed', /input 'xs' \(a sequence of float32\) is missing/],
    [
      { xs: [A, B], at: at(2) },
      'invalid-model',
      /SequenceAt 'SequenceAtpicked': position 2 is outside of a sequence of 2/,
    ],
    [{ xs: [A, B], at: at(-3) }, 'invalid-model', /position -3 is outside of a sequence of 2/],
    [{ xs: [], at: at(0) }, 'invalid-model', /Sequence\w+ '\w+': position 0 is outside of a sequence of 0/],
    [
      { xs: Array(5000).fill(A), at: at(0) },
      'invalid-feed',
      /input 'xs': a sequence of 5000 tensors came, we take up to 4096/,
    ],
    [
      { 'xs.0': A, at: at(0) },
      'invalid-feed',
      /there is no input 'xs\.0'; wanted are 'xs' \(sequence of float32 \[N, 2\]\), 'at' \(int64 \[\]\)/,
    ],
  ]);
  for (const [feeds, code, words] of wrong) {
    await assert.rejects(session.run(feeds), is(code, words));
    assert.deepEqual(plain((await session.run({ xs: [A, B], at: at(1) })).joined), [
      [3, 2],
      [1, 2, 3, 4, 5, 6],
    ]);
  }
  const own = new Tensor('float32', new Float32Array(2), [1, 2]);
  await assert.rejects(
    session.run({ xs: [A], at: at(0) }, { turned: own }),
    is('invalid-argument', /output 'turned' is a sequence; a tensor was given for it/),
  );
  await session.release();
});

test('an optional is there or null, and comes back so', async () => {
  const session = await InferenceSession.create(
    model({
      nodes: [
        node('OptionalHasElement', ['x'], 'has'),
        node('Identity', ['x'], 'same'),
        node('Identity', ['list'], 'all'),
      ],
      inputs: [value('x', optional(tensorType(FLOAT, ['N', 2]))), value('list', optional(sequence(tensorType(FLOAT))))],
      outputs: [
        info('has', 9, []),
        value('same', optional(tensorType(FLOAT))),
        value('all', optional(sequence(tensorType(FLOAT)))),
      ],
    }),
    ALONE,
  );
  assert.deepEqual(session.inputs, [
    { name: 'x', type: 'float32', dims: ['N', 2], optional: true },
    { name: 'list', type: 'float32', dims: [], sequence: true, optional: true },
  ]);
  const cases = /** @type {[any, number, any, any][]} */ ([
    [{ x: B, list: [A, new Tensor('float32', [1], [])] }, 1, B, [A, new Tensor('float32', [1], [])]],
    [{ x: null, list: [] }, 0, null, []],
    [{}, 0, null, null],
    [{ x: undefined, list: undefined }, 0, null, null],
    [{ x: A, list: null }, 1, A, null],
  ]);
  for (const [feeds, has, x, list] of cases) {
    const outputs = /** @type {any} */ (await session.run(feeds));
    assert.deepEqual([[...outputs.has.data], plain(outputs.same), plain(outputs.all)], [[has], plain(x), plain(list)]);
  }
  const element = await InferenceSession.create(
    model({
      nodes: [node('OptionalGetElement', ['x'], 'y')],
      inputs: [value('x', optional(tensorType(FLOAT, ['N', 2])))],
      outputs: [info('y', FLOAT, ['N', 2])],
    }),
    ALONE,
  );
  assert.deepEqual(plain((await element.run({ x: C })).y), plain(C));
  await assert.rejects(
    element.run({}),
    is('invalid-model', /OptionalGetElement 'OptionalGetElementy': the optional has no element/),
  );
  await Promise.all([session, element].map((s) => s.release()));
});

test('a sequence goes to no operator on tensors, nor a tensor to one on sequences', async () => {
  const inputs = [value('xs', sequence(tensorType(FLOAT))), info('x', FLOAT, [2])];
  const refused = async (/** @type {Uint8Array[]} */ nodes, /** @type {RegExp} */ words, code = 'invalid-model') => {
    const run = async () => {
      const session = await InferenceSession.create(model({ nodes, inputs, outputs: [info('y', FLOAT, [2])] }), ALONE);
      await session.run({ xs: [A], x: new Tensor('float32', [1, 2]) });
    };
    await assert.rejects(run, is(code, words));
  };
  await refused(
    [node('Add', ['x', 'xs'], 'y')],
    /Add 'Addy': input 1 \('xs'\) is a sequence or an empty optional, it takes tensors/,
  );
  await refused(
    [node('SequenceAt', ['x', 'x'], 'y')],
    /SequenceAt 'SequenceAty': input 0 \('x'\) is a tensor, it must be a sequence/,
  );
  await refused(
    [node('SequenceConstruct', ['x', 'xs'], 'y')],
    /SequenceConstruct 'SequenceConstructy': item 1 of the sequence is a sequence itself/,
    'unsupported-op',
  );
  await refused(
    [node('Shape', ['x'], 'n'), node('SequenceInsert', ['xs', 'n'], 'y')],
    /SequenceInsert 'SequenceInserty': a tensor of int64 does not go into a sequence of float32/,
  );
});

/**
 * Two halves of x, each times its weight, side by side again: by Split and Concat, or by sequences.
 * @param {boolean} sequences
 */
const halves = (sequences) =>
  model({
    nodes: [
      ...(sequences
        ? [
            node('SplitToSequence', ['x', 'two'], 'parts', attribute('axis', 1)),
            node('SequenceAt', ['parts', 'zero'], 'a'),
            node('SequenceAt', ['parts', 'minus'], 'b'),
          ]
        : [node('Split', ['x'], ['a', 'b'], attribute('axis', 1), attribute('num_outputs', 2))]),
      node('MatMul', ['a', 'w1'], 'c'),
      node('Tanh', ['c'], 'd'),
      node('MatMul', ['b', 'w2'], 'e'),
      ...(sequences
        ? [
            node('SequenceConstruct', ['d'], 'one'),
            node('SequenceInsert', ['one', 'e'], 'both'),
            node('ConcatFromSequence', ['both'], 'f', attribute('axis', 1)),
          ]
        : [node('Concat', ['d', 'e'], 'f', attribute('axis', 1))]),
      node('MatMul', ['f', 'w3'], 'y'),
    ],
    inputs: [info('x', FLOAT, ['N', 4])],
    outputs: [info('y', FLOAT, ['N', 2])],
    weights: [
      weight('w1', [2, 3], 2, 1),
      weight('w2', [2, 3], 2, 2),
      weight('w3', [6, 2], 6, 3),
      ...Object.entries({ two: 2, zero: 0, minus: -1 }).map(([name, n]) =>
        tensor(name, { type: 'int64', dims: [], data: BigInt64Array.of(BigInt(n)) }),
      ),
    ],
  });

test('gradients flow through sequences: the losses are those of the same network without', async () => {
  const losses = await Promise.all(
    [true, false].map(async (sequences) => {
      const artifacts = await generateArtifacts(halves(sequences), {
        loss: 'mse',
        optimizer: { type: 'adamw', lr: 0.05 },
        ...ALONE,
      });
      const session = await TrainingSession.create(artifacts, ALONE);
      const numbers = (/** @type {number} */ count, /** @type {number} */ seed) =>
        Float32Array.from({ length: count }, (_, i) => Math.sin(seed + i * 1.7));
      const found = [];
      for (let step = 0; step < 10; step++) {
        const { loss } = await session.step({
          x: new Tensor('float32', numbers(12, step), [3, 4]),
          target: new Tensor('float32', numbers(6, step + 0.5), [3, 2]),
        });
        found.push(loss);
      }
      await session.release();
      return found;
    }),
  );
  assert.deepEqual(losses[0], losses[1]);
  assert.ok(losses[0][9] < losses[0][0], String(losses[0]));
});

test('training takes and gives tensors alone', async () => {
  const train = (/** @type {Uint8Array} */ bytes) => generateArtifacts(bytes, { loss: 'mse', ...ALONE });
  await assert.rejects(
    train(LIST),
    is('unsupported-op', /input 'xs' is a sequence; training feeds graphs with tensors alone/),
  );
  const gives = model({
    nodes: [node('SequenceConstruct', ['x'], 'xs')],
    inputs: [info('x', FLOAT, [2])],
    outputs: [value('xs', sequence(tensorType(FLOAT)))],
  });
  await assert.rejects(
    train(gives),
    is(
      'unsupported-op',
      /the model's output 'xs' is a sequence or an optional; graphs that train give tensors of numbers alone/,
    ),
  );
});
